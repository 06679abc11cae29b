package operate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// RestoreSnapshot restores a VM to a snapshot. With mayStop, it turns a running VM off for
// that, and on again. Before, it notes that on the machine. If the call is interrupted, the
// next apply, or the same call again, turns the VM on.
func (s Snapshotter) RestoreSnapshot(ctx context.Context, m engine.Machine, name string, mayStop bool, note func(dataDisks []string), watch ...func(engine.Progress)) error {
	const verb = "restore"
	if m.Locked {
		return engine.NewLockedError(m, verb)
	}
	at, err := s.findLXD(ctx, m, verb)
	if err != nil {
		return err
	}
	list, err := s.listSnapshots(ctx, at, m)
	if err != nil {
		return err
	}
	if err := checkRestore(m, list, name); err != nil {
		return err
	}
	if err := engine.CheckIsNoVMHost(ctx, s.Hosts, m, verb); err != nil {
		return err
	}
	runs, err := s.stopVM(ctx, m, mayStop, watch)
	if err != nil {
		return err
	}
	if len(list.DataDisks) > 0 {
		note(list.DataDisks)
	}
	if refused, err := s.restoreSnapshot(ctx, at, m, name, list.Marks, watch); err != nil {
		return errors.Join(err, s.startAfterFailure(ctx, m, runs, refused))
	}
	return s.startAgain(ctx, m, runs, watch)
}

// listSnapshots lists the snapshots of a VM. It tries again while LXD is busy or unreachable.
func (s Snapshotter) listSnapshots(ctx context.Context, at engine.LXDPlace, m engine.Machine) (list engine.SnapshotList, err error) {
	_, err = engine.WaitUntilDone(ctx, func(ctx context.Context) (engine.Result[engine.Machine], error) {
		list, err = s.LXD.Snapshots(ctx, at, m)
		res := engine.Result[engine.Machine]{Object: m, SystemID: m.SystemID, Done: err == nil, After: engine.TransitionPollInterval, Reason: "Looking", Message: "LXD runs another operation on the instance"}
		if errors.Is(err, engine.ErrBusy) {
			return res, nil
		}
		return res, err
	})
	return list, err
}

// checkRestore refuses a restore that would fail, or would leave a volume that nobody finds any
// more. It does so before the VM is stopped.
func checkRestore(m engine.Machine, list engine.SnapshotList, name string) error {
	found, ok := findSnapshot(list, name)
	if !ok {
		names := make([]string, len(list.Snapshots))
		for n, each := range list.Snapshots {
			names[n] = each.Name
		}
		return noSnapshotError(m, name, names)
	}
	refusal := func(message, hint string) error {
		return &engine.SpecError{Field: fieldpath.New("name"), Message: fmt.Sprintf("cannot restore snapshot %s of %s: %s", name, m.Hostname, message), Hint: hint, Err: engine.ErrConflict}
	}
	switch {
	case len(found.UnknownVolumes) > 0:
		return refusal("it is older than a disk of the VM, which LXD would detach: "+strings.Join(found.UnknownVolumes, ", "),
			fmt.Sprintf("Choose a later snapshot. Or restore this one on the host (lxc restore %s %s), and attach the volume there again.", list.Instance, name))
	case len(found.MissingVolumes) > 0:
		return refusal("the VM had a disk then that it no longer has: "+strings.Join(found.MissingVolumes, ", "),
			"Attach that volume to the instance in LXD again, or choose a later snapshot.")
	case found.LargerThanNow != "":
		return refusal("the VM had more room then, which the host may have given to others: "+found.LargerThanNow,
			"Give the VM that size first (cores, pinned_cores, memory_mib), or choose another snapshot.")
	case found.OtherMACs:
		return refusal("the VM had another MAC then, and MAAS would no longer recognize it", "Choose a later snapshot.")
	}
	return nil
}

func noSnapshotError(m engine.Machine, name string, names []string) error {
	hint, ways := "It has none.", []engine.Way{engine.WayTakeSnapshot}
	if len(names) > 0 {
		hint, ways = "It has: "+strings.Join(names, ", ")+".", nil
	}
	return &engine.SpecError{Field: fieldpath.New("name"), Message: fmt.Sprintf("%s has no snapshot %s", m.Hostname, name), Hint: hint, Ways: ways, Err: engine.ErrNotFound}
}

