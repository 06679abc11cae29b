package vm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/compose"
)

// delete implements Kind.Delete: abort or release, power off, delete, check that it is gone.
// The row turns leaving with the first change to the VM, so a refusal leaves it alone. The row
// is forgotten last.
func (v *deleteSteps) delete(ctx context.Context, ref engine.Ref) (engine.Result[engine.VM], error) {
	ref, err := v.maker.FollowMovedVM(ctx, ref)
	if err != nil {
		return engine.Result[engine.VM]{}, err
	}
	row, err := v.maker.Row(ctx, ref.Key)
	if err != nil {
		return engine.Result[engine.VM]{}, err
	}
	m, _, err := v.maker.FindVM(ctx, ref)
	if errors.Is(err, engine.ErrNotFound) && row.Key != "" && compose.IsRowOf(row, ref) {
		if err := v.markRowLeaving(ctx, ref, row); err != nil {
			return engine.Result[engine.VM]{}, err
		}
		if row.SystemID == "" {
			// The row is of a compose whose VM nobody has seen: another VM of this key, which
			// must be deleted, too.
			ref.SystemID = ""
		}
		m, _, err = v.maker.FindVM(ctx, ref) // it may have been bound before the row was leaving
	}
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return v.finishDelete(ref, func() (time.Duration, error) { return v.maker.ForgetVanishedVM(ctx, ref, row) })
	case err != nil:
		return engine.Result[engine.VM]{}, err
	case m.Locked:
		return resultOf(ref.Key, m), engine.NewLockedError(m, "delete")
	}
	if err := takenOverError("delete", ref, m); err != nil {
		return resultOf(ref.Key, m), err
	}
	if err := v.checkIsVM(ctx, m); err != nil {
		return resultOf(ref.Key, m), err
	}
	v.region.LeavingNames.NoteLeaving(m.SystemID, m.Hostname, "", v.Now())
	return actionsIn(situationOf(m, false)).delete.step(v, ctx, ref, row, m)
}

// release gives the VM back. Its disks will be deleted.
func (v *deleteSteps) release(ctx context.Context, ref engine.Ref, row engine.Row, m engine.Machine) (engine.Result[engine.VM], error) {
	if err := v.beginStop(ctx, ref, row, m); err != nil {
		return resultOf(ref.Key, m), err
	}
	return v.requestStop(ctx, ref.Key, m, m.WithStatus(engine.StatusReleasing), "release", func(ctx context.Context, systemID string) error {
		return v.Machines.Release(ctx, systemID, engine.EraseNone)
	})
}

// abort stops what MAAS does with the VM.
func (v *deleteSteps) abort(ctx context.Context, ref engine.Ref, row engine.Row, m engine.Machine) (engine.Result[engine.VM], error) {
	if err := v.beginStop(ctx, ref, row, m); err != nil {
		return resultOf(ref.Key, m), err
	}
	return v.requestStop(ctx, ref.Key, m, m, "abort", v.Machines.Abort)
}

// awaitRelease waits until MAAS has released the VM.
func (v *deleteSteps) awaitRelease(ctx context.Context, ref engine.Ref, row engine.Row, m engine.Machine) (engine.Result[engine.VM], error) {
	return v.waitResult(ctx, ref.Key, m), v.markRowLeaving(ctx, ref, row)
}

// powerOffAndDelete deletes a VM without a running installation, once it is off.
func (v *deleteSteps) powerOffAndDelete(ctx context.Context, ref engine.Ref, row engine.Row, m engine.Machine) (engine.Result[engine.VM], error) {
	off, err := v.ensurePoweredOff(ctx, ref.Key, m)
	if err == nil {
		err = v.markRowLeaving(ctx, ref, row)
	}
	res := resultOf(ref.Key, m)
	if err != nil {
		return res, err
	}
	if !off {
		res.After, res.Reason, res.Message = engine.TransitionPollInterval, "PoweringOff", m.Hostname+" is being powered off"
		return res, nil
	}
	return v.decompose(ctx, ref, m)
}

// beginStop prepares that MAAS releases or aborts a VM. If the instance cannot be reached, that is an
// error: the VM would be off, and neither deployed nor deleted.
func (v *deleteSteps) beginStop(ctx context.Context, ref engine.Ref, row engine.Row, m engine.Machine) error {
	if err := v.Composer.CheckInstanceReachable(ctx, m); err != nil {
		return unreachableError(m, err)
	}
	return v.markRowLeaving(ctx, ref, row)
}

