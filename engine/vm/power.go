package vm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// changeInstance gives a finished VM its interfaces, its size, its options and its devices.
func (v *Kind) changeInstance(ctx context.Context, key engine.Key, want engine.VMSpec, m engine.Machine) (engine.Machine, error) {
	m, err := v.changeInterfaces(ctx, key, want, m) // before the VM is stopped for another change
	if err == nil {
		err = v.resize(ctx, key, want, m)
	}
	if err == nil {
		err = v.configure(ctx, want, m)
	}
	return m, err
}

// stopIfNeeded handles the outcome of changeInstance. If the change needs a stopped VM and the
// spec allows it, it turns a running VM off. Then the VM is not settled yet.
func (v *finishedSteps) stopIfNeeded(ctx context.Context, want engine.VMSpec, m engine.Machine, err error) (engine.Machine, bool, error) {
	if err == nil {
		return m, true, nil
	}
	_, runs := errors.AsType[*engine.RunningError](err)
	switch {
	case runs && want.Power == "off":
		m, _, err = v.turnPower(ctx, want, m, "off")
		return m, false, err
	case runs && want.MayStop:
		m, err = v.stopToResize(ctx, want, m)
		return m, false, err
	case engine.IsTerminal(err) && m.OwnerData[engine.RestartData] != "":
		return m, false, errors.Join(err, v.turnOnAfterFailure(ctx, m))
	}
	return m, false, err
}

// stopToResize turns a running VM off. Before, it notes on the machine that the VM must run
// again: another run may have to continue, and for a while MAAS shows the former power state.
func (v *finishedSteps) stopToResize(ctx context.Context, want engine.VMSpec, m engine.Machine) (engine.Machine, error) {
	if m.Status != engine.StatusDeployed {
		return m, cannotTurnError(m, "off")
	}
	m, err := v.updater.UnlockForChange(ctx, wantedSettingsOf("", want), m)
	if err != nil {
		return m, err
	}
	if m.OwnerData[engine.RestartData] == "" {
		if m, err = v.noteRestart(ctx, m, "yes"); err != nil {
			return m, err
		}
	}
	v.Log.InfoContext(ctx, "stopping a VM to change it", "name", m.Hostname, "system_id", m.SystemID)
	m, _, err = v.turnPower(ctx, want, m, "off")
	return m, err
}

// noteRestart writes or removes the note that a VM must be turned on again.
func (v *finishedSteps) noteRestart(ctx context.Context, m engine.Machine, value string) (engine.Machine, error) {
	return v.updater.Annotate(ctx, m, map[string]string{engine.RestartData: value})
}

// turnOnAfterFailure begins to turn a VM on that was stopped for an impossible change.
func (v *finishedSteps) turnOnAfterFailure(ctx context.Context, m engine.Machine) error {
	graced, cancel := engine.WithGrace(ctx)
	defer cancel()
	if err := v.Machines.PowerOn(graced, m.SystemID); err != nil {
		return fmt.Errorf("cannot turn %s on again, which was turned off for a change: %w", m.Hostname, err)
	}
	return nil
}

// giveUpFunc turns a VM on again that was stopped for a change, when the caller stops waiting.
// It is nil if there is nothing to turn on, or if the step has done it.
func (v *finishedSteps) giveUpFunc(want engine.VMSpec, res engine.Result[engine.VM], failure error) func(context.Context) error {
	m := res.Object.Machine
	if res.Done || engine.IsTerminal(failure) || want.Power == "off" || m.OwnerData[engine.RestartData] == "" {
		return nil
	}
	return func(ctx context.Context) error {
		m, err := v.Machines.Machine(ctx, m.SystemID) // a failed step may have locked it again
		if err != nil || m.OwnerData[engine.RestartData] == "" {
			return err
		}
		m, stable, err := v.turnOnUntilStable(ctx, want, m)
		if stable {
			m, err = v.dropRestartNote(ctx, want, m)
		}
		return v.updater.RelockAfterFailure(ctx, wantedSettingsOf("", want), m, err)
	}
}

// requiredOnLooks is how often, a second apart, a VM must be seen on. An earlier request to
// MAAS to turn it off may still take effect.
const requiredOnLooks = 3

// turnOnUntilStable turns a VM on that may still be going off. It tells whether the VM went off,
// and was turned on and seen on since. A VM that was never seen off may still go off.
func (v *finishedSteps) turnOnUntilStable(ctx context.Context, want engine.VMSpec, m engine.Machine) (engine.Machine, bool, error) {
	wasOff := false
	for seen := 0; seen < requiredOnLooks; {
		after, isOn, err := v.turnPower(ctx, want, m, "on")
		m = after
		switch {
		case err != nil:
			return m, false, fmt.Errorf("cannot turn %s on again, which was turned off for a change: %w", m.Hostname, err)
		case isOn:
			seen++
		default:
			seen, wasOff = 0, true
		}
		select {
		case <-ctx.Done():
			return m, false, nil // the request was sent
		case <-time.After(time.Second):
		}
	}
	return m, wasOff, nil
}

