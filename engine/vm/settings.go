package vm

import (
	"context"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/compose"
	"github.com/maaslxd/maaslxd/engine/inplace"
)

// updateSettings changes the settings that MAAS can change at any time. Marker, description,
// name, zone, pool and domain take one call; the tags follow.
func (v *Kind) updateSettings(ctx context.Context, key engine.Key, want engine.VMSpec, m engine.Machine, finished bool) (engine.Machine, error) {
	update, after := settingsUpdate(key, want, m, finished)
	if update != (engine.MachineUpdate{}) {
		if m, err := v.updater.UpdateMachine(ctx, wantedSettingsOf(key, want), m, update); err != nil {
			return m, err
		}
		m, m.Locked = after, false // MAAS changes no locked machine
	}
	return v.updater.ReconcileTags(ctx, wantedSettingsOf(key, want), m)
}

// wantedSettingsOf are the settings that the spec wants of a VM in place.
func wantedSettingsOf(key engine.Key, want engine.VMSpec) inplace.WantedSettings {
	return inplace.WantedSettings{InPlaceSettings: want.InPlaceSettings(), Key: key, Hostname: want.Name, AwaitName: want.AwaitName}
}

// settingsUpdate returns the fields that Update must change, and the machine after it.
func settingsUpdate(key engine.Key, want engine.VMSpec, m engine.Machine, finished bool) (engine.MachineUpdate, engine.Machine) {
	var u engine.MachineUpdate
	set := func(field **string, have *string, wanted string) {
		if wanted != "" && wanted != *have {
			*field, *have = &wanted, wanted
		}
	}
	description := m.Description
	if want.Name != "" && want.Name != m.Hostname {
		description = compose.NoteInstanceName(description, m)
	}
	if want.Description != nil {
		description = engine.DescriptionWithText(description, *want.Description)
	}
	if needsInstallation(want, m) {
		description = engine.DescriptionWithInstallation(description, want.Installation)
	}
	if !finished && (engine.WasFinishedOnce(m) || want.Installation != "" && m.Status == engine.StatusDeployed) {
		description = engine.DescriptionWithFinishedOnce(description)
	}
	set(&u.Description, &m.Description, engine.DescriptionWithMark(description, key, finished))
	set(&u.Zone, &m.Zone, want.Zone)
	set(&u.Pool, &m.Pool, want.Pool)
	set(&u.Domain, &m.Domain, want.Domain)
	set(&u.Hostname, &m.Hostname, want.Name)
	if u.Hostname != nil || u.Domain != nil {
		m = m.WithHostname(m.Hostname)
	}
	if !finished && want.Deploy.MustDisableSwap(m) {
		u.SwapBytes = new(int64)
		m.SwapBytes = u.SwapBytes
	}
	return u, m
}
