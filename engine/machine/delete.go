package machine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
)

// maxReleases limits failing releases of one machine in a row.
const maxReleases = 3

// maxExits limits exits from rescue mode of one machine.
const maxExits = 3

// Delete implements Kind.Delete: abort, release, check that it is Ready and has no owner. The
// machine's record is never deleted. A machine without our mark is not touched: it was
// released, and perhaps acquired by someone else.
func (b *releaseSteps) Delete(ctx context.Context, ref engine.Ref) (engine.Result[engine.BareMetal], error) {
	m, err := b.FindMachine(ctx, ref)
	if id, released := b.networksToRestore.Load(ref.Key); released && ref.SystemID == "" && errors.Is(err, engine.ErrNotFound) {
		ref.SystemID = id.(string)
		m, err = b.FindMachine(ctx, ref)
	}
	switch {
	case errors.Is(err, engine.ErrNotFound), errors.Is(err, engine.ErrHidden) && b.hasReleased(ref):
		return b.finishGiveBack(ctx, ref, engine.Machine{})
	case err != nil:
		return engine.Result[engine.BareMetal]{}, err
	}
	ref.Key = m.CurrentKey(ref.Key) // a run may have died after it renamed the machine
	res, err := b.giveMachineBack(ctx, ref, m)
	if err != nil && res.SystemID == "" {
		res = resultOf(ref.Key, m)
	}
	return res, err
}

// giveMachineBack takes one step from a machine towards Ready, if its marks allow that.
func (b *releaseSteps) giveMachineBack(ctx context.Context, ref engine.Ref, m engine.Machine) (engine.Result[engine.BareMetal], error) {
	act := actionsIn(situationOf(m)).delete
	if !act.onlyOurs {
		return act.step(b, ctx, ref, m)
	}
	owner, marked := m.OwnerData[engine.KeyData]
	mine, err := b.IsMine(ctx, ref.Key, m)
	switch {
	case err != nil:
		return engine.Result[engine.BareMetal]{}, err
	case marked && engine.Key(owner) != ref.Key:
		return engine.Result[engine.BareMetal]{}, engine.NotOursError(m, "release")
	case !mine, m.IsAdopted() && m.Owner == "", !marked && ref.Release.Adopted:
		return b.finishGiveBack(ctx, ref, m)
	case m.IsAdopted():
		return b.removeMarks(ctx, ref, m)
	}
	return act.step(b, ctx, ref, m)
}

// awaitReturn waits until MAAS has finished with the machine.
func (b *releaseSteps) awaitReturn(ctx context.Context, ref engine.Ref, m engine.Machine) (engine.Result[engine.BareMetal], error) {
	return b.waitResult(ctx, ref.Key, m), nil
}

// releaseAgain repeats a failed release. The marks went when it began. Only the owner still
// tells whose the machine is; MAAS keeps the owner until it is Ready.
func (b *releaseSteps) releaseAgain(ctx context.Context, ref engine.Ref, m engine.Machine) (engine.Result[engine.BareMetal], error) {
	can, err := b.Catalog.Capabilities(ctx)
	switch {
	case err != nil:
		return engine.Result[engine.BareMetal]{}, err
	case m.Owner == "" || m.Owner != can.Username:
		return engine.Result[engine.BareMetal]{}, engine.NotOursError(m, "release")
	case !b.failedReleases.CountBelow(ref.Key, maxReleases):
		return engine.Result[engine.BareMetal]{}, b.failedError(ctx, m)
	}
	return b.release(ctx, ref, m)
}

// abort stops what MAAS does with a machine of ours.
func (b *releaseSteps) abort(ctx context.Context, ref engine.Ref, m engine.Machine) (engine.Result[engine.BareMetal], error) {
	if m.Locked {
		return engine.Result[engine.BareMetal]{}, engine.NewLockedError(m, "release")
	}
	return b.requestTransition(ctx, ref.Key, m, "abort", b.Machines.Abort)
}

// exitRescue leads a machine of ours out of rescue mode, as MAAS does not release from there.
// MAAS does not change the power of a formerly Allocated machine, and the exit then fails
// because it is on. So after a failed exit the machine is turned off first.
func (b *releaseSteps) exitRescue(ctx context.Context, ref engine.Ref, m engine.Machine) (engine.Result[engine.BareMetal], error) {
	exitFailed := m.Status == statusFailedExitingRescue
	switch {
	case m.Locked:
		return engine.Result[engine.BareMetal]{}, engine.NewLockedError(m, "release")
	case exitFailed && b.rescueExits.ResetIfSpent(ref.Key, maxExits):
		return engine.Result[engine.BareMetal]{}, b.failedError(ctx, m)
	case exitFailed && m.PowerState == "on":
		return b.requestTransition(ctx, ref.Key, m, "turn off", b.Machines.PowerOff)
	}
	res, err := b.requestTransition(ctx, ref.Key, m, "exit rescue mode of", b.Machines.ExitRescueMode)
	if err == nil { // a refusal is not a failed exit
		b.rescueExits.Count(ref.Key)
	}
	return res, err
}

