package compose

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
)

// LeavingVM is a VM that is deleted before another one is made in its place. Its room counts as
// free. The zero value frees nothing.
type LeavingVM struct {
	hostKey string
	machine engine.Machine
}

// FindLeavingVM finds the room of a VM by its system id. It is the zero value for an empty id, and
// for a VM that is gone or on no VM host.
func (f *Finder) FindLeavingVM(ctx context.Context, systemID string) (LeavingVM, error) {
	if systemID == "" {
		return LeavingVM{}, nil
	}
	m, err := f.Machines.Machine(ctx, systemID)
	if errors.Is(err, engine.ErrNotFound) {
		return LeavingVM{}, nil
	}
	if err != nil {
		return LeavingVM{}, fmt.Errorf("cannot read the VM %s: %w", systemID, err)
	}
	on, err := f.HostOf(ctx, m)
	if errors.Is(err, engine.ErrConflict) || errors.Is(err, engine.ErrNotFound) {
		return LeavingVM{}, nil
	}
	if err != nil {
		return LeavingVM{}, err
	}
	return LeavingVM{hostKey: on.HostKey, machine: f.Composer.CompleteMachine(ctx, m)}, nil
}

// HostWithoutVM is the host as it will be when the VM is gone.
func (l LeavingVM) HostWithoutVM(host engine.VMHost) engine.VMHost {
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
