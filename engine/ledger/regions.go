package ledger

import (
	"context"

	"github.com/maaslxd/maaslxd/engine"
)

// Regions are the ledgers of all MAASes in one place: in a file or in memory (Local), or
// at a service on another machine (remote.Client).
type Regions interface {
	// Region returns the ledger of one MAAS.
	Region(name string) RegionLedger
	// Close gives them up.
	Close() error
}

// RegionLedger is the ledger of one MAAS, as front ends use it.
type RegionLedger interface {
	engine.Ledger
	engine.Leases
	// TakeOverRegion gives this region the rows that another one has under its name: a MAAS
	// was known by its address before it had a mark. Repeating it is safe.
	TakeOverRegion(ctx context.Context, from string) error
	// ListCutOff lists the keys that begin so and whose makers died before they gave their
	// leases back.
	ListCutOff(ctx context.Context, prefix string) ([]engine.Key, error)
	// ClearCutOff notes that a state names what was made by a key: it is no longer cut off.
	ClearCutOff(ctx context.Context, key engine.Key) error
}

var (
	_ RegionLedger = (*Ledger)(nil)
	_ Regions      = LocalRegions{}
)

// LocalRegions are the regions of a ledger that this process has open.
type LocalRegions struct{ *Ledger }

// Region implements Regions.
func (l LocalRegions) Region(name string) RegionLedger { return l.Ledger.Region(name) }