// markRowLeaving marks the row of a VM as being deleted.
func (v *deleteSteps) markRowLeaving(ctx context.Context, ref engine.Ref, row engine.Row) error {
	if row.Key == "" || !compose.IsRowOf(row, ref) || row.State == engine.RowLeaving {
		return nil
	}
	if err := v.Ledger.MarkLeaving(ctx, ref.Key); err != nil {
		return fmt.Errorf("cannot mark %s as leaving: %w", ref.Key, err)
	}
	return nil
}

// checkIsVM refuses a machine that is no VM. Where MAAS has no VM hosts, the composer tells.
func (v *deleteSteps) checkIsVM(ctx context.Context, m engine.Machine) error {
	if m.HasVMHostInMAAS() {
		return nil
	}
	_, err := v.maker.HostOf(ctx, m)
	if owner, _ := engine.MarkerIn(m.Description); errors.Is(err, engine.ErrConflict) && owner != "" {
		return &engine.Refusal{
			Message: fmt.Sprintf("cannot delete VM %s (%s): %v", m.Hostname, m.SystemID, err),
			Hint: "Register that LXD as a host again, and try again. If it is lost for good, delete the machine in MAAS. The instance " +
				"then stays in its LXD, and nobody manages it.", Err: engine.ErrConflict,
		}
	}
	if errors.Is(err, engine.ErrConflict) {
		return &engine.Refusal{
			Message: fmt.Sprintf("cannot delete machine %s (%s): it is not a VM on a VM host", m.Hostname, m.SystemID),
			Ways:    []engine.Way{engine.WayForget}, Err: engine.ErrConflict,
		}
	}
	return err
}

// finishDelete ends the delete of a VM that does not exist. It calls end, which forgets its
// row.
func (v *deleteSteps) finishDelete(ref engine.Ref, end func() (time.Duration, error)) (engine.Result[engine.VM], error) {
	remaining, err := end()
	switch {
	case err != nil:
		return engine.Result[engine.VM]{}, err
	case remaining > 0:
		return engine.Result[engine.VM]{
			After: min(remaining, engine.LostComposePollInterval), Reason: "ComposeUnclear",
			Message: fmt.Sprintf("MAAS may still be composing %s; it is removed afterwards", ref.Name),
		}, nil
	}
	v.region.Claims.Forget(ref.Key)
	v.region.LeavingNames.NoteLeft(ref.SystemID, ref.Key, v.Now())
	return engine.Result[engine.VM]{Done: true, Reason: "Deleted", Object: engine.VM{Leftover: v.maker.Leftover(ref.Key)}}, nil
}

// requestStop asks MAAS to end an operation on the machine, and waits for the next state. MAAS
// may refuse because of the state, or because of another power action. That is a reason to look
// again, not an error.
func (v *deleteSteps) requestStop(ctx context.Context, key engine.Key, m, next engine.Machine, verb string, call func(context.Context, string) error) (engine.Result[engine.VM], error) {
	switch err := call(ctx, m.SystemID); {
	case err == nil:
		v.Log.InfoContext(ctx, "stopping VM", "verb", verb, "name", m.Hostname, "system_id", m.SystemID)
		return v.waitResult(ctx, key, next), nil
	case errors.Is(err, engine.ErrConflict):
		res := v.waitResult(ctx, key, m)
		res.After = engine.TransitionPollInterval
		return res, nil
	default:
		return resultOf(key, m), fmt.Errorf("cannot %s %s: %w", verb, m.Hostname, err)
	}
}

// ensurePoweredOff makes sure that the instance is stopped before it is deleted. MAAS reports
// success of a delete even where LXD refused it, or could not be reached; LXD refuses it while
// the instance is being started. The instance then stays behind. So LXD must answer first,
// through MAAS's power driver.
func (v *stepBase) ensurePoweredOff(ctx context.Context, key engine.Key, m engine.Machine) (bool, error) {
	state, err := v.Machines.QueryPower(ctx, m.SystemID)
	switch {
	case err != nil:
		return false, fmt.Errorf("cannot query the power of %s: %w", m.Hostname, err)
	case state == "off" && m.Status.Phase() == engine.PhaseFailed:
		// It may be starting: a machine can be marked as failed at any moment, and an instance
		// that is being started is off until it is on. MAAS refuses to turn it off until then.
		return true, v.powerOff(ctx, m)
	case state == "off":
		return true, nil
	case state == "on":
		return false, v.powerOff(ctx, m)
	default:
		return false, v.syncHostOfVM(ctx, key, m)
	}
}

