package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// lookAgain is when a step is worth repeating although nothing was seen to
// change: the poller usually wakes the caller earlier.
const lookAgain = 30 * time.Second

// lookForIt is how often to look for a VM whose compose lost its reply: no
// poller can watch what has no system id yet.
const lookForIt = 5 * time.Second

// reconcile implements Kind.Reconcile.
func (v *vms) reconcile(ctx context.Context, ref Ref, want VMSpec) (Result[VM], error) {
	at, err := v.follow(ctx, ref)
	if err != nil {
		return Result[VM]{}, err
	}
	res, err := v.step(ctx, at, want)
	if wait, ok := errors.AsType[*nameWait](err); ok {
		res.After, res.Reason, res.Message, err = nameLook, "WaitingForName", wait.message, nil
	}
	res.moved = res.moved || at.SystemID != ref.SystemID && res.systemID == ""
	if res.Done { // the disks' pools, as a later look tells them
		res.Object.Machine = v.Composer.Complete(ctx, res.Object.Machine)
	}
	v.nameHost(ctx, &res.Object.Machine)
	res.Object.Leftover = v.leftovers.of(ref.Key)
	if res.Done || err != nil && res.systemID == "" && !errors.Is(err, ErrUnclear) {
		v.claims.forget(ref.Key)
	}
	return res, err
}

// nameHost fills in the host of a VM where MAAS does not tell it. Where nobody
// does, it stays open.
func (v *vms) nameHost(ctx context.Context, m *Machine) {
	if m.SystemID == "" || m.HostName != "" {
		return
	}
	if host, err := v.Composer.HostOf(ctx, *m); err == nil {
		m.HostName = host.Name
	}
}

func (v *vms) step(ctx context.Context, ref Ref, want VMSpec) (Result[VM], error) {
	if err := want.Validate(); err != nil {
		return Result[VM]{}, err
	}
	if ref.Name == "" {
		ref.Name = want.Name
	}
	m, stranger, err := v.look(ctx, ref)
	if err == nil {
		if res, ended, err := v.endDelete(ctx, ref, want, m); ended {
			return res, err
		}
	}
	switch {
	case err == nil && ref.SystemID == "":
		return v.resume(ctx, ref, want, m)
	case err == nil:
		return v.converge(ctx, ref, want, m)
	case !errors.Is(err, ErrNotFound):
		return Result[VM]{}, err
	case ref.SystemID != "":
		return Result[VM]{}, Terminal(err)
	case stranger != nil && stranger.Hostname != want.Name:
		if err := v.freeName(ctx, ref.Key, *stranger); err != nil {
			return Result[VM]{}, err
		}
		return Result[VM]{After: nameLook, Reason: "NameIsFree", Message: fmt.Sprintf("the VM %s was made as %s, and has another name by now", stranger.SystemID, want.Name)}, nil
	case stranger != nil:
		if wait := v.waitForName(ref.Key, want, *stranger); wait != nil {
			return Result[VM]{}, wait
		}
		return Result[VM]{}, v.abandon(ctx, ref.Key, taken(want.Name, *stranger, ""))
	}
	res, err := v.create(ctx, ref.Key, want)
	if err != nil && res.systemID == "" {
		err = v.abandon(ctx, ref.Key, err)
	}
	return res, err
}

// abandon passes on why there is no VM, and gives up the row of a former one,
// unless a compose of it may still bear fruit, or has: else its room would stay
// taken for as long as nobody tries again.
func (v *vms) abandon(ctx context.Context, key Key, failure error) error {
	row, err := v.row(ctx, key)
	if err == nil && row.Key != "" && v.unclear(row) == 0 {
		err = v.dropUnlessThere(ctx, row)
	}
	if err != nil {
		return errors.Join(failure, err)
	}
	return failure
}

