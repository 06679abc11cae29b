// Package demand turns the needs of a machine into the engine's terms, and
// applies the limits of the cluster's identity.
package demand

import (
	"fmt"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
)

// Placement describes the LXD hosts that suit a VM, in any zone.
func Placement(want infrav1.ResolvedMachine) engine.Placement {
	return engine.Placement{Pool: want.ResourcePool, Tags: want.Tags, Project: want.VM.Project}
}

// Selector describes the bare-metal machines that suit, in any zone.
func Selector(want infrav1.ResolvedMachine) engine.Selector {
	return engine.Selector{Pool: want.ResourcePool, Tags: want.Tags, MinCores: want.Cores, MinMemoryMiB: want.MemoryMiB, MinDiskGB: want.MinDiskGB}
}

// Disks returns the disks of a VM for the engine.
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
