package machine

import (
	"context"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/inplace"
)

// findHostnameHolders looks for machines with the wanted hostname, before a machine is taken.
// It returns those that may be taken themselves. For another one, the error is a
// *inplace.NameWaitError while it is about to leave the hostname, and else a *SpecError.
func (b *inPlaceSteps) findHostnameHolders(ctx context.Context, key engine.Key, want engine.MachineSpec) ([]engine.Machine, error) {
	if want.Hostname == "" {
		return nil, nil
	}
	holders, err := b.Machines.MachinesNamed(ctx, want.Hostname)
	if err != nil {
		return nil, err
	}
	for _, m := range holders {
		if canBeTaken(want, m) {
			continue
		}
		if wait := b.updater.CheckNameWait(wantedSettingsOf(key, want), m); wait != nil {
			return nil, wait
		}
		return nil, inplace.HostnameTakenError(fieldpath.New("hostname"), want.Hostname, m)
	}
	return holders, nil
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

// hostnameObstacles looks for another machine with the wanted hostname.
func (b *inPlaceSteps) hostnameObstacles(ctx context.Context, o *engine.Obstacles, ref engine.Ref, want engine.MachineSpec) {
	if want.Hostname == "" {
		return
	}
	holders, err := b.Machines.MachinesNamed(ctx, want.Hostname)
	o.Add(err)
	for _, m := range holders {
		if m.SystemID != ref.SystemID && !canBeTaken(want, m) && !AsBareMetal(m, ref.Key).Ours {
			o.AddHeldBy(m, inplace.HostnameTakenError(fieldpath.New("hostname"), want.Hostname, m))
		}
	}
}
