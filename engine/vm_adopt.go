package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// lookAfter looks for the VM after a compose that failed with a clear answer,
// also where the caller gives up meanwhile: what the answer proves is forgotten
// with this step.
func (v *vms) lookAfter(ctx context.Context, host VMHost, row Row, want VMSpec, failure error) (Machine, *Machine, error) {
	ctx, cancel := withGrace(ctx)
	defer cancel()
	m, stranger, err := v.look(ctx, Ref{Key: row.Key, Name: want.Name})
	if stranger == nil || !errors.Is(err, ErrNotFound) {
		return m, stranger, err
	}
	ours, unknown := v.adopted(ctx, host, row, want, *stranger, failure)
	switch {
	case unknown != nil:
		return Machine{}, nil, unknown
	case ours:
		return *stranger, nil, nil
	}
	return Machine{}, stranger, err
}

// adopted reports whether a machine without any marker is the fruit of the
// compose that just failed: a sync of the host ended inside it, MAAS adopted the
// newborn, and refused its name afterwards. By then LXD had made our instance,
// and it admits a name once, so that a machine of that name on that host is it.
// Only an adopted one has no tags on its disks: compose gives every disk at
// least its pool's. A name that was taken just before the compose is refused in
// the same words; then the machine is of another size, or another key's, as far
// as the ledger knows. After a lost reply nothing proves whose it is.
func (v *vms) adopted(ctx context.Context, host VMHost, row Row, want VMSpec, m Machine, failure error) (bool, error) {
	var refusal FieldError
	if !errors.As(failure, &refusal) || len(refusal.Fields()["hostname"]) == 0 || m.HostID != host.ID {
		return false, nil
	}
	owner, _ := described(m.Description)
	tagged := slices.ContainsFunc(m.Disks, func(d MachineDisk) bool { return len(d.Tags) > 0 })
	wanted := want
	wanted.Host = m.HostName
	if field, _, _ := begunOtherwise(wanted, m); owner != "" || tagged || field != "" {
		return false, nil
	}
	rows, err := v.Ledger.Rows(ctx)
	if err != nil {
		return false, fmt.Errorf("cannot read the ledger: %w", err)
	}
	return !slices.ContainsFunc(rows, func(other Row) bool {
		return other.Key != row.Key && (other.SystemID == m.SystemID || other.SystemID == "" && other.Name == want.Name && other.HostID == host.ID)
	}), nil
}