// stopVM turns a running VM off, and tells whether it must run again.
func (s Snapshotter) stopVM(ctx context.Context, m engine.Machine, mayStop bool, watch []func(engine.Progress)) (runs bool, err error) {
	noted := m.OwnerData[engine.RestartData] != ""
	state, err := s.Machines.QueryPower(ctx, m.SystemID)
	switch {
	case err != nil:
		return false, fmt.Errorf("cannot query the power of %s: %w", m.Hostname, err)
	case state == PowerOff:
		return noted, nil
	case !mayStop:
		return false, &engine.RunningError{Refusal: &engine.Refusal{
			Message: fmt.Sprintf("%s runs, and must be stopped to restore a snapshot", m.Hostname),
			Hint:    "Set allow_stopping = true to turn it off and on again, or turn it off first.", Err: engine.ErrConflict,
		}}
	case m.Status != engine.StatusDeployed:
		return false, vmNotReadyError(m, "stop", "it runs while it is "+m.StatusName+", and could not be turned on again")
	}
	if !noted {
		if err := s.Metal.Annotate(ctx, m.SystemID, map[string]string{engine.RestartData: "yes"}); err != nil {
			return false, fmt.Errorf("cannot note on %s that it must run again: %w", m.Hostname, err)
		}
	}
	if err := TurnPower(ctx, s.Machines, m, PowerOff, watch...); err != nil {
		return true, errors.Join(fmt.Errorf("cannot turn %s off to restore it: %w", m.Hostname, err), s.startAfterFailure(ctx, m, true, true))
	}
	return true, nil
}

// restoreSnapshot lets LXD restore the snapshot, again if its reply was lost: that is harmless.
// refused means that LXD certainly does not work on it any more. Otherwise, after an unclear
// failure or a cancelled call, LXD may still write the root disk.
func (s Snapshotter) restoreSnapshot(ctx context.Context, at engine.LXDPlace, m engine.Machine, name string, marks map[string]string, watch []func(engine.Progress)) (refused bool, err error) {
	sent := false // at least once, without an answer
	_, err = engine.WaitUntilDone(ctx, func(ctx context.Context) (engine.Result[engine.Machine], error) {
		err := s.LXD.RestoreSnapshot(ctx, at, m, name, marks)
		sent = sent || errors.Is(err, engine.ErrUnclear)
		refused = engine.IsTerminal(err) && !sent
		res := engine.Result[engine.Machine]{
			Object: m, SystemID: m.SystemID, Done: err == nil, After: engine.TransitionPollInterval,
			Reason: "Restoring", Message: "LXD restores the snapshot",
		}
		if errors.Is(err, engine.ErrBusy) {
			err = nil
		}
		return res, err
	}, watch...)
	if err != nil {
		return refused, fmt.Errorf("cannot restore snapshot %s of %s, but its root disk may already be that of the snapshot: %w", name, m.Hostname, err)
	}
	return false, nil
}

// startAgain turns a VM on that ran before, and removes the note. For a VM that did not run, it
// lets MAAS query the power, so that MAAS shows LXD's state.
func (s Snapshotter) startAgain(ctx context.Context, m engine.Machine, runs bool, watch []func(engine.Progress)) error {
	if !runs {
		_, err := s.Machines.QueryPower(ctx, m.SystemID)
		return err
	}
	if err := TurnPower(ctx, s.Machines, m, PowerOn, watch...); err != nil {
		return fmt.Errorf("%s is restored, but not turned on again; the next run does that: %w", m.Hostname, err)
	}
	if err := s.Metal.Annotate(ctx, m.SystemID, map[string]string{engine.RestartData: ""}); err != nil {
		return fmt.Errorf("%s is restored and runs, but the note to turn it on stays; the next run removes it: %w", m.Hostname, err)
	}
	return nil
}

// startAfterFailure begins to turn a VM on that was stopped for a failed restore. LXD starts
// even an instance that it is restoring. So the VM stays off unless LXD certainly does nothing
// with it.
func (s Snapshotter) startAfterFailure(ctx context.Context, m engine.Machine, runs, idle bool) error {
	if !runs {
		return nil
	}
	if idle {
		graced, cancel := engine.WithGrace(ctx)
		defer cancel()
		if TurnPower(graced, s.Machines, m, PowerOn) == nil {
			return nil
		}
	}
	return fmt.Errorf("%s was turned off for the restore, and is still off: the next run, or the same restore again, turns it on", m.Hostname)
}
