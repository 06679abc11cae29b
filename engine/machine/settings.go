package machine

import (
	"context"
	"errors"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/inplace"
	"github.com/maaslxd/maaslxd/engine/region"
)

// wantedSettingsOf are the settings that the spec wants of a machine in place.
func wantedSettingsOf(key engine.Key, want engine.MachineSpec) inplace.WantedSettings {
	return inplace.WantedSettings{InPlaceSettings: want.InPlaceSettings, Key: key, Hostname: want.Hostname, AwaitName: want.AwaitName}
}

// waitForHostname turns a *inplace.NameWaitError into a Result that waits.
func waitForHostname(res engine.Result[engine.BareMetal], err error) (engine.Result[engine.BareMetal], error) {
	if wait, waits := errors.AsType[*inplace.NameWaitError](err); waits {
		res.Done, res.After, res.Reason, res.Message, err = false, region.NamePollInterval, "WaitingForName", wait.Error(), nil
	}
	return res, err
}

// reconcileInPlace changes the in-place settings of an existing machine and marks it as
// finished. It locks the machine last: MAAS changes nothing of a locked one. It does not change
// somebody else's machine.
func (b *inPlaceSteps) reconcileInPlace(ctx context.Context, ref engine.Ref, want engine.MachineSpec, res engine.Result[engine.BareMetal]) (engine.Result[engine.BareMetal], error) {
	before, w := res.Object, wantedSettingsOf(ref.CurrentKey(), want)
	finished := ref.Finished || before.Finished
	m, err := before.Machine, error(nil)
	if update, _ := settingsUpdate(w, m); finished && !before.Ours && (update != (engine.MachineUpdate{}) || w.NeedsChange(m)) {
		return res, engine.NotOursError(m, "change")
	}
	for _, step := range []func() error{
		func() error { m, err = b.updateSettings(ctx, w, m); return err },
		func() error { m, err = b.updater.ReconcileAnnotations(ctx, w, m); return err },
		func() error { m, err = b.noteFinished(ctx, ref, want, m, before); return err },
		func() error { m, err = b.updater.ReconcileLock(ctx, w, m); return err },
	} {
		if err = step(); err != nil {
			break
		}
	}
	if err != nil && before.Locked {
		err = b.updater.RelockAfterFailure(ctx, w, m, err)
	}
	res.Object = AsBareMetal(m, ref.CurrentKey())
	return res, err
}

// updateSettings gives a machine its wanted hostname, zone, resource pool, domain, description
// and tags. It first notes the former ones on the machine, for the later release.
func (b *inPlaceSteps) updateSettings(ctx context.Context, w inplace.WantedSettings, m engine.Machine) (engine.Machine, error) {
	update, after := settingsUpdate(w, m)
	changes := update != (engine.MachineUpdate{})
	added, removed := w.MissingTags(m), w.SurplusTags(m)
	if !changes && len(added)+len(removed) == 0 {
		return m, nil
	}
	if err := b.updater.CheckNames(ctx, b.updater.NamesOf(inplace.NamesIn(update))); err != nil {
		return m, err
	}
	note, err := inplace.FormerSettingsOf(m).WithChange(m, update, added, removed).OwnerData()
	if err == nil {
		m, err = b.annotateUnlocked(ctx, w, m, note)
	}
	if err != nil {
		return m, err
	}
	if changes {
		if m, err = b.updater.UpdateMachine(ctx, w, m, update); err != nil {
			return m, err
		}
		after.OwnerData, after.Locked = m.OwnerData, m.Locked
		m = after
	}
	return b.updater.ReconcileTags(ctx, w, m)
}

// settingsUpdate returns the fields that an update must change, and the machine after it.
func settingsUpdate(w inplace.WantedSettings, m engine.Machine) (engine.MachineUpdate, engine.Machine) {
	var u engine.MachineUpdate
	set := func(field **string, have *string, wanted string) {
		if wanted != "" && wanted != *have {
			*field, *have = &wanted, wanted
		}
	}
	set(&u.Hostname, &m.Hostname, w.Hostname)
	set(&u.Zone, &m.Zone, w.Zone)
	set(&u.Pool, &m.Pool, w.Pool)
	set(&u.Domain, &m.Domain, w.Domain)
	if u.Hostname != nil || u.Domain != nil {
		m = m.WithHostname(m.Hostname)
	}
	if w.Description != nil {
		if text := engine.DescriptionWithText(m.Description, *w.Description); text != m.Description {
			u.Description, m.Description = &text, text
		}
	}
	return u, m
}

// annotateUnlocked sets owner data that differ, and unlocks the machine for that.
func (b *inPlaceSteps) annotateUnlocked(ctx context.Context, w inplace.WantedSettings, m engine.Machine, data map[string]string) (engine.Machine, error) {
	for key, value := range data {
		if m.OwnerData[key] == value {
			continue
		}
		m, err := b.updater.UnlockForChange(ctx, w, m)
		if err != nil {
			return m, err
		}
		return b.Annotate(ctx, m, data)
	}
	return m, nil
}