func (v *stepBase) powerOff(ctx context.Context, m engine.Machine) error {
	if err := v.Machines.PowerOff(ctx, m.SystemID); err != nil {
		return fmt.Errorf("cannot power off %s: %w", m.Hostname, err)
	}
	return nil
}

// syncHostOfVM finds out why the power driver has no answer. If LXD cannot be reached, the sync
// fails, and the VM stays until it can. If the instance has vanished, the sync makes MAAS drop
// its machine.
func (v *stepBase) syncHostOfVM(ctx context.Context, key engine.Key, m engine.Machine) error {
	host, err := v.maker.HostOf(ctx, m)
	if err != nil {
		return err
	}
	closed, err := v.region.CloseHost(ctx, v.Config, host, key)
	if err != nil {
		return err
	}
	defer closed.End()
	v.Log.InfoContext(ctx, "syncing VM host to find a lost instance", "host", host.Name, "name", m.Hostname)
	if err := closed.SyncHost(v.Composer, host, m.SystemID); err != nil {
		return powerUnknownError(m, err)
	}
	_, err = v.Machines.Machine(ctx, m.SystemID)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return nil // the next step sees it, too
	case err != nil:
		return err
	default:
		return powerUnknownError(m, nil)
	}
}

// powerUnknownError says that a VM stays because its LXD does not tell its state. The cause may
// contain a better hint.
func powerUnknownError(m engine.Machine, cause error) error {
	_, refused := errors.AsType[*engine.Refusal](cause)
	_, misconfigured := errors.AsType[*engine.SpecError](cause) // an expired key pair, for example
	if refused || misconfigured {
		return fmt.Errorf("cannot delete %s: %w", m.Hostname, cause)
	}
	return silentLXDError(m, m.Hostname+" cannot be deleted yet: its LXD must first confirm that it is off", cause)
}

// unreachableError says that MAAS does not release a VM whose instance cannot be reached.
func unreachableError(m engine.Machine, cause error) error {
	if !isOfLXD(cause) {
		return fmt.Errorf("cannot delete %s, which stays %s: %w", m.Hostname, m.StatusName, cause)
	}
	return silentLXDError(m, fmt.Sprintf("%s cannot be deleted yet, and stays %s: its LXD cannot be used", m.Hostname, m.StatusName), cause)
}

// isOfLXD tells whether an error is about an LXD server: it does not answer, or refuses us.
func isOfLXD(err error) bool {
	typed, ok := errors.AsType[*engine.Error](err)
	return ok && typed.Type == engine.HostUnavailable
}

// silentLXDError keeps a VM because of its LXD. If that LXD does not answer, it may be lost for good.
func silentLXDError(m engine.Machine, message string, cause error) error {
	out, ways := "Bring the host back.", []engine.Way{engine.WayRetryDelete}
	typed, isTyped := errors.AsType[*engine.Error](cause)
	if isTyped && typed.Hint != "" {
		out, ways = typed.Hint, slices.Clone(typed.Ways)
	}
	if errors.Is(cause, engine.ErrUnavailable) && (!isTyped || typed.Host != "") { // not another host that may have it
		ways = append(ways, engine.WayLoseHost)
	}
	return &engine.Error{
		Type: engine.HostUnavailable, Host: m.HostName, Err: cause, Message: message,
		Hint: "Deleting it now could leave its instance behind. " + out, Ways: ways,
	}
}

func (v *deleteSteps) decompose(ctx context.Context, ref engine.Ref, m engine.Machine) (engine.Result[engine.VM], error) {
	res := resultOf(ref.Key, m)
	if err := v.Composer.Decompose(ctx, m.SystemID); err != nil {
		return res, fmt.Errorf("cannot delete %s: %w", m.Hostname, err)
	}
	v.Log.InfoContext(ctx, "deleted VM", "name", m.Hostname, "system_id", m.SystemID)
	_, err := v.Machines.Machine(ctx, m.SystemID)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		ref.SystemID = m.SystemID
		return v.finishDelete(ref, func() (time.Duration, error) { return v.maker.ForgetVM(ctx, ref) })
	case err != nil:
		return res, err
	}
	res.After, res.Message = engine.TransitionPollInterval, m.Hostname+" is still there"
	return res, nil
}
