package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/maaslxd/maaslxd/cloudinit"
)

// fits says why the machine cannot become the wanted host, before anything is
// installed on it.
func (want HostSpec) fits(m Machine) error {
	lacks := func(what string) error {
		return &SpecError{
			Field: want.Machine.field(), Message: fmt.Sprintf("MAAS knows no %s of machine %s", what, m.Hostname),
			Hint: "Commission the machine anew in MAAS, or choose another one.", Err: ErrConflict,
		}
	}
	switch {
	case len(m.Disks) == 0:
		return lacks("disk")
	case len(m.Interfaces) == 0:
		return lacks("network interface")
	}
	return want.fitsDisk(m)
}

// fits is the same with the bridge, which takes looks at MAAS's subnets.
func (h *hosts) fits(ctx context.Context, want HostSpec, m Machine) error {
	if err := want.fits(m); err != nil || want.Bridge == nil {
		return err
	}
	_, err := h.bridging(ctx, m, *want.Bridge)
	return err
}

// fitsDisk wants the storage pools that lie in files to be smaller than the
// largest disk of the machine, whichever it boots from.
func (want HostSpec) fitsDisk(m Machine) error {
	largest := slices.MaxFunc(m.Disks, func(a, b MachineDisk) int { return int(a.SizeGB - b.SizeGB) }).SizeGB
	pools := want.LXD.StoragePools
	if len(pools) == 0 {
		pools = map[string]cloudinit.StoragePool{cloudinit.DefaultPool: {}}
	}
	sum := int64(0)
	for _, name := range slices.Sorted(maps.Keys(pools)) {
		sum += inFileGB(pools[name])
		if sum > largest {
			return &SpecError{
				Field:   "lxd.storage_pools." + name + ".size_gb",
				Message: fmt.Sprintf("the storage pools take %d GB, and the largest disk of machine %s has %d GB", sum, m.Hostname, largest),
				Hint:    "Make them smaller, or name a disk of their own as source.", Err: ErrConflict,
			}
		}
	}
	return nil
}

// inFileGB is what a pool takes of the disk that the machine boots from.
func inFileGB(p cloudinit.StoragePool) int64 {
	files := []cloudinit.Driver{"", cloudinit.ZFS, cloudinit.Btrfs, cloudinit.LVM}
	switch {
	case p.Source != "" || !slices.Contains(files, p.Driver):
		return 0
	case p.SizeGB != 0:
		return p.SizeGB
	}
	return cloudinit.DefaultPoolSizeGB
}
