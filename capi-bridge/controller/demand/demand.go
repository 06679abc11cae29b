// Package demand says what a machine needs of MAAS, in the engine's words, and keeps it
// to what the identity of its cluster allows.
package demand

import (
	"fmt"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
)

// Placement says which LXD hosts will do for a VM, in whatever zone.
func Placement(want infrav1.ResolvedMachine) engine.Placement {
	return engine.Placement{Pool: want.ResourcePool, Tags: want.Tags, Project: want.VM.Project}
}

// Selector says which bare metal will do, in whatever zone.
func Selector(want infrav1.ResolvedMachine) engine.Selector {
	return engine.Selector{Pool: want.ResourcePool, Tags: want.Tags, MinCores: want.Cores, MinMemoryMiB: want.MemoryMiB, MinDiskGB: want.MinDiskGB}
}

// Disks are those of a VM.
func Disks(vm *infrav1.ResolvedVM) []engine.Disk {
	list := make([]engine.Disk, len(vm.Disks))
	for n, d := range vm.Disks {
		list[n] = engine.Disk{Name: diskName(n), SizeGB: d.SizeGB, Pool: d.Pool}
	}
	return list
}

func diskName(n int) string {
	if n == 0 {
		return "root"
	}
	return fmt.Sprintf("disk%d", n)
}
