package world

import (
	"cmp"
	"maps"
	"slices"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd/daemon"
)

// consoleTag is a tag of every VM host.
const consoleTag = "pod-console-logging"

// VMHost is MAAS's record of an LXD project. MAAS's database calls it a pod.
type VMHost struct {
	World              *World
	ID                 int
	Name               string
	BMC                *BMC
	Zone               *Zone
	Pool               *Pool
	Tags               []string
	CPURatio, MemRatio float64
	MacvlanMode        *string
	DefaultPool        string
	Version            string
	Capabilities       []string
	Architectures      []string
	Pools              []daemon.StoragePool // from the last discovery
	Cores              int
	MemoryMiB          int64
	Machine            *Machine // the host machine; nil after another VM host of the server was deleted
	Inventory          *Job
}

// SortedHosts lists VM hosts in order of creation.
func SortedHosts(hosts map[int]*VMHost) []*VMHost {
	return slices.SortedFunc(maps.Values(hosts), func(a, b *VMHost) int { return cmp.Compare(a.ID, b.ID) })
}

// Server is the LXD at the host's address, or nil if nothing listens there.
func (h *VMHost) Server() *LXD { return h.World.LXDAt(h.BMC.Address) }

// VMs are the machines of this host, in order of creation.
func (h *VMHost) VMs() []*Machine {
	return slices.DeleteFunc(SortedMachines(h.World.Machines), func(m *Machine) bool { return m.Host() != h })
}

// Usage is what MAAS counts as used: the share of its machines, and not what LXD runs.
type Usage struct {
	Cores     int
	MemoryMiB int64
	Bytes     int64            // size of all disks
	ByPool    map[string]int64 // bytes by storage pool
}

// Usage adds up the resources that MAAS counts as used.
func (h *VMHost) Usage() Usage {
	u := Usage{ByPool: map[string]int64{}}
	for _, m := range h.World.Machines {
		if m.Host() != h || m.VMID == 0 {
			continue
		}
		u.Cores += m.VM.Cores
		u.MemoryMiB += m.VM.MemoryMiB
		for _, d := range m.VM.Disks {
			u.Bytes += d.SizeBytes
			u.ByPool[cmp.Or(d.Pool, h.DefaultPool)] += d.SizeBytes
		}
	}
	return u
}

// VirtualMachine is what MAAS counts for a VM of a host (models/virtualmachine.py). A
// compose and each refresh update it.
type VirtualMachine struct {
	Cores     int
	MemoryMiB int64
	Disks     []Volume
}

// CountComposed counts a machine that a compose or an adoption made with its block
// devices. It keeps the numbers of an earlier refresh, so the disks of an adopted VM count
// twice until the next refresh (models/bmc.py, create_machine).
func (m *Machine) CountComposed() {
	m.VM.Cores, m.VM.MemoryMiB = m.Cores, m.MemoryMiB
	for _, d := range m.Storage.Disks {
		m.VM.Disks = append(m.VM.Disks, Volume{SizeBytes: d.SizeBytes, Pool: d.Pool})
	}
}

// CountInstance counts a VM as a refresh finds it in LXD. It replaces all earlier numbers
// (models/bmc.py, sync_machines).
func (m *Machine) CountInstance(i *Instance) {
	m.VM = VirtualMachine{Cores: i.Cores, MemoryMiB: i.MemoryMiB, Disks: slices.Clone(i.Disks)}
}

// TotalStorage is the size of all storage pools, in bytes.
func (h *VMHost) TotalStorage() (n int64) {
	for _, p := range h.Pools {
		n += p.SizeBytes
	}
	return n
}

// SetTags sets a VM host's tags. They become tags of MAAS only when a machine of the host
// gets them. MAAS makes only its own one at once (vmhost.py, _discover_and_sync_vmhost).
func (h *VMHost) SetTags(tags []string) {
	h.World.EnsureTag(consoleTag)
	h.Tags = slices.Clone(tags)
	if !slices.Contains(h.Tags, consoleTag) {
		h.Tags = append(h.Tags, consoleTag)
	}
}
