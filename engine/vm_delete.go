package engine

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// shortly is the pause where MAAS is about to change a state by itself.
const shortly = 2 * time.Second

// delete implements Kind.Delete: abort or release, power off, delete, see that
// it is gone. The row turns leaving with the first thing that is done to the VM,
// not before a refusal, and is forgotten last.
func (v *vms) delete(ctx context.Context, ref Ref) (Result[VM], error) {
	ref, err := v.follow(ctx, ref)
	if err != nil {
		return Result[VM]{}, err
	}
	row, err := v.row(ctx, ref.Key)
	if err != nil {
		return Result[VM]{}, err
	}
	m, _, err := v.look(ctx, ref)
	if errors.Is(err, ErrNotFound) && row.Key != "" && row.of(ref) {
		if err := v.leaving(ctx, ref, row); err != nil {
			return Result[VM]{}, err
		}
		if row.SystemID == "" {
			// The row is of a compose whose fruit nobody has seen: another VM of this
			// key, that is to go, too.
			ref.SystemID = ""
		}
		m, _, err = v.look(ctx, ref) // it may have been bound before the row was leaving
	}
	switch {
	case errors.Is(err, ErrNotFound):
		return v.vanished(ctx, ref, row)
	case err != nil:
		return Result[VM]{}, err
	case m.Locked:
		return result(ref.Key, m), locked(m, "delete")
	}
	if err := v.isVM(ctx, m); err != nil {
		return result(ref.Key, m), err
	}
	v.names.leave(m.SystemID, m.Hostname, "", v.Now())
	res := result(ref.Key, m)
	switch m.Status.Phase() {
	case PhaseReleasing:
		return v.wait(ctx, ref.Key, m), v.leaving(ctx, ref, row)
	case PhaseDeployed, PhaseAllocated:
		if err := v.leaving(ctx, ref, row); err != nil {
			return res, err
		}
		return v.stop(ctx, ref.Key, m, m.in(StatusReleasing), "release", v.release)
	case PhaseDeploying, PhaseCommissioning:
		if m.Status != StatusNew {
			if err := v.leaving(ctx, ref, row); err != nil {
				return res, err
			}
			return v.stop(ctx, ref.Key, m, m, "abort", v.Machines.Abort)
		}
	}
	off, err := v.off(ctx, ref.Key, m)
	if err == nil {
		err = v.leaving(ctx, ref, row)
	}
	if err != nil {
		return res, err
	}
	if !off {
		res.After, res.Reason, res.Message = shortly, "PoweringOff", m.Hostname+" is being powered off"
		return res, nil
	}
	return v.decompose(ctx, ref, m)
}

// leaving marks the row of a VM as being deleted.
func (v *vms) leaving(ctx context.Context, ref Ref, row Row) error {
	if row.Key == "" || !row.of(ref) || row.State == RowLeaving {
		return nil
	}
	if err := v.Ledger.Leaving(ctx, ref.Key); err != nil {
		return fmt.Errorf("cannot mark %s as leaving: %w", ref.Key, err)
	}
	return nil
}

// isVM refuses what is no VM. Where MAAS knows no VM hosts, the composer tells.
func (v *vms) isVM(ctx context.Context, m Machine) error {
	if m.HostID != 0 {
		return nil
	}
	_, err := v.hostOf(ctx, m)
	if owner, _ := described(m.Description); errors.Is(err, ErrConflict) && owner != "" {
		return &Refusal{
			Message: fmt.Sprintf("cannot delete VM %s (%s): %v", m.Hostname, m.SystemID, err),
			Hint: "Make that LXD a host again, and try again. If it will not come back, delete the machine in MAAS: what its LXD has of the VM " +
				"stays there, and is nobody's.", Err: ErrConflict,
		}
	}
	if errors.Is(err, ErrConflict) {
		return &Refusal{
			Message: fmt.Sprintf("will not delete machine %s (%s): it is no VM on a VM host", m.Hostname, m.SystemID),
			Hint:    "If it should no longer be managed, remove it from the state.", Err: ErrConflict,
		}
	}
	return err
}

// of reports whether the row is about the VM of a ref, and not about a later
// one of the same key.
func (r Row) of(ref Ref) bool {
	return r.SystemID == "" || ref.SystemID == "" || r.SystemID == ref.SystemID
}

// gone forgets the row of a VM that is not there, unless a compose of it may
// still bear fruit.
func (v *vms) gone(ctx context.Context, ref Ref) (Result[VM], error) {
	row, err := v.row(ctx, ref.Key)
	if err != nil {
		return Result[VM]{}, err
	}
	if left := v.unclear(row); row.Key != "" && left > 0 {
		return Result[VM]{
			After: min(left, lookForIt), Reason: "ComposeUnclear",
			Message: fmt.Sprintf("MAAS may still be composing %s, which is then to be removed", ref.Name),
		}, nil
	}
	if row.Key != "" && row.SystemID == "" {
		if err := v.clear(ctx, row); err != nil {
			return Result[VM]{}, err
		}
		v.noteCutOff(ctx, row)
	}
	if row.Key != "" && row.of(ref) { // as it was read: a create may have begun since
		if err := v.Ledger.Drop(ctx, row); err != nil {
			return Result[VM]{}, err
		}
	}
	v.claims.forget(ref.Key)
	v.names.left(ref.SystemID, ref.Key, v.Now())
	return Result[VM]{Done: true, Reason: "Deleted", Object: VM{Leftover: v.leftovers.of(ref.Key)}}, nil
}

