package lease

import (
	"context"

	"github.com/maaslxd/maaslxd/engine"
)

// ListCutOff lists the keys that begin so and whose makers died before they gave their
// leases back: what they made is in no state, unless a run that took it up died as
// well. Of a maker that cannot be seen from here, its heartbeat tells.
func ListCutOff(ctx context.Context, table Table, prefix string) ([]engine.Key, error) {
	all, err := table.Leases(ctx, prefix)
	if err != nil {
		return nil, err
	}
	var left []engine.Key
	for _, have := range all {
		if have.HasDeadHolder() {
			left = append(left, have.Key)
		}
	}
	return left, nil
}

// ClearCutOff notes that a state names what was made by a key: it is no longer cut off.
// The lease of a maker that lives stays.
func ClearCutOff(ctx context.Context, table Table, key engine.Key) error {
	all, err := table.Leases(ctx, string(key))
	if err != nil {
		return err
	}
	for _, have := range all {
		if have.Key == key && have.HasDeadHolder() {
			return table.DropLease(ctx, key, have.Holder)
		}
	}
	return nil
}

// HasDeadHolder tells whether the holder of a lease is dead, as far as it can be seen from here.
func (l Lease) HasDeadHolder() bool {
	lives, seen := l.Process.isAlive()
	return seen && !lives || !seen && l.Age > leaseTerm
}
