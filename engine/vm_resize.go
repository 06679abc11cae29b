package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// resize gives a VM that is finished the size that is wanted, where that is
// asked for. What it grows by is reserved first, as for a VM that is made.
func (v *vms) resize(ctx context.Context, key Key, want VMSpec, m Machine) error {
	if !want.Resize {
		return nil
	}
	have := v.Composer.Complete(ctx, m)
	if want.sameSize(have) {
		return nil
	}
	on, err := v.hostOf(ctx, m)
	if err != nil {
		return err
	}
	hosts, err := v.Composer.Hosts(ctx)
	if err != nil {
		return err
	}
	n := slices.IndexFunc(hosts, func(h VMHost) bool { return h.HostKey == on.HostKey })
	if n < 0 {
		return fmt.Errorf("VM host %s of %s is not listed: %w", on.Name, m.Hostname, ErrBusy)
	}
	if err := hosts[n].resizes(have, want); err != nil {
		return err
	}
	row, err := v.reserveGrowth(ctx, key, want, have, hosts[n])
	if err != nil {
		return err
	}
	unlock, err := v.hosts.share(ctx, hosts[n])
	if err != nil {
		return err
	}
	defer unlock()
	c := Composition{
		Hostname: m.Hostname, Cores: want.Cores, PinnedCores: want.PinnedCores, MemoryMiB: want.MemoryMiB,
		HugePages: want.HugePages, Disks: want.Disks,
	}
	if err = v.Composer.Resize(ctx, hosts[n], m.SystemID, c); err != nil {
		err = fmt.Errorf("cannot change the size of %s: %w", m.Hostname, err)
	}
	return errors.Join(err, v.endGrowth(ctx, row, err))
}

// sameSize tells whether a VM has the size that is wanted.
func (s VMSpec) sameSize(have Machine) bool {
	sizes := slices.EqualFunc(s.Disks, have.Disks, func(want Disk, have MachineDisk) bool { return want.SizeGB == have.SizeGB })
	return sizes && s.need().Cores == int64(have.Cores) && s.MemoryMiB == have.MemoryMiB
}

// resizes says why the host has no room for the new size of a VM that is on it.
func (h VMHost) resizes(have Machine, want VMSpec) error {
	if err := h.usable(); err != nil {
		return err
	}
	h.Cores.Used -= int64(have.Cores)
	h.MemoryMiB.Used -= have.MemoryMiB
	if err := fits(h, want); err != nil {
		return err
	}
	var growth []Disk
	for n, d := range want.Disks {
		if n < len(have.Disks) && d.SizeGB > have.Disks[n].SizeGB {
			growth = append(growth, Disk{Name: d.Name, SizeGB: d.SizeGB - have.Disks[n].SizeGB, Pool: have.Disks[n].Pool})
		}
	}
	return fitsPools(h, growth)
}
