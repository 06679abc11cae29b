package compose

import (
	"context"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
)

// LeavingVM is a VM that is deleted before another one is made in its place. Its room counts as
// free. The zero value frees nothing.
type LeavingVM struct {
	hostKey string
	machine engine.Machine
}

// FindLeavingVM finds the room of a VM by its system id. It is the zero value for an empty id,
// and if the room cannot be read: it may be free later.
func (f *Finder) FindLeavingVM(ctx context.Context, systemID string) LeavingVM {
	if systemID == "" {
		return LeavingVM{}
	}
	m, err := f.Machines.Machine(ctx, systemID)
	if err != nil {
		return LeavingVM{}
	}
	on, err := f.Composer.HostOf(ctx, m)
	if err != nil {
		return LeavingVM{}
	}
	return LeavingVM{hostKey: on.HostKey, machine: f.Composer.CompleteMachine(ctx, m)}
}

// FreeRoomOn is the host as it will be when the VM is gone.
func (l LeavingVM) FreeRoomOn(host engine.VMHost) engine.VMHost {
	if l.hostKey == "" || host.HostKey != l.hostKey {
		return host
	}
	m := l.machine
	host.Cores.Used -= int64(m.Cores)
	host.MemoryMiB.Used -= m.MemoryMiB
	if m.HugePages {
		host.HugePagesMiB.Used -= m.MemoryMiB
	}
	host.StoragePools = slices.Clone(host.StoragePools)
	for _, d := range m.Disks {
		for n, p := range host.StoragePools {
			if p.Name == d.Pool || d.Pool == "" && p.Default {
				host.StoragePools[n].AvailableBytes += d.SizeGB * 1e9
			}
		}
	}
	return host
}
