package compose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/placement"
)

// checkHostWithRefresh checks profile, options, devices and size against the host. If room
// seems to be missing, it checks once more with a fresh list: VMs may just have gone. It
// returns the host as it was last seen.
func (f *Finder) checkHostWithRefresh(ctx context.Context, host engine.VMHost, want engine.VMSpec) (engine.VMHost, error) {
	err := cmp.Or(host.CheckInstance(want), CheckRoom(host, want), CheckPoolRoom(host, want.Disks))
	var short *engine.Error
	if !errors.As(err, &short) {
		return host, err
	}
	f.Names.Refresh(engine.ListHosts)
	if host, err = f.FindHost(ctx, want.Host); err != nil {
		return host, err
	}
	return host, cmp.Or(host.CheckInstance(want), CheckRoom(host, want), CheckPoolRoom(host, want.Disks))
}

// CheckRoom says why a VM does not fit on a host. The error is an *engine.SpecError if the VM
// is larger than the host, and an *engine.Error, InsufficientResources, if others have the
// room. Unknown sizes in the spec count as the smallest possible ones.
func CheckRoom(h engine.VMHost, want engine.VMSpec) error {
	return misfitError(h, placement.Need{
		Cores: max(1, want.Cores), PinnedCores: want.PinnedCores, MemoryMiB: max(1, want.MemoryMiB),
		HugePages: want.HugePages && h.HasHugePages(), // if unknown, only its LXD can refuse the VM
	}, nil)
}

// CheckPoolRoom is CheckRoom for disks in the storage pools of a host. If no default pool is
// known, MAAS decides about disks that name none.
func CheckPoolRoom(h engine.VMHost, disks []engine.Disk) error {
	known := slices.ContainsFunc(h.StoragePools, func(p engine.StoragePool) bool { return p.Default })
	disks = slices.DeleteFunc(slices.Clone(disks), func(d engine.Disk) bool { return d.Pool == "" && !known })
	h.Cores, h.MemoryMiB, h.CPUOvercommit, h.MemoryOvercommit = engine.Amount{Total: 1}, engine.Amount{Total: 1}, 1, 1
	return misfitError(h, placement.Need{Cores: 1, MemoryMiB: 1, Disks: engine.PlacementDisks(disks)}, disks)
}

// misfitError asks placement whether the need fits on the one host. If not, its error names the
// field of the spec that does not fit.
func misfitError(h engine.VMHost, need placement.Need, disks []engine.Disk) error {
	host := h.PlacementHost()
	host.NeverReached, host.UnusableReason = false, "" // other errors report these
	_, err := placement.FindCandidates([]placement.Host{host}, need)
	var misfit *placement.FitError
	if !errors.As(err, &misfit) {
		return engine.PlacementError("the VM", err)
	}
	why := misfit.Rejections()[0]
	lack := why.Shortage
	tooSmall := why.Reason == placement.TooSmall && lack.Needed > lack.Total // otherwise a higher ratio would help
	switch lack.Resource {
	case placement.Storage:
		return poolError(h, why.Reason, lack, disks)
	case placement.PinnedCores:
		return &engine.SpecError{
			Field: fieldpath.New("pinned_cores"), Message: fmt.Sprintf("VM host %s has no core %d", h.Name, lack.Needed),
			Hint: fmt.Sprintf("Its cores are 0 to %d.", lack.Total-1),
		}
	case placement.Cores:
		return roomError(h, lack, tooSmall, fieldpath.New("cores"), "cores", "cores")
	case placement.Memory:
		return roomError(h, lack, tooSmall, fieldpath.New("memory_mib"), "MiB", "MiB of memory")
	case placement.HugePages:
		return roomError(h, lack, tooSmall, fieldpath.New("memory_mib"), "MiB of huge pages", "MiB of huge pages")
	}
	return engine.PlacementError("the VM", err)
}

// roomError says that a host has too little of a resource, for ever or for now.
func roomError(h engine.VMHost, lack placement.Shortage, tooSmall bool, field fieldpath.Path, unit, what string) error {
	if tooSmall {
		return &engine.SpecError{
			Field:   field,
			Message: fmt.Sprintf("%d %s are more than the %d that VM host %s has", lack.Needed, unit, lack.Total, h.Name),
			Hint:    "A single VM cannot be larger than its host, whatever the over-commit ratio.",
		}
	}
	return &engine.Error{
		Type: engine.InsufficientResources, Host: h.Name,
		Message: fmt.Sprintf("the VM needs %d %s, but only %d are left", lack.Needed, what, lack.Free),
		Hint:    "Choose another VM host, make the VM smaller, or raise the host's over-commit ratio.",
	}
}

// poolError says that a host lacks a storage pool, or that the pool has no room for the disks.
// If an empty pool had the room, the shortage is only for now.
func poolError(h engine.VMHost, why placement.Reason, lack placement.Shortage, disks []engine.Disk) error {
	disk := largestDiskInPool(h, lack.StoragePool, disks)
	if why == placement.NoStoragePool {
		names := make([]string, len(h.StoragePools))
		for n, p := range h.StoragePools {
			names[n] = p.Name
		}
		return engine.NoStoragePoolError(fieldpath.New("disks").Key(disk).Child("pool"), h.Name, lack.StoragePool, names)
	}
	const hint = "Make the disks smaller, or use another pool or host."
	message := fmt.Sprintf("the disks need %d GB of storage pool %q on VM host %s, which has %d GB left", lack.Needed, lack.StoragePool, h.Name, lack.Free)
	if why == placement.TooSmall {
		return &engine.SpecError{Field: fieldpath.New("disks").Key(disk).Child("size_gb"), Message: message, Hint: hint}
	}
	return &engine.Error{Type: engine.InsufficientResources, Host: h.Name, Message: message, Hint: hint}
}

// largestDiskInPool names the largest of the disks in a storage pool, the last one among
// equals.
func largestDiskInPool(h engine.VMHost, pool string, disks []engine.Disk) string {
	isDefault := slices.ContainsFunc(h.StoragePools, func(p engine.StoragePool) bool { return p.Name == pool && p.Default })
	var largest engine.Disk
	for _, d := range disks {
		if (d.Pool == pool || d.Pool == "" && isDefault) && d.SizeGB >= largest.SizeGB {
			largest = d
		}
	}
	return largest.Name
}
