package ledger

import (
	"context"

	"github.com/maaslxd/maaslxd/engine"
)

// Regions are the ledgers of all MAASes in one store: a file, memory
// (LocalRegions), or a service on another machine (remote.Client).
type Regions interface {
	// Region returns the ledger of one MAAS.
	Region(name string) RegionLedger
	// Close closes the store.
	Close() error
}

// RegionLedger is the ledger of one MAAS, as front ends use it.
type RegionLedger interface {
	engine.Ledger
	engine.Leases
	// TakeOverRegion moves the rows of another region into this one: a MAAS was
	// known by its address before it had a mark. Repeating it is safe.
	TakeOverRegion(ctx context.Context, from string) error
	// ListCutOff lists the keys with a prefix whose makers died before they
	// gave back their leases.
	ListCutOff(ctx context.Context, prefix string) ([]engine.Key, error)
	// ClearCutOff records that a state names the object of a key, so that it is
	// no longer cut off.
	ClearCutOff(ctx context.Context, key engine.Key) error
}

var (
	_ RegionLedger = (*Ledger)(nil)
	_ Regions      = LocalRegions{}
)

// LocalRegions are the regions of a ledger that this process has opened.
type LocalRegions struct{ *Ledger }

// Region implements Regions.
func (l LocalRegions) Region(name string) RegionLedger { return l.Ledger.Region(name) }
