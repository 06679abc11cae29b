package vm

import (
	"context"
	"errors"
	"fmt"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/compose"
)

// moveToOtherHost removes a VM that failed before it was ever Ready, so that it is made on
// another host. The engine removes nothing else without a request. Nothing has run on this VM.
func (v *Kind) moveToOtherHost(ctx context.Context, key engine.Key, want engine.VMSpec, m engine.Machine) (engine.Result[engine.VM], error) {
	attempt := v.maker.NewAttempt(key, want)
	row, err := v.maker.Row(ctx, key)
	if err != nil {
		return engine.Result[engine.VM]{}, err
	}
	owner, _ := engine.MarkerIn(m.Description)
	if owner != engine.MarkerOf(key) || engine.WasFinishedOnce(m) || !attempt.MayMove(row) {
		return engine.Result[engine.VM]{}, v.failedError(ctx, want, m)
	}
	host, where, err := v.findOtherSites(ctx, key, want, m, row)
	if err != nil {
		return engine.Result[engine.VM]{}, err
	}
	res := resultOf(key, m)
	res.Reason, res.Message = "Moving", fmt.Sprintf("%s ended in the state %q on VM host %s, and is made on another host", m.Hostname, m.StatusName, host.Name)
	off, err := v.ensurePoweredOff(ctx, key, m)
	if err != nil || !off {
		res.After = engine.TransitionPollInterval
		return res, err
	}
	why := v.region.Failures.Evidence(ctx, v.Config, m, want.Deploy.Secrets()...) // it vanishes with the machine
	if err := v.Composer.Decompose(ctx, m.SystemID); err != nil {
		return res, fmt.Errorf("cannot delete %s: %w", m.Hostname, err)
	}
	if _, err = v.Machines.Machine(ctx, m.SystemID); !errors.Is(err, engine.ErrNotFound) {
		res.After = engine.TransitionPollInterval
		return res, err
	}
	v.Log.InfoContext(ctx, "removed a VM to make it on another host", "name", m.Hostname, "host", host.Name, "system_id", m.SystemID, "status", m.StatusName, "why", why)
	out, err := attempt.MakeOnOtherHost(ctx, where, row)
	again, err := v.continueAttempt(ctx, key, want, out, err)
	again.Moved = again.SystemID == ""
	return again, err
}

// findOtherSites finds the host on which a VM failed, and those on which it may be made
// instead. If there are none, the error says why the VM failed.
func (v *Kind) findOtherSites(ctx context.Context, key engine.Key, want engine.VMSpec, m engine.Machine, row engine.Row) (engine.VMHost, compose.Sites, error) {
	host, err := v.maker.HostOf(ctx, m)
	switch {
	case errors.Is(err, engine.ErrConflict):
		return host, compose.Sites{}, v.failedError(ctx, want, m)
	case err != nil:
		return host, compose.Sites{}, err
	}
	where, err := v.maker.FindSites(ctx, key, want, append(row.Excluded, host.HostKey))
	var short *engine.Error
	if errors.As(err, &short) && short.Type == engine.InsufficientResources {
		err = v.failedError(ctx, want, m) // no other host is suitable
	}
	return host, where, err
}
