// Package client is what the resources and data sources of one provider block share:
// the engine for its MAAS, with the ledger, the owner, the fleet's key pair and MAAS's
// mark; and what the plans of one run tell each other.
package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// Client is what all resources of one provider block share. Making it calls
// nothing.
type Client struct {
	// Run is what the plans of this run tell each other.
	Run Run

	owner             owner
	onUnfinished      string   // one of the unfinished constants
	isConfigUnknown   bool     // the provider block is not known yet
	missingAttributes []string // what the provider block lacks
	backend           *Backend // nil if unknown or missing
	claimedKeys       sync.Map // keys that this run creates a VM for
}

// ErrUnknownConfig: the provider block depends on what is not made yet.
var ErrUnknownConfig error = &engine.Refusal{
	Message: "the provider's configuration is not known yet",
	Hint:    "Apply first what the provider block depends on, for instance with -target.",
}

// ErrMissingConfig: the provider block and the environment lack something.
var ErrMissingConfig error = &engine.Refusal{
	Message: "the provider is not configured",
	Hint:    "Set what is missing in the provider block or in the environment.",
}

// New makes the client. Malformed values are a *api.ConfigError, or
// several that are joined; unknown and missing ones are an error only once
// MAAS is needed.
func New(s Settings, files *Ledgers) (*Client, error) {
	c := &Client{owner: owner{configuredName: s.Owner}, onUnfinished: s.OnUnfinished, isConfigUnknown: s.IsUnknown, missingAttributes: s.missingAttributes()}
	if c.isConfigUnknown || len(c.missingAttributes) > 0 {
		return c, nil
	}
	b, err := newBackend(s, files)
	c.backend = b
	if b != nil {
		c.owner.ledger = b.ledger
	}
	return c, err
}

// NewWithBackend makes a client of a backend that is there already, as tests have it.
func NewWithBackend(b *Backend) *Client { return &Client{backend: b} }

// Backend returns the backend, or why there is none.
func (c *Client) Backend() (*Backend, error) {
	switch {
	case c == nil || c.isConfigUnknown:
		return nil, ErrUnknownConfig
	case len(c.missingAttributes) > 0:
		return nil, fmt.Errorf("%w: it lacks %s", ErrMissingConfig, strings.Join(c.missingAttributes, " and "))
	default:
		return c.backend, nil
	}
}

// BackendForRead returns the backend for the refresh of an object, such as "VM web-1"; nil
// where there is none, which the diagnostics then tell.
func (c *Client) BackendForRead(object, doing string, diags *diag.Diagnostics) *Backend {
	b, err := c.Backend()
	switch {
	case errors.Is(err, ErrUnknownConfig):
		diags.AddWarning(object+" was not looked at",
			"The provider's configuration depends on something that is not made yet, so the plan is based on the last known state.")
		return nil
	case err != nil:
		diagnostics.ReportError(diags, doing, err)
		return nil
	}
	return b
}

// PersistOwner sees that the owner outlives this run.
func (c *Client) PersistOwner() error { return c.owner.persist() }

// CheckOwner tells at once what is wrong with the owner, or that there is none.
func (c *Client) CheckOwner() error {
	if c.backend == nil {
		return nil
	}
	return c.owner.check()
}

// CheckLedger tells at once what is wrong with a ledger that exists.
func (c *Client) CheckLedger(ctx context.Context) error {
	if c.backend == nil {
		return nil
	}
	return c.backend.ledger.checkExisting(ctx)
}

// EnsureMAASMark is that of the backend, for a client that has one.
func (c *Client) EnsureMAASMark(ctx context.Context, diags *diag.Diagnostics) string {
	return c.backend.EnsureMAASMark(ctx, diags)
}

// VMKey is the name of a VM that exists before the VM does.
func (c *Client) VMKey(name string) engine.Key { return engine.Key(c.owner.name() + "/" + name) }

// HostKey is the name of a VM host that exists before the VM host does. No VM
// has such a key: names of VMs have no slash.
func (c *Client) HostKey(name string) engine.Key {
	return engine.Key(c.owner.name() + "/" + HostKeyName(name))
}

// HostKeyName is the part of a VM host's key behind the owner.
func HostKeyName(name string) string { return "vm-hosts/" + name }

// MachineKey is the name of a machine that exists before the machine is taken. No VM and
// no VM host has such a key.
func (c *Client) MachineKey(name string) engine.Key {
	return engine.Key(c.owner.name() + "/" + MachineKeyName(name))
}

// MachineKeyName is the part of a machine's key behind the owner.
func MachineKeyName(name string) string { return "machines/" + name }

// CanCheckPlan tells whether the provider can look at MAAS for a plan.
func (c *Client) CanCheckPlan() bool {
	_, err := c.Backend()
	return err == nil && c.Run.WantsPlanCheck()
}

// NotePlanned notes that an object is planned, as a change or as something new; again
// tells that the new one takes the place of what stands. An object that another
// resource of this run makes, too, is refused before either is made.
func (c *Client) NotePlanned(kind string, name types.String, change bool, diags *diag.Diagnostics) (again bool) {
	if c == nil {
		return false
	}
	object := kind + name.ValueString()
	if !change && values.IsSet(name) && c.Run.noteCreate(object) {
		diagnostics.ReportError(diags, "create "+object, duplicateResourceError(object))
	}
	return c.Run.notePlannedAction(object, change)
}

// ClaimKey takes a key for one resource in this run. The engine goes on with a VM
// that an earlier run began, by its key; two resources of one configuration
// with the same name would so end up with the same VM.
func (c *Client) ClaimKey(key engine.Key, name string) error {
	if _, taken := c.claimedKeys.LoadOrStore(key, true); taken {
		return duplicateResourceError(name)
	}
	return nil
}

// duplicateResourceError says that two resources of one configuration create an object, by its
// kind and name: "VM web".
func duplicateResourceError(object string) error {
	return &engine.SpecError{
		Field: fieldpath.New("name"), Message: fmt.Sprintf("another resource of this configuration creates %s, too", object),
		Hint: "Names are unique in the whole MAAS: give one of them another name.", Err: engine.ErrConflict,
	}
}

// ReadTimeout is how long a look at MAAS may take unless timeouts says otherwise. It
// is said in the schemas' descriptions too.
const ReadTimeout = 2 * time.Minute

// FromProviderData reads what Configure handed over: nothing while a configuration is
// validated, before the provider is configured.
func FromProviderData(data any, diags *diag.Diagnostics) *Client {
	c, ok := data.(*Client)
	if !ok && data != nil {
		diags.AddError("The provider is broken", fmt.Sprintf("It handed over a %T. Please report this.", data))
	}
	return c
}
