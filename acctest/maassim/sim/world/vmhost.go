package world

import (
	"cmp"
	"maps"
	"slices"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd/daemon"
)

// consoleTag is on every VM host, whatever tags it is given.
const consoleTag = "pod-console-logging"

// VMHost is MAAS's record of an LXD project: a pod, in its database.
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
	Pools              []daemon.StoragePool // as of the last discovery
	Cores              int
	MemoryMiB          int64
	Machine            *Machine // the host machine; nil after a sibling was deleted
	Inventory          *Job
}

// SortedHosts lists VM hosts in order of creation.
func SortedHosts(hosts map[int]*VMHost) []*VMHost {
	return slices.SortedFunc(maps.Values(hosts), func(a, b *VMHost) int { return cmp.Compare(a.ID, b.ID) })
}

// Server is the LXD behind the host's address, nil if nothing listens there.
func (h *VMHost) Server() *LXD { return h.World.LXDAt(h.BMC.Address) }

// VMs are the machines of this host, in order of creation.
func (h *VMHost) VMs() []*Machine {
	return slices.DeleteFunc(SortedMachines(h.World.Machines), func(m *Machine) bool { return m.Host() != h })
}

// Usage is what MAAS counts as used: its machines' share, not what LXD runs.
type Usage struct {
	Cores     int
	MemoryMiB int64
	Bytes     int64            // of all disks
	ByPool    map[string]int64 // bytes by storage pool
}

// Usage adds up what MAAS counts as used.
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

// VirtualMachine is what MAAS counts of a VM against its host
// (models/virtualmachine.py). It is written by a compose and by each sync.
type VirtualMachine struct {
	Cores     int
	MemoryMiB int64
	Disks     []Volume
}

// CountComposed counts a machine that compose, or an adoption, made with its
// block devices. What a sync counted before stays, so that the disks of an
// adopted VM count twice until the next sync (models/bmc.py, create_machine).
func (m *Machine) CountComposed() {
	m.VM.Cores, m.VM.MemoryMiB = m.Cores, m.MemoryMiB
	for _, d := range m.Storage.Disks {
		m.VM.Disks = append(m.VM.Disks, Volume{SizeBytes: d.SizeBytes, Pool: d.Pool})
	}
}

// CountInstance counts a VM as a sync finds it in LXD, in the place of all that
// was counted before (models/bmc.py, sync_machines).
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

// SetTags writes the words by which a VM host is found. They are no tags of MAAS
// until a machine of the host gets them; MAAS makes only its own at once
// (vmhost.py, _discover_and_sync_vmhost).
func (h *VMHost) SetTags(tags []string) {
	h.World.EnsureTag(consoleTag)
	h.Tags = slices.Clone(tags)
	if !slices.Contains(h.Tags, consoleTag) {
		h.Tags = append(h.Tags, consoleTag)
	}
}
