package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// known goes on with a VM host whose inventory is there: it must be the wanted
// machine's, then it is set as wanted, then it is finished.
func (h *hosts) known(ctx context.Context, ref Ref, want HostSpec, m Machine, record VMHost) (Result[Host], error) {
	switch {
	case m.SystemID == "":
		var err error
		if m, err = h.Machines.Machine(ctx, record.MachineID); err != nil {
			return waiting(ref.Key, Machine{}, record, "", ""), fmt.Errorf("cannot read the machine of VM host %s: %w", record.Name, err)
		}
		if owner := m.OwnerData[keyData]; owner != "" && Key(owner) != ref.Key {
			return waiting(ref.Key, Machine{}, record, "", ""), strange(m, "register")
		}
	case record.MachineID != m.SystemID:
		return waiting(ref.Key, m, record, "", ""), &Refusal{
			Message: fmt.Sprintf("the LXD that MAAS registered as %s runs on machine %s, and not on %s", record.Name, record.MachineID, m.Hostname),
			Hint:    "Another machine answers at its address: see the addresses and the MACs of both in MAAS.", Err: ErrConflict,
		}
	}
	res := waiting(ref.Key, m, record, "Settling", "")
	server, err := h.recognize(ctx, ref, want, m, record)
	if err != nil {
		return res, err
	}
	if m, err = h.handOver(ctx, want, record, m); err != nil {
		return res, err
	}
	if !metalAs(m, ref.Key).Finished { // it may have been removed a moment ago, and is a host again
		if err := h.Ledger.OpenHost(ctx, record.HostKey, ""); err != nil {
			return res, err
		}
	}
	memory := h.memory(ref.Key, want, record, m)
	memory[serverData] = server
	if m, err = h.annotate(ctx, m, memory); err != nil {
		return res, err
	}
	if m, err = h.tagged(ctx, m); err != nil {
		return res, err
	}
	if record, err = h.settle(ctx, ref.Key, want, record); err != nil {
		return res, err
	}
	if m, err = h.annotate(ctx, m, h.end(ref, want, m)); err != nil {
		return res, err
	}
	h.names.left(m.SystemID, ref.Key, h.Now())
	h.looks.forget(ref.Key)
	h.absences.forget(ref.Key)
	res = waiting(ref.now(), m, record, "Ready", "")
	res.Done, res.After = true, 0
	return res, nil
}

// tagged puts the tag of hosts on the machine.
func (h *hosts) tagged(ctx context.Context, m Machine) (Machine, error) {
	if slices.Contains(m.Tags, HostTag) {
		return m, nil
	}
	if err := h.Machines.Tag(ctx, m.SystemID, HostTag); err != nil {
		return m, fmt.Errorf("cannot tag %s with %q: %w", m.Hostname, HostTag, err)
	}
	m.Tags = append(slices.Clone(m.Tags), HostTag)
	slices.Sort(m.Tags)
	return m, nil
}

// untagged takes it off a machine that is none any more.
func (h *hosts) untagged(ctx context.Context, m Machine) error {
	if !slices.Contains(m.Tags, HostTag) {
		return nil
	}
	if err := h.Machines.Untag(ctx, m.SystemID, HostTag); err != nil && !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("cannot take tag %q off %s: %w", HostTag, m.Hostname, err)
	}
	return nil
}

// endState is the state that a machine ends in. What it once was it stays:
// whether it is released some day depends on who installed it, and not on how
// the spec is written by then.
func (m Machine) endState(wanted string) string {
	switch m.OwnerData[stateData] {
	case stateAdopting, stateAdopted:
		return stateAdopted
	case stateFinished:
		return stateFinished
	default:
		return wanted
	}
}

// finishedState: an LXD that runs already is adopted with the machine that it
// runs on.
func finishedState(want HostSpec) string {
	if want.Address != "" {
		return stateAdopted
	}
	return want.Machine.finishedState()
}

func begunState(want HostSpec) string {
	if want.Address != "" {
		return stateAdopting
	}
	return want.Machine.begunState()
}

func (h *hosts) checkHostNames(ctx context.Context, want HostSpec) error {
	return errors.Join(
		checkName(ctx, h.Names, "zone", "zone", want.Zone, h.Names.Zones),
		checkName(ctx, h.Names, "pool", "resource pool", want.Pool, h.Names.Pools),
	)
}

// settle changes what differs: in one call what needs one, which makes MAAS
// list the instances anew and so must not run beside a compose; then tags.
func (h *hosts) settle(ctx context.Context, key Key, want HostSpec, record VMHost) (VMHost, error) {
	update, after, err := hostDifference(want, record)
	if err != nil {
		return record, err
	}
	if update != (HostUpdate{}) {
		if err := h.update(ctx, record, update); err != nil {
			return record, err
		}
		record = after
	}
	surplus := append(slices.Clone(want.RemovedTags), marker(key))
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
				return record, fmt.Errorf("cannot take tag %q off VM host %s: %w", tag, record.Name, err)
			}
		}
	}
	record.Tags = want.tags(key, record)
	return record, nil
}

// hostDifference says what UpdateHost has to change, and what the VM host is
// after it.
func hostDifference(want HostSpec, have VMHost) (HostUpdate, VMHost, error) {
	var u HostUpdate
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
		return u, have, unknown("default_storage_pool", "storage pool on VM host "+have.Name, want.DefaultStoragePool, names)
	}
	for n := range have.StoragePools {
		if u.DefaultStoragePool != nil {
			have.StoragePools[n].Default = have.StoragePools[n].Name == want.DefaultStoragePool
		}
	}
	return u, have, nil
}

// update changes the record while nothing is being composed on the host.
func (h *hosts) update(ctx context.Context, record VMHost, u HostUpdate) error {
	quiet, err := h.quiet(ctx, h.locks, record, "")
	if err != nil {
		return err
	}
	defer quiet.end()
	if err := quiet.do(func(ctx context.Context) error { return h.Registrar.UpdateHost(ctx, record, u) }); err != nil {
		return fmt.Errorf("cannot change VM host %s: %w", record.Name, refusedHost(err))
	}
	h.Log.InfoContext(ctx, "changed VM host", "name", record.Name, "id", record.ID)
	return nil
}
