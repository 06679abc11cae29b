package vm

import (
	"context"
	"fmt"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/compose"
)

// settle changes what MAAS lets one change at any time: marker, description, name, zone,
// pool, domain in one call, then tags.
func (v *Kind) settle(ctx context.Context, key engine.Key, want engine.VMSpec, m engine.Machine, finished bool) (engine.Machine, error) {
	update, after := difference(key, want, m, finished)
	var missing, surplus []string
	for _, tag := range want.Tags {
		if !slices.Contains(m.Tags, tag) {
			missing = append(missing, tag)
		}
	}
	for _, tag := range want.RemovedTags {
		if slices.Contains(m.Tags, tag) && !slices.Contains(want.Tags, tag) {
			surplus = append(surplus, tag)
		}
	}
	if update != (engine.MachineUpdate{}) {
		if m, err := v.update(ctx, key, want, m, update); err != nil {
			return m, err
		}
		m, m.Locked = after, false // MAAS changes no locked one
	}
	for _, tag := range missing {
		if err := v.Machines.Tag(ctx, m.SystemID, tag); err != nil {
			return m, fmt.Errorf("cannot tag %s with %q: %w", m.Hostname, tag, err)
		}
	}
	for _, tag := range surplus {
		if err := v.Machines.Untag(ctx, m.SystemID, tag); err != nil {
			return m, fmt.Errorf("cannot take tag %q off %s: %w", tag, m.Hostname, err)
		}
	}
	m.Tags = slices.DeleteFunc(append(slices.Clone(m.Tags), missing...), func(t string) bool {
		return slices.Contains(surplus, t)
	})
	slices.Sort(m.Tags)
	return m, nil
}

// difference says what Update has to change, and what the machine is after it.
func difference(key engine.Key, want engine.VMSpec, m engine.Machine, finished bool) (engine.MachineUpdate, engine.Machine) {
	var u engine.MachineUpdate
	set := func(field **string, have *string, wanted string) {
		if wanted != "" && wanted != *have {
			*field, *have = &wanted, wanted
		}
	}
	description := m.Description
	if want.Name != "" && want.Name != m.Hostname {
		description = compose.NoteInstanceName(description, m.Hostname)
	}
	if want.Description != nil {
		description = engine.DescriptionWithText(description, *want.Description)
	}
	if undeployed(want, m) {
		description = engine.DescriptionWithInstallation(description, want.Installation)
	}
	set(&u.Description, &m.Description, engine.DescriptionWithMark(description, key, finished))
	set(&u.Zone, &m.Zone, want.Zone)
	set(&u.Pool, &m.Pool, want.Pool)
	set(&u.Domain, &m.Domain, want.Domain)
	set(&u.Hostname, &m.Hostname, want.Name)
	if !finished && want.Deploy.MustDisableSwap(m) {
		u.SwapBytes = new(int64)
		m.SwapBytes = u.SwapBytes
	}
	return u, m
}

// update sends the change of a VM, which is unlocked for it.
func (v *Kind) update(ctx context.Context, key engine.Key, want engine.VMSpec, m engine.Machine, u engine.MachineUpdate) (engine.Machine, error) {
	names := want
	names.Placement = engine.Placement{}
	if u.Zone == nil {
		names.Zone = ""
	}
	if u.Pool == nil {
		names.Pool = ""
	}
	if u.Domain == nil {
		names.Domain = ""
	}
	if err := v.checkNames(ctx, names); err != nil {
		return m, err
	}
	m, err := v.unlockToChange(ctx, want, m)
	if err != nil {
		return m, err
	}
	change := func() error { return v.Machines.Update(ctx, m.SystemID, u) }
	if u.Hostname != nil {
		change = func() error { return v.rename(ctx, key, want, m, u) }
	}
	if err := change(); err != nil {
		return m, fmt.Errorf("cannot change %s: %w", m.Hostname, engine.AsSpecErrors(err))
	}
	if u.Hostname != nil || u.Zone != nil || u.Pool != nil || u.Domain != nil {
		v.Log.InfoContext(ctx, "changed VM", "name", want.Name, "system_id", m.SystemID)
	}
	return m, nil
}
