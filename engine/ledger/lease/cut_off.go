package lease

import (
	"context"

	"github.com/maaslxd/maaslxd/engine"
)

// ListCutOff lists the keys with a prefix whose makers died before they gave
// back their leases. No state names their objects, unless the run that took one
// over died as well. A maker that cannot be seen from here counts as dead by
// its heartbeat.
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

// ClearCutOff records that a state names the object of a key, so that it is no
// longer cut off. The lease of a living maker stays.
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

// HasDeadHolder reports whether the holder of a lease is dead, as far as this
// process can see.
func (l Lease) HasDeadHolder() bool {
	lives, seen := l.Process.isAlive()
	return seen && !lives || !seen && l.Age > leaseTerm
}
