package world

import (
	"time"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/pci"
)

// Instance is a VM in an LXD.
type Instance struct {
	Server        *LXD
	Project, Name string
	Cores         int
	MemoryMiB     int64
	Disks         []Volume
	MACs          []string
	Subnets       []*Subnet
	Running       bool
	Ports         pci.Ports
	Busy          string // "create", "start", …: an operation that refuses others
	Number        int    // order of creation
	Snapshots     []*Snapshot
	Definition
}

// Snapshot is what an instance was when somebody took one. What was on its disks is not kept.
type Snapshot struct {
	Name    string
	Taken   time.Time
	Expires time.Time // zero: never
	MACs    []string
	Definition
}

// Volume is a disk of an instance.
type Volume struct {
	SizeBytes int64
	Pool      string
	Source    string // its name in a real LXD, empty for a root disk
}

// SetRunning starts or stops an instance, at once. Where the VMs of a real LXD cannot be
// started, they are taken as it.
func (i *Instance) SetRunning(on bool) {
	i.Busy = ""
	if on && i.NeedsMissingSEV() {
		return
	}
	if i.Running != on && i.Server.Lent != nil && i.Server.Lent.CanBoot() {
		i.Server.Lent.SetRunning(i, on)
	}
	i.Running, i.Ports = on, pci.Ports{}
}

// NeedsMissingSEV tells that the instance asks for AMD SEV, which no simulated host has: LXD takes the
// option, and does not start the VM.
func (i *Instance) NeedsMissingSEV() bool {
	return i.Server.Lent == nil && i.ExpandedConfig()["security.sev"] == "true"
}

const (
	// defaultVMMemoryMiB is what LXD gives a VM without limits.memory.
	defaultVMMemoryMiB = 1024
	// VMDefaultDiskBytes is the root disk of a VM without a size (LXD, 10 GiB).
	VMDefaultDiskBytes = 10 << 30
)

// InstanceStatus is the instance's power as LXD says it.
func (i *Instance) InstanceStatus() api.StatusCode {
	if i.Running {
		return api.Running
	}
	return api.Stopped
}

// VMType is the type of all instances here.
const VMType = string(api.InstanceTypeVM)