// noteCutOff notes what a compose may have left that was cut off, and of which MAAS
// shows nothing: MAAS clears nothing away.
func (v *vms) noteCutOff(ctx context.Context, row Row) {
	hosts, err := v.Composer.Hosts(ctx)
	if err != nil {
		return
	}
	for _, h := range hosts {
		if h.HostKey == row.HostKey && h.ID != 0 {
			v.leftovers.note(row.Key, mayBeLeft(row.Name, h))
		}
	}
}

// stop asks MAAS to end what the machine does, and waits for what is then to
// be seen next. A refusal because of its state or of a power action in flight
// is a reason to look again, not an error.
func (v *vms) stop(ctx context.Context, key Key, m, next Machine, verb string, call func(context.Context, string) error) (Result[VM], error) {
	switch err := call(ctx, m.SystemID); {
	case err == nil:
		v.Log.InfoContext(ctx, "stopping VM", "verb", verb, "name", m.Hostname, "system_id", m.SystemID)
		return v.wait(ctx, key, next), nil
	case errors.Is(err, ErrConflict):
		res := v.wait(ctx, key, m)
		res.After = shortly
		return res, nil
	default:
		return result(key, m), fmt.Errorf("cannot %s %s: %w", verb, m.Hostname, err)
	}
}

// release gives the VM back. Its disks are going to be deleted.
func (v *vms) release(ctx context.Context, systemID string) error {
	return v.Machines.Release(ctx, systemID, EraseNone)
}

// off sees that the instance is stopped before it is deleted. MAAS answers a
// delete with success even where LXD refused it, as it does while the instance
// is being started, or where LXD could not be reached: the instance then stays
// behind. So LXD must answer first, through MAAS's power driver.
func (v *vms) off(ctx context.Context, key Key, m Machine) (bool, error) {
	state, err := v.Machines.Power(ctx, m.SystemID)
	switch {
	case err != nil:
		return false, fmt.Errorf("cannot ask for the power of %s: %w", m.Hostname, err)
	case state == "off" && m.Status.Phase() == PhaseFailed:
		// It may be starting: a machine can be marked as failed at any moment,
		// and what is being started is off until it is on. MAAS refuses to turn
		// it off until that is over.
		return true, v.powerOff(ctx, m)
	case state == "off":
		return true, nil
	case state == "on":
		return false, v.powerOff(ctx, m)
	default:
		return false, v.sync(ctx, key, m)
	}
}

func (v *vms) powerOff(ctx context.Context, m Machine) error {
	if err := v.Machines.PowerOff(ctx, m.SystemID); err != nil {
		return fmt.Errorf("cannot power off %s: %w", m.Hostname, err)
	}
	return nil
}

// sync tells apart why the power driver has no answer. If LXD cannot be
// reached, the sync fails, and the VM stays until it can. If the instance has
// vanished, MAAS drops its machine in the sync.
func (v *vms) sync(ctx context.Context, key Key, m Machine) error {
	host, err := v.hostOf(ctx, m)
	if err != nil {
		return err
	}
	quiet, err := v.quiet(ctx, v.hosts, host, key)
	if err != nil {
		return err
	}
	defer quiet.end()
	v.Log.InfoContext(ctx, "syncing VM host to find a lost instance", "host", host.Name, "name", m.Hostname)
	if err := quiet.sync(v.Composer, host, m.SystemID); err != nil {
		return unanswered(m, err)
	}
	_, err = v.Machines.Machine(ctx, m.SystemID)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil // the next step sees it, too
	case err != nil:
		return err
	default:
		return unanswered(m, nil)
	}
}

// unanswered says that a VM stays because its LXD does not tell its state. The
// cause may know a better way out.
func unanswered(m Machine, cause error) error {
	if _, refused := errors.AsType[*Refusal](cause); refused {
		return fmt.Errorf("cannot delete %s: %w", m.Hostname, cause)
	}
	out := "Bring the host back, and destroy again."
	if typed, ok := errors.AsType[*Error](cause); ok && typed.Hint != "" {
		out = typed.Hint
	}
	return &Error{
		Type: HostUnavailable, Host: m.HostName, Err: cause,
		Message: fmt.Sprintf("%s cannot be deleted while its LXD does not say whether it is off", m.Hostname),
		Hint:    "Deleting it now could leave its instance behind. " + out,
	}
}

func (v *vms) decompose(ctx context.Context, ref Ref, m Machine) (Result[VM], error) {
	res := result(ref.Key, m)
	if err := v.Composer.Decompose(ctx, m.SystemID); err != nil {
		return res, fmt.Errorf("cannot delete %s: %w", m.Hostname, err)
	}
	v.Log.InfoContext(ctx, "deleted VM", "name", m.Hostname, "system_id", m.SystemID)
	_, err := v.Machines.Machine(ctx, m.SystemID)
	switch {
	case errors.Is(err, ErrNotFound):
		ref.SystemID = m.SystemID
		return v.gone(ctx, ref)
	case err != nil:
		return res, err
	}
	res.After, res.Message = shortly, m.Hostname+" is still there"
	return res, nil
}
