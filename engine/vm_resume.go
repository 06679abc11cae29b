package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// resume goes on with a VM that an earlier run began for this key.
func (v *vms) resume(ctx context.Context, ref Ref, want VMSpec, m Machine) (Result[VM], error) {
	if seenAs(m, ref.Key).Finished {
		if wait := v.waitForName(ref.Key, want, m); wait != nil {
			return Result[VM]{}, wait
		}
		return Result[VM]{}, known(want.Name, m)
	}
	begun, err := v.placed(ctx, want, m)
	if err != nil {
		return result(ref.Key, m), err
	}
	if field, had, wanted := begunOtherwise(want, begun); field != "" {
		return Result[VM]{}, &SpecError{
			Field:   field,
			Message: fmt.Sprintf("an earlier run began the VM %s (system id %s) with %s, and now it is to be %s", want.Name, m.SystemID, had, wanted),
			Hint:    fmt.Sprintf("Apply once with the former value, and then with this one; or delete machine %s in MAAS and apply again.", m.SystemID),
			Err:     ErrConflict,
		}
	}
	return v.converge(ctx, ref, want, m)
}

// placed names the host of a VM where MAAS does not, and as the spec does where
// that is by the system id of its machine.
func (v *vms) placed(ctx context.Context, want VMSpec, m Machine) (Machine, error) {
	if want.Host == "" || m.HostID != 0 && m.on(want.Host) {
		return m, nil
	}
	host, err := v.hostOf(ctx, m)
	if err != nil {
		return m, err
	}
	m.HostName = host.Name
	if host.MachineID == want.Host {
		m.HostName = want.Host
	}
	return m, nil
}

// on tells whether this is the name or the id of the VM host that it runs on.
func (m Machine) on(host string) bool { return host == m.HostName || host == fmt.Sprint(m.HostID) }

// MemoryBlockMiB is by how much the memory that a VM reports may differ from
// what it was given: what commissioning finds is counted in Linux's memory
// blocks, 128 MiB on x86.
const MemoryBlockMiB = 128

// begunOtherwise compares what cannot be changed any more, as far as MAAS
// shows it, and says what differs; an empty field if nothing does.
func begunOtherwise(want VMSpec, m Machine) (field, had, wanted string) {
	cores := max(want.Cores, len(want.PinnedCores))
	switch {
	case want.Host != "" && !m.on(want.Host):
		return "vm_host", "VM host " + m.HostName, want.Host
	case m.Cores != 0 && m.Cores != cores:
		return "cores", fmt.Sprintf("%d cores", m.Cores), fmt.Sprint(cores)
	case m.MemoryMiB != 0 && (m.MemoryMiB > want.MemoryMiB || m.MemoryMiB <= want.MemoryMiB-MemoryBlockMiB):
		return "memory_mib", fmt.Sprintf("%d MiB of memory", m.MemoryMiB), fmt.Sprint(want.MemoryMiB)
	case len(want.Interfaces) > 0 && len(want.Interfaces) != len(m.Interfaces):
		return "interfaces", fmt.Sprintf("%d interfaces", len(m.Interfaces)), fmt.Sprint(len(want.Interfaces))
	case m.Image != "" && want.Deploy == nil:
		return "deploy", m.Image + " installed", "left Ready"
	case m.Image != "" && want.Deploy.Image != "" && m.Image != want.Deploy.Image && !strings.HasSuffix(m.Image, "/"+want.Deploy.Image):
		return "deploy.image", m.Image, want.Deploy.Image
	}
	var sizes, wishes []int64
	for _, d := range m.Disks {
		sizes = append(sizes, d.SizeGB)
	}
	for _, d := range want.Disks {
		wishes = append(wishes, d.SizeGB)
	}
	// Of a VM that was enlisted, MAAS knows the disks by commissioning it.
	if len(sizes) > 0 && !slices.Equal(sizes, wishes) {
		return "disks", fmt.Sprintf("disks of %d GB", sizes), fmt.Sprint(wishes)
	}
	return "", "", ""
}
