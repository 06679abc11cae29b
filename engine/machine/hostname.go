package machine

import (
	"context"
	"errors"
	"fmt"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/inplace"
)

// findHostnameHolders lists the machines with the wanted hostname, before a machine is taken.
func (b *inPlaceSteps) findHostnameHolders(ctx context.Context, want engine.MachineSpec) ([]engine.Machine, error) {
	if want.Hostname == "" {
		return nil, nil
	}
	return b.Machines.MachinesNamed(ctx, want.Hostname)
}

// checkHostnameHolders refuses a machine with the wanted hostname that may not be taken itself. The
// error is a *inplace.NameWaitError while it is about to leave the hostname, and else a *SpecError.
func (b *inPlaceSteps) checkHostnameHolders(key engine.Key, want engine.MachineSpec, holders []engine.Machine) error {
	for _, m := range holders {
		if canBeTaken(want, m) {
			continue
		}
		if wait := b.updater.CheckNameWait(wantedSettingsOf(key, want), m); wait != nil {
			return wait
		}
		return inplace.HostnameTakenError(fieldpath.New("hostname"), want.Hostname, m)
	}
	return nil
}

// checkRenamedMachine refuses a spec whose machine MAAS does not have, while a Ready machine has its
// hostname. Example: the spec names node1, and wants the hostname web. We renamed node1, and somebody
// released it in MAAS, which keeps the hostname web and forgets node1. Only people know that it is that one.
func (b *inPlaceSteps) checkRenamedMachine(ctx context.Context, want engine.MachineSpec, holders []engine.Machine) error {
	if want.Machine == "" || len(holders) != 1 || holders[0].Status != engine.StatusReady || isNamed(holders[0], want.Machine) {
		return nil
	}
	_, err := b.FindNamed(ctx, want.Machine)
	if !errors.Is(err, engine.ErrNotFound) {
		return err
	}
	return &engine.SpecError{
		Field:   fieldpath.New("machine"),
		Message: fmt.Sprintf("MAAS has no machine %q, and machine %s (%s) has the hostname %q already", want.Machine, holders[0].Hostname, holders[0].SystemID, want.Hostname),
		Hint: fmt.Sprintf("A machine keeps such a hostname after a release in MAAS. If it is the one, write machine = %q. If not, correct the name, or choose another hostname.",
			holders[0].SystemID), Err: engine.ErrNotFound,
	}
}

// canBeTaken tells whether the spec names the machine, or has a selector that fits it.
func canBeTaken(want engine.MachineSpec, m engine.Machine) bool {
	bySelector := want.Machine == "" && want.Deploy != nil && m.Status == engine.StatusReady && want.Select.Matches(m)
	return isNamed(m, want.Machine) || bySelector
}

// withHostname also requires that the machine can have the hostname.
func (p Preparation) withHostname(want engine.MachineSpec, holders []engine.Machine) Preparation {
	fits := p.Check
	p.Check = func(ctx context.Context, m engine.Machine) error {
		for _, holder := range holders {
			if holder.SystemID != m.SystemID {
				return inplace.HostnameTakenError(fieldpath.New("hostname"), want.Hostname, holder)
			}
		}
		return fits(ctx, m)
	}
	return p
}

// hostnameObstacles looks for another machine with the wanted hostname. It reports whether the spec
// may name a machine that was renamed: then nothing else is to be looked up.
func (b *inPlaceSteps) hostnameObstacles(ctx context.Context, o *engine.Obstacles, ref engine.Ref, want engine.MachineSpec) (isRenamed bool) {
	holders, err := b.findHostnameHolders(ctx, want)
	if err == nil && ref.SystemID == "" {
		err = b.checkRenamedMachine(ctx, want, holders)
	}
	if err != nil {
		o.Add(err)
		return errors.Is(err, engine.ErrNotFound)
	}
	for _, m := range holders {
		if m.SystemID != ref.SystemID && !canBeTaken(want, m) && !AsBareMetal(m, ref.Key).Ours {
			o.AddHeldBy(m, inplace.HostnameTakenError(fieldpath.New("hostname"), want.Hostname, m))
		}
	}
	return false
}
