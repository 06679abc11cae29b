package host

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/machine"
)

// withPoolSizes gives storage pools in files without a size a part of the machine's first disk,
// from which MAAS boots it.
func withPoolSizes(want engine.HostSpec, m engine.Machine) engine.HostSpec {
	if want.PoolPercent == 0 || len(m.Disks) == 0 {
		return want
	}
	pools := maps.Clone(want.LXD.StoragePools)
	for name, p := range pools {
		if p.SizeGB == 0 && engine.FilePoolSizeGB(p) > 0 {
			p.SizeGB = m.Disks[0].SizeGB * int64(want.PoolPercent) / 100
			pools[name] = p
		}
	}
	want.LXD.StoragePools = pools
	return want
}

// checkHardware says why the machine cannot become the wanted host, before anything is
// installed on it.
func checkHardware(want engine.HostSpec, m engine.Machine) error {
	lacks := func(what string) error {
		return &engine.SpecError{
			Field: want.Machine.MachineField(), Message: fmt.Sprintf("MAAS knows no %s of machine %s", what, m.Hostname),
			Hint: "Commission the machine again in MAAS, or choose another one.", Err: engine.ErrConflict,
		}
	}
	switch {
	case len(m.Disks) == 0:
		return lacks("disk")
	case len(m.Interfaces) == 0:
		return lacks("network interface")
	}
	return checkPoolSizes(want, m)
}

// checkHardwareAndNetwork also checks the network, for which it reads MAAS's subnets.
func (h *networkSteps) checkHardwareAndNetwork(ctx context.Context, want engine.HostSpec, m engine.Machine) error {
	err := checkHardware(want, m)
	switch {
	case err != nil:
	case want.Network != nil:
		_, err = h.planNetwork(ctx, m, want.Network)
	case want.Bridge != nil:
		_, err = h.planBridge(ctx, machine.WithoutOurNetwork(m), *want.Bridge)
	}
	return err
}

// checkPoolSizes refuses storage pools in files that together are not smaller than the
// machine's largest disk, whichever disk it boots from.
func checkPoolSizes(want engine.HostSpec, m engine.Machine) error {
	largest := slices.MaxFunc(m.Disks, func(a, b engine.MachineDisk) int { return int(a.SizeGB - b.SizeGB) }).SizeGB
	pools := want.LXD.StoragePools
	if len(pools) == 0 {
		pools = map[string]cloudinit.StoragePool{cloudinit.DefaultPool: {}}
	}
	sum := int64(0)
	for _, name := range slices.Sorted(maps.Keys(pools)) {
		sum += engine.FilePoolSizeGB(pools[name])
		if sum > largest {
			return &engine.SpecError{
				Field:   fieldpath.New("lxd", "storage_pools").Key(name).Child("size_gb"),
				Message: fmt.Sprintf("the storage pools take %d GB, but the largest disk of machine %s has %d GB", sum, m.Hostname, largest),
				Hint:    "Make the pools smaller, or set source to a disk of their own.", Err: engine.ErrConflict,
			}
		}
	}
	return nil
}
