// Package operate has the manual operations on an existing machine: turn it on or off,
// commission it again, redeploy or rescue it, take and restore snapshots, refresh a VM host.
// Except for snapshots, it makes and removes nothing.
package operate

import (
	"context"
	"errors"
	"fmt"

	"github.com/maaslxd/maaslxd/engine"
)

// The values of power for TurnPower.
const (
	PowerOn    = "on"
	PowerOff   = "off"
	PowerCycle = "cycle" // off, if it is on, and then on
)

// TurnPower turns a machine on or off, and waits until its power driver says so. The driver's
// answer counts: MAAS's own state is old if a guest turned itself off.
func TurnPower(ctx context.Context, machines engine.Machines, m engine.Machine, power string, watch ...func(engine.Progress)) error {
	if power == PowerCycle {
		if err := TurnPower(ctx, machines, m, PowerOff, watch...); err != nil {
			return err
		}
		power = PowerOn
	}
	_, err := engine.WaitUntilDone(ctx, func(ctx context.Context) (engine.Result[engine.Machine], error) {
		return turnPowerStep(ctx, machines, m, power)
	}, watch...)
	return err
}

// turnPowerStep queries the power, and asks MAAS to change it if it differs.
func turnPowerStep(ctx context.Context, machines engine.Machines, m engine.Machine, power string) (engine.Result[engine.Machine], error) {
	res := engine.Result[engine.Machine]{
		Object: m, SystemID: m.SystemID, After: engine.TransitionPollInterval,
		Reason: "Turning " + power, Message: fmt.Sprintf("%s is being turned %s", m.Hostname, power),
	}
	state, err := machines.QueryPower(ctx, m.SystemID)
	switch {
	case err != nil:
		return res, fmt.Errorf("cannot query the power of %s: %w", m.Hostname, err)
	case state == power:
		res.Done = true
		return res, nil
	case state != PowerOn && state != PowerOff:
		return res, &engine.Error{
			Type: engine.HostUnavailable, Host: m.HostName, Message: fmt.Sprintf("the power driver of %s does not say whether it is on, but %q", m.Hostname, state),
			Hint: "Check the power parameters of the machine in MAAS. For a VM, check that its VM host answers.",
		}
	}
	change := machines.PowerOn
	if power == PowerOff {
		change = machines.PowerOff
	}
	if err := change(ctx, m.SystemID); err != nil && !errors.Is(err, engine.ErrUnavailable) { // ErrUnavailable: another power action runs
		return res, fmt.Errorf("cannot turn %s %s: %w", m.Hostname, power, err)
	}
	return res, nil
}
