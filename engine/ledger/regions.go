package ledger

import (
	"context"

	"github.com/maaslxd/maaslxd/engine"
)

// Regions are the ledgers of all MAASes in one place: in a file or in memory (Local), or
// at a service on another machine (remote.Client).
type Regions interface {
	// Region returns the ledger of one MAAS.
	Region(name string) Rows
	// Close gives them up.
	Close() error
}

// Rows is the ledger of one MAAS, as front ends use it.
type Rows interface {
	engine.Ledger
	engine.Leases
	// TakeRegion gives this region the rows that another one has under its name: a MAAS
	// was known by its address before it had a mark. Repeating it is safe.
	TakeRegion(ctx context.Context, from string) error
	// CutOff lists the keys that begin so and whose makers died before they gave their
	// leases back.
	CutOff(ctx context.Context, prefix string) ([]engine.Key, error)
	// Named notes that a state names what was made by a key: it is no longer cut off.
	Named(ctx context.Context, key engine.Key) error
}

var (
	_ Rows    = (*Ledger)(nil)
	_ Regions = Local{}
)

// Local are the regions of a ledger that this process has open.
type Local struct{ *Ledger }

// Region implements Regions.
func (l Local) Region(name string) Rows { return l.Ledger.Region(name) }
