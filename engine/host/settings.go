package host

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/machine"
)

// reconcileVMHost continues with a VM host whose inventory is there. It checks that the VM host
// is on the wanted machine, applies its settings, and finishes it.
func (h *registrationSteps) reconcileVMHost(ctx context.Context, ref engine.Ref, want engine.HostSpec, m engine.Machine, record engine.VMHost) (engine.Result[engine.Host], error) {
	m, err := h.machineOfVMHost(ctx, ref.Key, m, record)
	if err != nil {
		return waitingResult(ref.Key, m, record, "", ""), err
	}
	res := waitingResult(ref.Key, m, record, "Settling", "")
	server, err := h.checkServer(ctx, ref, want, m, record)
	if err != nil {
		return res, err
	}
	if m, err = h.handOverCredentials(ctx, want, record, m); err != nil {
		return res, err
	}
	if !machine.AsBareMetal(m, ref.Key).Finished { // it may have been removed just now, and become a host again
		if err := h.Ledger.OpenHost(ctx, record.HostKey, ""); err != nil {
			return res, err
		}
	}
	if m, err = h.noteRecord(ctx, ref, want, record, m, server); err != nil {
		return res, err
	}
	return h.finishVMHost(ctx, ref, want, m, record)
}

// finishVMHost applies what MAAS keeps of a VM host, and finishes it.
func (h *registrationSteps) finishVMHost(ctx context.Context, ref engine.Ref, want engine.HostSpec, m engine.Machine, record engine.VMHost) (engine.Result[engine.Host], error) {
	res := waitingResult(ref.Key, m, record, "Settling", "")
	m, err := h.addHostTag(ctx, m)
	if err != nil {
		return res, err
	}
	if record, err = h.updateSettings(ctx, ref.Key, want, record); err != nil {
		return res, err
	}
	if m, err = h.Annotate(ctx, m, h.finishedData(ref, want, m)); err != nil {
		return res, err
	}
	h.region.LeavingNames.NoteLeft(m.SystemID, ref.Key, h.Now())
	h.inventoryLooks.Forget(ref.Key)
	h.silentLXDLooks.Forget(ref.Key)
	res = waitingResult(ref.CurrentKey(), m, record, "Ready", "")
	res.Done, res.After = true, 0
	return res, nil
}

// machineOfVMHost is the machine that the LXD of a VM host runs on: m, if m is known.
func (h *registrationSteps) machineOfVMHost(ctx context.Context, key engine.Key, m engine.Machine, record engine.VMHost) (engine.Machine, error) {
	switch {
	case m.SystemID == "":
		below, err := h.readMachineOf(ctx, key, record)
		if err != nil {
			return engine.Machine{}, err
		}
		return below, nil
	case record.MachineID != m.SystemID:
		return m, &engine.Refusal{
			Message: fmt.Sprintf("the LXD that MAAS registered as %s runs on machine %s, not on %s", record.Name, record.MachineID, m.Hostname),
			Hint:    "Another machine answers at its address. Compare the addresses and the MACs of both in MAAS.", Err: engine.ErrConflict,
		}
	}
	return m, nil
}

// addHostTag puts the tag of hosts on the machine.
func (h *stepBase) addHostTag(ctx context.Context, m engine.Machine) (engine.Machine, error) {
	if slices.Contains(m.Tags, engine.HostTag) {
		return m, nil
	}
	if err := h.Machines.Tag(ctx, m.SystemID, engine.HostTag); err != nil {
		return m, fmt.Errorf("cannot tag %s with %q: %w", m.Hostname, engine.HostTag, err)
	}
	m.Tags = append(slices.Clone(m.Tags), engine.HostTag)
	slices.Sort(m.Tags)
	return m, nil
}

// removeHostTag removes the tag from a machine that is no host any more.
func (h *stepBase) removeHostTag(ctx context.Context, m engine.Machine) error {
	if !slices.Contains(m.Tags, engine.HostTag) {
		return nil
	}
	if err := h.Machines.Untag(ctx, m.SystemID, engine.HostTag); err != nil && !errors.Is(err, engine.ErrNotFound) {
		return fmt.Errorf("cannot remove tag %q from %s: %w", engine.HostTag, m.Hostname, err)
	}
	return nil
}

// finalState is the state that a machine ends in. A former final state stays: who installed the
// machine decides whether it is released some day, not the present spec.
func finalState(m engine.Machine, wanted string) string {
	switch m.OwnerData[engine.StateData] {
	case engine.StateAdopting, engine.StateAdopted:
		return engine.StateAdopted
	case engine.StateFinished:
		return engine.StateFinished
	default:
		return wanted
	}
}