// dropRestartNote removes the note from a VM that runs again.
func (v *finishedSteps) dropRestartNote(ctx context.Context, want engine.VMSpec, m engine.Machine) (engine.Machine, error) {
	v.changes.forget(m.SystemID)
	m, err := v.updater.UnlockForChange(ctx, wantedSettingsOf("", want), m)
	if err != nil {
		return m, err
	}
	return v.noteRestart(ctx, m, "")
}

// reconcilePower brings a finished VM to its wanted power state, or turns it on if it was
// turned off for a change.
func (v *finishedSteps) reconcilePower(ctx context.Context, want engine.VMSpec, m engine.Machine) (engine.Machine, bool, error) {
	power, noted := want.Power, m.OwnerData[engine.RestartData] != ""
	if power == "" && noted {
		power = "on"
	}
	if power == "" || m.PowerState == power && !noted {
		return m, true, nil
	}
	m, settled, err := v.turnPower(ctx, want, m, power)
	if err == nil && !settled && noted && power == "on" {
		err = v.checkStart(ctx, m)
	}
	if err != nil || !settled || !noted {
		return m, settled, err
	}
	m, err = v.dropRestartNote(ctx, want, m)
	return m, err == nil, err
}

// turnPower queries LXD for the power of a VM, because MAAS's state is old if the guest turned
// itself off. If it differs, turnPower asks MAAS to change it. It tells whether the VM has the
// wanted power already.
func (v *finishedSteps) turnPower(ctx context.Context, want engine.VMSpec, m engine.Machine, power string) (engine.Machine, bool, error) {
	if m.Status != engine.StatusDeployed && (power == "on" || m.Status != engine.StatusReady) {
		return m, false, cannotTurnError(m, power)
	}
	state, err := v.Machines.QueryPower(ctx, m.SystemID)
	switch {
	case err != nil:
		return m, false, fmt.Errorf("cannot query the power of %s: %w", m.Hostname, err)
	case state != "on" && state != "off":
		return m, false, &engine.Error{
			Type: engine.HostUnavailable, Host: m.HostName, Message: fmt.Sprintf("the LXD of %s does not say whether it is on", m.Hostname),
			Hint: "Check that its VM host runs, and that the LXD there trusts the certificate that MAAS uses.", Ways: []engine.Way{engine.WayRetry},
		}
	}
	m.PowerState = state
	switch {
	case state == power:
		return m, true, nil
	case power == "off" && m.Ephemeral:
		return m, false, ephemeralPowerOffError(want, m)
	}
	if m, err = v.updater.UnlockForChange(ctx, wantedSettingsOf("", want), m); err != nil {
		return m, false, err
	}
	switchPower := v.Machines.PowerOn
	if power == "off" {
		switchPower = v.Machines.PowerOff
	}
	err = switchPower(ctx, m.SystemID)
	switch {
	case errors.Is(err, engine.ErrUnavailable): // another action runs: look again
	case err != nil:
		return m, false, fmt.Errorf("cannot turn %s %s: %w", m.Hostname, power, err)
	default:
		v.Log.InfoContext(ctx, "turning a VM on or off", "power", power, "name", m.Hostname, "system_id", m.SystemID)
	}
	return m, false, nil
}

// ephemeralPowerOffError refuses to turn a VM off if MAAS says that it runs from memory,
// whatever the spec says.
func ephemeralPowerOffError(want engine.VMSpec, m engine.Machine) error {
	field := "power_state"
	if want.Power != "off" {
		field = "allow_stopping_for_update"
	}
	return &engine.SpecError{
		Field: fieldpath.New(field), Message: fmt.Sprintf("%s runs from memory, and loses everything when it is turned off", m.Hostname),
		Hint: fmt.Sprintf("Remove %s and the change that needs a stopped VM, or deploy the VM to disk.", field), Err: engine.ErrConflict,
	}
}

// cannotTurnError says that only MAAS may control the power of a VM in this state.
func cannotTurnError(m engine.Machine, power string) error {
	return &engine.SpecError{
		Field: fieldpath.New("power_state"), Message: fmt.Sprintf("%s cannot be turned %s while it is %s", m.Hostname, power, m.StatusName),
		Hint: "Wait until the VM is Deployed, or bring it back to Deployed in MAAS.", Ways: []engine.Way{engine.WayRetry}, Err: engine.ErrConflict,
	}
}
