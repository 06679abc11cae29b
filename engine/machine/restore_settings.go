package machine

import (
	"context"
	"errors"
	"fmt"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/inplace"
)

// restoreSettings restores the former settings of a machine that is about to be released:
// hostname, zone, resource pool, domain, description and tags. A setting that somebody else has
// changed since stays. So does one that MAAS no longer has, and a hostname that another machine
// has now. The error is a *inplace.NameWaitError while another machine is about to leave the
// hostname.
func (b *inPlaceSteps) restoreSettings(ctx context.Context, key engine.Key, m engine.Machine) (engine.Machine, error) {
	before := inplace.FormerSettingsOf(m)
	m, err := b.updater.ReconcileTags(ctx, inplace.WantedSettings{InPlaceSettings: engine.InPlaceSettings{Tags: before.RemovedTags, RemovedTags: before.AddedTags}}, m)
	if err != nil {
		return m, err
	}
	former := before.RestoreUpdate(m)
	hostname := former.Hostname
	former.Hostname = nil
	if err := b.dropVanishedNames(ctx, m, &former); err != nil {
		return m, err
	}
	if former != (engine.MachineUpdate{}) {
		if err := b.Machines.Update(ctx, m.SystemID, former); err != nil {
			return m, fmt.Errorf("cannot restore the settings of %s: %w", m.Hostname, b.RecheckRefusal(ctx, m, err))
		}
	}
	if hostname == nil {
		return m, nil
	}
	return b.restoreHostname(ctx, key, m, *hostname)
}

// dropVanishedNames removes names from an update that MAAS no longer has.
func (b *inPlaceSteps) dropVanishedNames(ctx context.Context, m engine.Machine, former *engine.MachineUpdate) error {
	named := map[string]**string{"zone": &former.Zone, "resource pool": &former.Pool, "domain": &former.Domain}
	for _, n := range b.updater.NamesOf(inplace.NamesIn(*former)) {
		err := b.updater.CheckName(ctx, n)
		_, gone := errors.AsType[*engine.SpecError](err)
		switch {
		case gone:
			b.Log.WarnContext(ctx, "cannot restore the settings of a machine", "name", m.Hostname, "error", err.Error())
			*named[n.Kind] = nil
		case err != nil:
			return err
		}
	}
	return nil
}

// restoreHostname restores the former hostname of a machine.
func (b *inPlaceSteps) restoreHostname(ctx context.Context, key engine.Key, m engine.Machine, hostname string) (engine.Machine, error) {
	after, err := b.updater.UpdateMachine(ctx, inplace.WantedSettings{Key: key, Hostname: hostname, AwaitName: true}, m, engine.MachineUpdate{Hostname: &hostname})
	_, taken := errors.AsType[*engine.SpecError](err)
	switch {
	case taken:
		b.Log.WarnContext(ctx, "cannot restore the hostname of a machine", "name", m.Hostname, "error", err.Error())
		return b.updater.RestoreLastName(ctx, m, inplace.FormerSettingsOf(m)), nil
	case err != nil:
		return m, err
	}
	after.Hostname = hostname
	return after, nil
}
