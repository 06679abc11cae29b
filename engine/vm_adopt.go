package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// aftermath is what there is of a VM after a compose that failed with a clear
// answer: ours, or a stranger that has its name, or neither.
type aftermath struct{ ours, stranger *Machine }

// lookAfter looks what there is, also where the caller gives up meanwhile: what
// the answer proves is forgotten with this step.
func (v *vms) lookAfter(ctx context.Context, host VMHost, row Row, want VMSpec, failure error) (aftermath, error) {
	ctx, cancel := withGrace(ctx)
	defer cancel()
	m, stranger, err := v.look(ctx, Ref{Key: row.Key, Name: want.madeAs()})
	switch {
	case err == nil:
		return aftermath{ours: &m}, nil
	case !errors.Is(err, ErrNotFound):
		return aftermath{}, err
	case stranger == nil:
		return aftermath{}, nil
	}
	ours, err := v.adopted(ctx, host, row, want, *stranger, failure)
	if err != nil || !ours {
		return aftermath{stranger: stranger}, err
	}
	return v.claim(ctx, row.Key, want.Placement.Group, *stranger)
}

// maxLooksOn is how many looks, settling apart, follow on a name that LXD has. They
// add up to half a minute.
const maxLooksOn = 10

// lookOn looks on where LXD has an instance of the name, and MAAS shows none. It may
// be ours: e.g. a run has died in its compose, its ledger is lost, and MAAS is still
// at it. Nothing is composed meanwhile, as LXD would refuse it again.
func (v *vms) lookOn(ctx context.Context, host VMHost, row Row, want VMSpec, failure error, left aftermath) (aftermath, error) {
	for range maxLooksOn {
		if left.ours != nil || left.stranger != nil || ctx.Err() != nil {
			break
		}
		settleDown(ctx)
		var err error
		if left, err = v.lookAfter(ctx, host, row, want, failure); err != nil {
			return left, err
		}
	}
	return left, nil
}

// claim takes a newborn that has no mark, and looks again whose it is after a
// while. Another owner, with a ledger of his own, may have asked for the same
// name and size on the same host at the same moment, and take it for his as
// well: then it goes to the one who marked it last, and nobody has used it yet.
// It is bound first: where the mark fails, the next look finds it by the row,
// unless another one has marked it by then.
func (v *vms) claim(ctx context.Context, key Key, group string, m Machine) (aftermath, error) {
	if err := v.bind(ctx, key, group, m); err != nil {
		return aftermath{}, err
	}
	text := describe(m.Description, key, false)
	soon, cancel := context.WithTimeout(ctx, claimWithin)
	defer cancel()
	if err := v.Machines.Update(soon, m.SystemID, MachineUpdate{Description: &text}); err != nil {
		return aftermath{}, fmt.Errorf("cannot mark %s (%s): %w", m.Hostname, m.SystemID, err)
	}
	settleDown(ctx)
	now, err := v.Machines.Machine(ctx, m.SystemID)
	switch {
	case err != nil:
		return aftermath{}, fmt.Errorf("cannot read %s again after it was marked: %w", m.Hostname, err)
	case now.markedByAnother(key):
		return aftermath{stranger: &now}, nil
	}
	return aftermath{ours: &now}, nil
}

// claimWithin is how long a mark may take. Who saw the newborn without a mark
// has set his own, or failed, before another one who marked it looks again.
const claimWithin = settling * 2 / 3

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
	if !errors.As(failure, &refusal) || len(refusal.Fields()["hostname"]) == 0 || host.ID == 0 || m.HostID != host.ID {
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
		return other.Key != row.Key && (other.SystemID == m.SystemID || other.SystemID == "" && other.Name == want.Name && other.HostKey == host.HostKey)
	}), nil
}