// dropUnlessThere drops a row, unless it is bound to a machine that exists and
// that no one else has marked.
func (v *vms) dropUnlessThere(ctx context.Context, row Row) error {
	if row.SystemID != "" {
		m, err := v.Machines.Machine(ctx, row.SystemID)
		if !errors.Is(err, ErrNotFound) && (err != nil || !m.markedByAnother(row.Key)) {
			return err
		}
	}
	return v.drop(ctx, row)
}

// converge takes a VM that exists one step towards the spec.
func (v *vms) converge(ctx context.Context, ref Ref, want VMSpec, m Machine) (Result[VM], error) {
	key, newborn := ref.now(), born(m, ref.Key)
	if key == ref.Key {
		if err := v.bind(ctx, key, want.Placement.Group, m); err != nil {
			return result(key, m), err
		}
	}
	settled := settled(ref, want, m)
	m, err := v.settle(ctx, key, want, m, settled)
	if err == nil {
		err = v.rekey(ctx, ref, want.Placement.Group, m)
	}
	switch {
	case err != nil:
		return result(key, m), err
	case settled:
		if err := v.resize(ctx, key, want, m); err != nil {
			return result(key, m), err
		}
		// It once was what was wanted. Whatever state it is in now is for
		// people to mend, or for the plan of a front end.
		res := result(key, m)
		res.Done = true
		return res, nil
	}
	res, err := v.advance(ctx, key, want, m, newborn)
	if err != nil && res.systemID == "" && !res.moved { // one that moves is not there any more
		res = result(key, m)
	}
	return res, err
}

// settled reports whether the VM once reached what is wanted: because the
// caller knows it, or because it says so itself and no installation is wanted
// since.
func settled(ref Ref, want VMSpec, m Machine) bool {
	_, finished := described(m.Description)
	return ref.Finished || finished && !undeployed(want, m)
}

func result(key Key, m Machine) Result[VM] {
	return Result[VM]{
		Object: seenAs(m, key), systemID: m.SystemID,
		Reason: strings.ReplaceAll(m.StatusName, " ", ""), Message: m.StatusMessage,
	}
}

func (v *vms) bind(ctx context.Context, key Key, group string, m Machine) error {
	row, err := v.row(ctx, key)
	switch {
	case err != nil:
		return err
	case row.SystemID == m.SystemID && row.State == RowBound:
		return nil
	}
	bound, err := v.boundTo(ctx, key, group, m)
	if err != nil {
		return err
	}
	if row.State == RowLeaving {
		// A delete was cut off, and the VM is wanted again.
		if err := v.Ledger.Drop(ctx, row); err != nil {
			return err
		}
		bound.Need, bound.Attempt, bound.Excluded = row.Need, row.Attempt, row.Excluded
	}
	if err := v.Ledger.Bind(ctx, bound); err != nil {
		return fmt.Errorf("cannot bind %s to %s in the ledger: %w", key, m.SystemID, err)
	}
	return nil
}

// advance does the one thing that the phase asks for.
func (v *vms) advance(ctx context.Context, key Key, want VMSpec, m Machine, newborn bool) (Result[VM], error) {
	switch phase := m.Status.Phase(); {
	case m.Status == StatusNew, phase == PhaseReady && newborn:
		return v.commission(ctx, key, m)
	case phase == PhaseReady, phase == PhaseAllocated:
		return v.install(ctx, key, want, m)
	case phase == PhaseDeployed:
		return v.finish(ctx, key, m)
	case m.Status == StatusFailedCommissioning, m.Status == StatusFailedTesting:
		return v.move(ctx, key, want, m)
	case phase == PhaseFailed:
		return Result[VM]{}, failed(m)
	default:
		return v.wait(ctx, key, m), nil
	}
}

func (v *vms) wait(ctx context.Context, key Key, m Machine) Result[VM] {
	res := result(key, m)
	res.After = lookAgain
	res.changed = v.Machines.Changed(ctx, m)
	return res
}

// undeployed reports whether there is an installation to be made.
func undeployed(want VMSpec, m Machine) bool {
	phase := m.Status.Phase()
	return want.Deploy != nil && (phase == PhaseReady || phase == PhaseAllocated)
}
