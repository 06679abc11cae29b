package machine

import (
	"context"
	"errors"
	"fmt"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/settle"
)

// restoreSettings gives a machine that is to be released the hostname, zone, resource pool, domain
// and description that it had when it was taken, where nobody else has changed them since,
// and the tags. What MAAS does not have any more, and a hostname that another
// machine has by now, is left as it is. The error is a *settle.NameWait while another
// machine is about to leave the hostname.
func (b *inPlaceSteps) restoreSettings(ctx context.Context, key engine.Key, m engine.Machine) (engine.Machine, error) {
	before := settle.FormerSettingsOf(m)
	m, err := b.settler.ReconcileTags(ctx, settle.WantedSettings{InPlaceSettings: engine.InPlaceSettings{Tags: before.RemovedTags, RemovedTags: before.AddedTags}}, m)
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
			return m, fmt.Errorf("cannot give %s back as it was: %w", m.Hostname, b.RecheckRefusal(ctx, m, err))
		}
	}
	if hostname == nil {
		return m, nil
	}
	return b.restoreHostname(ctx, key, m, *hostname)
}

// dropVanishedNames leaves names out of an update that MAAS does not have any more.
func (b *inPlaceSteps) dropVanishedNames(ctx context.Context, m engine.Machine, former *engine.MachineUpdate) error {
	named := map[string]**string{"zone": &former.Zone, "resource pool": &former.Pool, "domain": &former.Domain}
	for _, n := range b.settler.NamesOf(settle.NamesIn(*former)) {
		err := b.settler.CheckName(ctx, n)
		_, gone := errors.AsType[*engine.SpecError](err)
		switch {
		case gone:
			b.Log.WarnContext(ctx, "cannot give a machine back as it was", "name", m.Hostname, "error", err.Error())
			*named[n.Kind] = nil
		case err != nil:
			return err
		}
	}
	return nil
}

// restoreHostname gives a machine the hostname that it had.
func (b *inPlaceSteps) restoreHostname(ctx context.Context, key engine.Key, m engine.Machine, hostname string) (engine.Machine, error) {
	after, err := b.settler.UpdateMachine(ctx, settle.WantedSettings{Key: key, Hostname: hostname, AwaitName: true}, m, engine.MachineUpdate{Hostname: &hostname})
	_, taken := errors.AsType[*engine.SpecError](err)
	switch {
	case taken:
		b.Log.WarnContext(ctx, "cannot give a machine its former hostname back", "name", m.Hostname, "error", err.Error())
		return b.settler.RestoreLastName(ctx, m, settle.FormerSettingsOf(m)), nil
	case err != nil:
		return m, err
	}
	after.Hostname = hostname
	return after, nil
}