// release takes the fixed addresses of a machine of ours back, and releases it.
func (b *releaseSteps) release(ctx context.Context, ref engine.Ref, m engine.Machine) (engine.Result[engine.BareMetal], error) {
	if m.Locked {
		return engine.Result[engine.BareMetal]{}, engine.NewLockedError(m, "release")
	}
	m, err := b.removeFixedAddresses(ctx, m)
	if err == nil {
		m, err = b.noteFailure(ctx, m)
	}
	if err == nil {
		m, err = b.restoreSettings(ctx, ref.Key, m)
	}
	if err != nil {
		return waitForHostname(resultOf(ref.Key, m), err)
	}
	if !networkNotesIn(m.Description).isEmpty() {
		b.networksToRestore.Store(ref.Key, m.SystemID)
	}
	return b.requestTransition(ctx, ref.Key, m, "release", func(ctx context.Context, systemID string) error {
		err := b.Machines.Release(ctx, systemID, ref.Release.Erase)
		if err == nil {
			b.releasesSent.Store(ref.Key, systemID)
		}
		return err
	})
}

// hasReleased tells whether MAAS has accepted our release of the machine.
func (b *releaseSteps) hasReleased(ref engine.Ref) bool {
	id, sent := b.releasesSent.Load(ref.Key)
	return sent && id == ref.SystemID
}

// finishGiveBack reports that nothing of ours is on the machine any more. First it looks for
// another machine that a process allocated for the key before it died.
func (b *releaseSteps) finishGiveBack(ctx context.Context, ref engine.Ref, m engine.Machine) (engine.Result[engine.BareMetal], error) {
	left, err := b.findAllocated(ctx, ref.Key)
	if ref.SystemID != "" { // a finished one belongs to a host that took the name since, or had it before
		left = slices.DeleteFunc(left, func(other engine.Machine) bool {
			return other.SystemID != ref.SystemID && (AsBareMetal(other, ref.Key).Finished || hasLostItsMarks(other))
		})
	}
	switch {
	case err != nil:
		return engine.Result[engine.BareMetal]{}, err
	case len(left) > 0 && left[0].SystemID != m.SystemID:
		return actionsIn(situationOf(left[0])).delete.step(b, ctx, ref, left[0])
	}
	if m.Owner == "" {
		if m, err = b.removeFixedAddresses(ctx, m); err == nil {
			m, err = b.RestoreNetwork(ctx, m)
		}
		if err != nil {
			return engine.Result[engine.BareMetal]{}, err
		}
	}
	b.networksToRestore.Delete(ref.Key)
	b.releasesSent.Delete(ref.Key)
	b.failedReleases.Forget(ref.Key)
	b.rescueExits.Forget(ref.Key)
	b.claims.Forget(ref.Key)
	return b.doneResult(ref.Key, m), nil
}

// removeMarks removes our marks from a machine that someone else installed.
func (b *releaseSteps) removeMarks(ctx context.Context, ref engine.Ref, m engine.Machine) (engine.Result[engine.BareMetal], error) {
	m, err := b.restoreSettings(ctx, ref.Key, m)
	if err == nil {
		m, err = b.Annotate(ctx, m, m.MarkRemoval())
	}
	if err != nil {
		return waitForHostname(resultOf(ref.Key, m), err)
	}
	return b.finishGiveBack(ctx, ref, m)
}

// requestTransition begins a transition. MAAS may refuse it because the machine's state has
// changed since the look; the next step sees the new state.
func (b *stepBase) requestTransition(ctx context.Context, key engine.Key, m engine.Machine, verb string, call func(context.Context, string) error) (engine.Result[engine.BareMetal], error) {
	if err := call(ctx, m.SystemID); err != nil && !errors.Is(err, engine.ErrNotFound) {
		return engine.Result[engine.BareMetal]{}, fmt.Errorf("cannot %s %s: %w", verb, m.Hostname, b.RecheckRefusal(ctx, m, err))
	}
	b.Log.InfoContext(ctx, verb+" machine", "name", m.Hostname, "system_id", m.SystemID)
	res := resultOf(key, m)
	res.After, res.Message = engine.TransitionPollInterval, fmt.Sprintf("asked MAAS to %s %s", verb, m.Hostname)
	res.Changed = b.Machines.WatchChange(ctx, m)
	return res, nil
}
