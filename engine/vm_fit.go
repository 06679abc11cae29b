package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// fits checks the profile and the size against the host, once more on a fresh
// list if there seems to be no room: VMs may just have gone. It returns the host as it was
// seen last.
func (v *vms) fits(ctx context.Context, host VMHost, want VMSpec) (VMHost, error) {
	err := cmp.Or(host.CheckProfile(want.Profile), fits(host, want), fitsPools(host, want.Disks))
	var short *Error
	if !errors.As(err, &short) {
		return host, err
	}
	v.Names.Refresh(ListHosts)
	if host, err = v.host(ctx, want.Host); err != nil {
		return host, err
	}
	return host, cmp.Or(host.CheckProfile(want.Profile), fits(host, want), fitsPools(host, want.Disks))
}

func fits(h VMHost, want VMSpec) error {
	cores := want.need().Cores
	switch {
	case cores > h.Cores.Total:
		return beyond("cores", cores, h.Cores.Total, "cores", h.Name)
	case want.MemoryMiB > h.MemoryMiB.Total:
		return beyond("memory_mib", want.MemoryMiB, h.MemoryMiB.Total, "MiB", h.Name)
	}
	for _, core := range want.PinnedCores {
		if core < 0 || int64(core) >= h.Cores.Total {
			return &SpecError{
				Field: "pinned_cores", Message: fmt.Sprintf("VM host %s has no core %d", h.Name, core),
				Hint: fmt.Sprintf("Its cores are 0 to %d.", h.Cores.Total-1),
			}
		}
	}
	if err := room(h, "cores", cores, h.Cores, h.CPUOvercommit); err != nil {
		return err
	}
	if want.HugePages && h.tellsHugePages() {
		if err := room(h, "MiB of huge pages", want.MemoryMiB, h.HugePagesMiB, 1); err != nil {
			return err
		}
	}
	return room(h, "MiB of memory", want.MemoryMiB, h.MemoryMiB, h.MemoryOvercommit)
}

func beyond(field string, want, total int64, unit, host string) error {
	return &SpecError{
		Field:   field,
		Message: fmt.Sprintf("%d %s are more than the %d that VM host %s has", want, unit, total, host),
		Hint:    "A single VM cannot be larger than its host, whatever the over-commit ratio.",
	}
}

// room checks what is left of a resource after over-commit.
func room(h VMHost, what string, want int64, a Amount, ratio float64) error {
	left := a.left(ratio)
	if want <= left {
		return nil
	}
	return &Error{
		Type: InsufficientResources, Host: h.Name,
		Message: fmt.Sprintf("%d %s wanted, %d left", want, what, max(0, left)),
		Hint:    "Choose another VM host, make the VM smaller, or raise the host's over-commit ratio.",
	}
}

func fitsPools(h VMHost, disks []Disk) error {
	wanted := map[string]int64{}
	for _, d := range disks {
		i := slices.IndexFunc(h.StoragePools, func(p StoragePool) bool {
			return p.Name == d.Pool || d.Pool == "" && p.Default
		})
		if i < 0 && d.Pool == "" {
			continue // no default known: MAAS decides
		}
		if i < 0 {
			names := make([]string, len(h.StoragePools))
			for n, p := range h.StoragePools {
				names[n] = p.Name
			}
			return unknown("disks."+d.Name+".pool", "storage pool on VM host "+h.Name, d.Pool, names)
		}
		pool := h.StoragePools[i]
		wanted[pool.Name] += d.SizeGB
		if wanted[pool.Name]*1e9 > pool.AvailableBytes {
			return poolShort(h, pool, "disks."+d.Name+".size_gb", wanted[pool.Name])
		}
	}
	return nil
}

// poolShort says that a storage pool has no room for the disks: for now, where
// an empty one would have it.
func poolShort(h VMHost, pool StoragePool, field string, wantedGB int64) error {
	const hint = "Make the disks smaller, or use another pool or host."
	message := fmt.Sprintf("the disks need %d GB of storage pool %q on VM host %s, which has %d GB left",
		wantedGB, pool.Name, h.Name, pool.AvailableBytes/1e9)
	if wantedGB*1e9 > pool.TotalBytes {
		return &SpecError{Field: field, Message: message, Hint: hint}
	}
	return &Error{Type: InsufficientResources, Host: h.Name, Message: message, Hint: hint}
}
