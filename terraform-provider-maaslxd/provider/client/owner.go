package client

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// Owner is the owner of the objects. The provider block names it, or it is random and kept
// beside the ledger. A random owner is saved when the first object is made, so a plan leaves
// nothing behind.
type Owner struct {
	configuredName string // from the provider block
	ledger         *lazyLedger

	mu            sync.Mutex
	generatedName string
	persistedName string
}

// errNoOwner means that the next run could not know the owner of the objects.
var errNoOwner = &engine.SpecError{
	Field: fieldpath.New("owner"), Message: `neither ledger = "memory" nor a ledger service keeps an owner: owner must be set`,
	Hint: "Choose a name that no other configuration has. Then runs on any machine continue what this configuration left unfinished.",
	Err:  engine.ErrInvalid,
}

// check returns an error at once if the owner is invalid or missing.
func (o *Owner) check() error {
	if o.configuredName == "" && !o.ledger.hasFile() {
		return errNoOwner
	}
	_, err := o.read()
	return err
}

// read is the owner, if it is known; empty: none yet.
func (o *Owner) read() (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.configuredName != "" || o.persistedName != "" || o.ledger == nil { // the ledger is nil if the provider is not configured
		return o.configuredName + o.persistedName, nil
	}
	file, err := o.ledger.filePath()
	if err != nil {
		return "", nil //nolint:nilerr // where no ledger can be, a create says so
	}
	name, err := ledger.ReadOwner(file)
	if errors.Is(err, engine.ErrNotFound) {
		return "", nil
	}
	o.persistedName = name
	return name, err
}

// name is the owner, or the one that will be saved.
func (o *Owner) name() string {
	if name, err := o.read(); name != "" || err != nil {
		return name
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.generatedName == "" {
		o.generatedName = ledger.NewOwner()
	}
	return o.generatedName
}

// VMKey is the key of a VM. It is known before the VM exists.
func (o *Owner) VMKey(name string) engine.Key { return engine.Key(o.name() + "/" + name) }

// HostKey is the key of a VM host. It is known before the VM host exists. No VM has such a
// key: names of VMs have no slash.
func (o *Owner) HostKey(name string) engine.Key {
	return engine.Key(o.name() + "/" + HostKeyName(name))
}

// HostKeyName is the part of a VM host's key after the owner.
func HostKeyName(name string) string { return "vm-hosts/" + name }

// MachineKey is the key of a machine. It is known before a machine is taken. No VM and no VM
// host has such a key.
func (o *Owner) MachineKey(name string) engine.Key {
	return engine.Key(o.name() + "/" + MachineKeyName(name))
}

// MachineKeyName is the part of a machine's key after the owner.
func MachineKeyName(name string) string { return "machines/" + name }

// Owns tells whether a key has the owner of this configuration.
func (o *Owner) Owns(key engine.Key) bool {
	name, err := o.read()
	return err == nil && name != "" && key.Owner() == name
}

// WarnOtherOwner warns that an imported object was made for another owner, whose state may still
// have it. The object keeps that key.
func (o *Owner) WarnOtherOwner(object string, key engine.Key, diags *diag.Diagnostics) {
	if key == "" || o.Owns(key) {
		return
	}
	own := "This configuration has no owner yet."
	if name, err := o.read(); err == nil && name != "" {
		own = "The owner of this configuration is " + name + "."
	}
	diags.AddWarning(fmt.Sprintf("%s was made for %q", object, key), own+" If the state of another configuration still has the object, both change it, "+
		"and either can destroy it. Then remove it from one of the states: terraform state rm ADDRESS.")
}

// persist makes sure that the owner outlives this run.
func (o *Owner) persist() error {
	if name, err := o.read(); name != "" || err != nil {
		return err
	}
	file, err := o.ledger.filePath()
	if err != nil {
		return err
	}
	name := o.name()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ledger.hasFile() {
		if name, err = ledger.EnsureOwner(file, name); err != nil {
			return err
		}
	}
	o.persistedName = name
	return nil
}

// warnOwnerOfJob warns, once in a run, that a CI job would keep a random owner where only this
// job finds it.
func (c *Client) warnOwnerOfJob(diags *diag.Diagnostics) {
	variable := automationVariable()
	if variable == "" || c.Owner.ledger == nil {
		return
	}
	name, err := c.Owner.read()
	if name != "" || err != nil || !c.Run.ClaimWarning("owner of a job") {
		return
	}
	diags.AddWarning("Another CI job would be another owner", fmt.Sprintf(
		"The provider block names no owner, and %s is set. This run makes a random owner, and keeps it beside the ledger. If this file goes with the job, "+
			"the next job does not continue what this one leaves unfinished.\n\nSet owner in the provider block. No other configuration may have the same one.", variable))
}

// HoldLease takes the lease of a key until release. An unfinished object may be continued only
// while nobody else makes it.
func (c *Client) HoldLease(ctx context.Context, b *Backend, key engine.Key, what, name string) (release func(), err error) {
	release, err = b.ledger.Hold(ctx, key)
	if held, ok := errors.AsType[*engine.HeldError](err); ok {
		return nil, &engine.SpecError{
			Field: fieldpath.New("name"), Message: fmt.Sprintf("%s %s is being created or redeployed by another run (%s)", what, name, held.By),
			Hint: "Wait for that run. If it is a run of this configuration, apply again then. If it is a run of another one, choose another name, or " +
				"give one of the two provider blocks another owner.", Err: engine.ErrConflict,
		}
	}
	return release, err
}

// KeyAfterRename is the key of a renamed object, with the owner that it had. It is empty if
// the object keeps its key: the key has that name already, or has no name.
func KeyAfterRename(key engine.Key, name string) engine.Key {
	of, had, ok := strings.Cut(string(key), "/")
	if !ok || had == name || path.Dir(had) != path.Dir(name) {
		return ""
	}
	return engine.Key(of + "/" + name)
}
