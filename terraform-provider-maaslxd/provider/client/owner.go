package client

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// owner is whose objects these are: as the provider block says, or made up once
// and kept beside the ledger. One that was made up is kept when something is first
// made, so that a plan leaves nothing behind.
type owner struct {
	configuredName string // by the provider block
	ledger         *lazyLedger

	mu            sync.Mutex
	generatedName string
	persistedName string
}

// errNoOwner: nothing would tell the next run whose objects these are.
var errNoOwner = &engine.SpecError{
	Field: fieldpath.New("owner"), Message: `ledger = "memory" keeps no owner, and a ledger service neither: owner must be set`,
	Hint: "Choose a name for this configuration that no other one has: runs on any machine then go on with what it left unfinished.",
	Err:  engine.ErrInvalid,
}

// check tells at once what is wrong with an owner, or that there is none.
func (o *owner) check() error {
	if o.configuredName == "" && !o.ledger.hasFile() {
		return errNoOwner
	}
	_, err := o.read()
	return err
}

// read is the owner that is known; empty: none yet.
func (o *owner) read() (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.configuredName != "" || o.persistedName != "" || o.ledger == nil { // without rows, the provider is not configured
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

// name is the owner, or the one that is to be kept.
func (o *owner) name() string {
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

// persist sees that the owner outlives this run.
func (o *owner) persist() error {
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

// HoldLease takes the lease of a key until release: what is unfinished may be gone on
// with only when nobody is making it.
func (c *Client) HoldLease(ctx context.Context, b *Backend, key engine.Key, what, name string) (release func(), err error) {
	release, err = b.ledger.Hold(ctx, key)
	if held, ok := errors.AsType[*engine.HeldError](err); ok {
		return nil, &engine.SpecError{
			Field: fieldpath.New("name"), Message: fmt.Sprintf("%s %s is being created or redeployed by another run (%s)", what, name, held.By),
			Hint: "Wait for that run. If it is of this configuration, apply again then. If it is of another one, choose another name, " +
				"or give one of the two provider blocks another owner.", Err: engine.ErrConflict,
		}
	}
	return release, err
}

// KeyAfterRename is the key of an object by a new name, of the owner that it had; empty:
// it keeps its key, as it has the name already, or its key no name.
func KeyAfterRename(key engine.Key, name string) engine.Key {
	of, had, ok := strings.Cut(string(key), "/")
	if !ok || had == name || path.Dir(had) != path.Dir(name) {
		return ""
	}
	return engine.Key(of + "/" + name)
}
