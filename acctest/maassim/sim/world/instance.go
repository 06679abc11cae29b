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
	Busy          string // "create", "start", …: the current operation, which prevents others
	Number        int    // order of creation
	Snapshots     []*Snapshot
	Definition
}

// Snapshot is the state of an instance when the snapshot was taken, without the contents
// of its disks.
type Snapshot struct {
	Name    string
	Taken   time.Time
	Expires time.Time // zero for never
	MACs    []string
	Definition
}

// Volume is a disk of an instance.
type Volume struct {
	SizeBytes int64
	Pool      string
	Source    string // its name in a real LXD; empty for a root disk
}

// SetRunning starts or stops an instance at once. If a real LXD cannot start VMs, the
// simulator treats them as started.
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

// NeedsMissingSEV tells whether the instance asks for AMD SEV, which no simulated host
// has. LXD accepts the option, but does not start the VM.
func (i *Instance) NeedsMissingSEV() bool {
	return i.Server.Lent == nil && i.ExpandedConfig()["security.sev"] == "true"
}

const (
	// defaultVMMemoryMiB is the memory of a VM without limits.memory.
	defaultVMMemoryMiB = 1024
	// VMDefaultDiskBytes is the size of a VM's root disk without a given size (LXD, 10
	// GiB).
	VMDefaultDiskBytes = 10 << 30
)

// InstanceStatus is the instance's power state in LXD's terms.
func (i *Instance) InstanceStatus() api.StatusCode {
	if i.Running {
		return api.Running
	}
	return api.Stopped
}

// VMType is the type of all simulated instances.
const VMType = string(api.InstanceTypeVM)