// finishedState is the state of a finished host. An existing LXD is adopted with the machine
// that it runs on.
func finishedState(want engine.HostSpec) string {
	if want.Address != "" {
		return engine.StateAdopted
	}
	return want.Machine.FinishedState()
}

func initialState(want engine.HostSpec) string {
	if want.Address != "" {
		return engine.StateAdopting
	}
	return want.Machine.UnfinishedState()
}

func (h *stepBase) checkZoneAndPool(ctx context.Context, want engine.HostSpec) error {
	return errors.Join(
		engine.CheckName(ctx, h.Names, fieldpath.New("zone"), "zone", want.Zone, h.Names.Zones),
		engine.CheckName(ctx, h.Names, fieldpath.New("pool"), "resource pool", want.Pool, h.Names.Pools),
	)
}

// updateSettings changes what differs. One call changes the record; it makes MAAS list the
// instances anew, so it must not run beside a compose. The tags follow.
func (h *registrationSteps) updateSettings(ctx context.Context, key engine.Key, want engine.HostSpec, record engine.VMHost) (engine.VMHost, error) {
	update, after, err := vmHostUpdate(want, record)
	if err != nil {
		return record, err
	}
	if update != (engine.HostUpdate{}) {
		if err := h.updateVMHost(ctx, record, update); err != nil {
			return record, err
		}
		record = after
	}
	surplus := append(slices.Clone(want.RemovedTags), engine.MarkerOf(key))
	for _, tag := range want.Tags {
		if !slices.Contains(record.Tags, tag) {
			if err := h.Registrar.TagHost(ctx, record, tag); err != nil {
				return record, fmt.Errorf("cannot tag VM host %s with %q: %w", record.Name, tag, err)
			}
		}
	}
	for _, tag := range surplus {
		if slices.Contains(record.Tags, tag) && !slices.Contains(want.Tags, tag) {
			if err := h.Registrar.UntagHost(ctx, record, tag); err != nil {
				return record, fmt.Errorf("cannot remove tag %q from VM host %s: %w", tag, record.Name, err)
			}
		}
	}
	record.Tags = finalTagsOf(want, key, record)
	return record, nil
}

// vmHostUpdate returns the fields that UpdateHost must change, and the VM host after it.
func vmHostUpdate(want engine.HostSpec, have engine.VMHost) (engine.HostUpdate, engine.VMHost, error) {
	var u engine.HostUpdate
	text := func(field **string, have *string, wanted string) {
		if wanted != "" && wanted != *have {
			*field, *have = &wanted, wanted
		}
	}
	number := func(field **float64, have *float64, wanted float64) {
		if wanted != 0 && wanted != *have {
			*field, *have = &wanted, wanted
		}
	}
	text(&u.Name, &have.Name, want.Name)
	text(&u.Zone, &have.Zone, want.Zone)
	text(&u.Pool, &have.Pool, want.Pool)
	number(&u.CPUOvercommit, &have.CPUOvercommit, want.CPUOvercommit)
	number(&u.MemoryOvercommit, &have.MemoryOvercommit, want.MemoryOvercommit)
	have.StoragePools = slices.Clone(have.StoragePools)
	names := make([]string, len(have.StoragePools))
	for n := range have.StoragePools {
		p := &have.StoragePools[n]
		names[n] = p.Name
		if p.Name == want.DefaultStoragePool && !p.Default {
			u.DefaultStoragePool = &want.DefaultStoragePool
		}
	}
	if want.DefaultStoragePool != "" && !slices.Contains(names, want.DefaultStoragePool) {
		return u, have, engine.NoStoragePoolError(fieldpath.New("default_storage_pool"), have.Name, want.DefaultStoragePool, names)
	}
	for n := range have.StoragePools {
		if u.DefaultStoragePool != nil {
			have.StoragePools[n].Default = have.StoragePools[n].Name == want.DefaultStoragePool
		}
	}
	return u, have, nil
}

// updateVMHost changes the record while nothing is being composed on the host.
func (h *stepBase) updateVMHost(ctx context.Context, record engine.VMHost, u engine.HostUpdate) error {
	closed, err := h.region.CloseHost(ctx, h.Config, record, "")
	if err != nil {
		return err
	}
	defer closed.End()
	if err := closed.AskMAAS(func(ctx context.Context) error { return h.Registrar.UpdateHost(ctx, record, u) }); err != nil {
		return fmt.Errorf("cannot change VM host %s: %w", record.Name, hostSpecErrors(err))
	}
	h.Log.InfoContext(ctx, "changed VM host", "name", record.Name, "id", record.ID)
	return nil
}
