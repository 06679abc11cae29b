package world

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/script"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/storage"
)

// Machine is a node of MAAS that is a machine.
type Machine struct {
	World                             *World
	SystemID, Hostname                string
	Domain                            *Domain
	Zone                              *Zone
	Pool                              *Pool
	Status, PreviousStatus            Status
	Owner                             *User
	AgentName, Description            string
	OwnerData                         map[string]string
	Tags                              []string
	Locked, Netboot                   bool
	Dynamic                           bool // made by allocate: release deletes it
	Commissioned                      bool // once passed commissioning
	Ephemeral, UEFI                   bool
	HardwareSync                      bool
	SyncInterval                      int       // of it, in seconds, 0 for none
	LastSync                          time.Time // zero: never
	SwapSize                          *int64    // that deployments make; nil: curtin decides
	SwapOn                            bool      // what runs on it has swap
	PowerState                        string    // as MAAS remembers it
	PowerType                         string
	Monitored                         bool              // MAAS asks its BMC for the power, whatever its type
	PowerParams                       map[string]string // of manual and other types; lxd keeps them in bmc
	BMC                               *BMC
	Instance                          string   // instance_name of power type lxd
	Parent                            *Machine // the host machine when this one was made
	VMID                              int      // virtualmachine_id, 0 for none
	VM                                VirtualMachine
	Architecture                      string
	Cores                             int
	Pinned                            []int
	MemoryMiB                         int64
	Hugepages                         bool
	NUMA                              NUMANode // what MAAS found; an admin may say otherwise of the whole
	CPUModel                          string
	HardwareInfo                      map[string]string // of hardware_info, beside the CPU's model
	StatusBefore                      *Status           // at the begin of a call, nil: between calls
	ShownStatus                       *Status           // by whose file systems an answer shows, nil: as it is
	Hardware                          *Hardware         // what it is made of, nil: what MAAS knows
	Storage                           storage.Storage
	GatewayLink                       *Link // of set_default_gateway, nil for none
	NICs                              []*NIC
	Osystem, Series, Kernel           string
	MinKernel                         *string
	UserData                          []byte
	CommissioningSet, InstallationSet int // ids of script sets, 0 for none
	TestingSet                        int
	CommissioningStatus               int // -1 unknown, 0 pending, 2 passed, 3 failed
	TestingStatus                     int // of the last tests, in the same way
	Scripts                           []*script.Set
	Events                            []*Event
	StatusEvent                       *Event // the last one that is more than a trace

	FirstBoot    FirstBoot     // how user-data ends
	VendorData   string        // what MAAS adds to it
	BootMessage  string        // why it fails
	BootDuration time.Duration // what the last first boot takes that began

	HostData      []byte      // MAAS's vendor data, where it becomes a VM host
	RegisterHost  func() bool // the end of such a deployment; false: it failed
	BootNeverEnds bool        // it is under way for ever

	Transition, PowerJob, PowerQueryJob *Job
	BootJob                             *Job   // user-data, after Deployed
	PowerAction                         string // "on", "off", "cycle" while power is pending
}

// Credentials are those that the machine itself has for MAAS's metadata service.
func (m *Machine) Credentials() *Token {
	return &Token{Consumer: "nodeConsumer" + m.SystemID, Key: "nodeToken" + m.SystemID, Secret: "nodeSecret" + m.SystemID}
}

// NUMANode is the one NUMA node of a machine, empty until MAAS looked into it.
type NUMANode struct {
	Cores     int
	MemoryMiB int64
}

// NoteHardwareFound notes that MAAS looked into the machine: it was commissioned, or made of an
// instance. What an admin said of the hardware ends with that.
func (m *Machine) NoteHardwareFound() {
	if m.NUMA.Cores > 0 {
		m.Cores, m.MemoryMiB = m.NUMA.Cores, m.NUMA.MemoryMiB
	}
	m.NUMA = NUMANode{Cores: m.Cores, MemoryMiB: m.MemoryMiB}
}

// PendingJobs are the pending jobs of the machine.
func (m *Machine) PendingJobs() []*Job {
	return slices.DeleteFunc([]*Job{m.PowerJob, m.Transition, m.PowerQueryJob, m.BootJob}, func(j *Job) bool { return !j.IsPending() })
}

// EndSeenJobs ends what takes no time, now that a read has shown it. A transition
// takes at least as long as the power action that it waits for.
func (m *Machine) EndSeenJobs() {
	for _, j := range []*Job{m.PowerJob, m.Transition, m.BootJob} {
		if j.IsPending() && j.EndsWhenSeen && !m.PowerJob.IsInFlight() {
			j.Finish()
		}
	}
}

// Forget stops everything that is under way for a machine that goes away.
func (m *Machine) Forget() {
	for _, j := range m.PendingJobs() {
		j.Cancel()
	}
	delete(m.World.Machines, m.SystemID)
	m.leaveBMC()
	m.leaveHosts()
}

// leaveHosts makes VM hosts and LXDs forget the machine that they ran on. A VM
// host has none then until it is refreshed.
func (m *Machine) leaveHosts() {
	for _, h := range m.World.Hosts {
		if h.Machine == m {
			h.Machine = nil
		}
	}
	for _, l := range m.World.LXDs {
		if l.HostMachine == m {
			l.HostMachine = nil
		}
	}
}

// leaveBMC removes a BMC that is no VM host with its last machine.
func (m *Machine) leaveBMC() {
	if m.BMC == nil || m.BMC.Host != nil {
		return
	}
	for _, other := range m.World.Machines {
		if other.BMC == m.BMC {
			return
		}
	}
	delete(m.World.BMCs, m.BMC.RowKey())
}

// Host is the VM host that the machine is a VM of, nil for none.
func (m *Machine) Host() *VMHost {
	if m.BMC == nil {
		return nil
	}
	return m.BMC.Host
}

// AddTag tags the machine, once.
func (m *Machine) AddTag(name string) {
	if !slices.Contains(m.Tags, name) {
		m.Tags = append(m.Tags, name)
	}
}

// RemoveTag takes a tag from the machine.
func (m *Machine) RemoveTag(name string) {
	m.Tags = slices.DeleteFunc(m.Tags, func(t string) bool { return t == name })
}

// SortedMachines lists machines in order of creation.
func SortedMachines(machines map[string]*Machine) []*Machine {
	return slices.SortedFunc(maps.Values(machines), func(a, b *Machine) int {
		return cmp.Compare(a.creationOrder(), b.creationOrder())
	})
}

// creationOrder is the row's age: MAAS lists machines by hostname only if asked to.
func (m *Machine) creationOrder() int {
	if len(m.NICs) > 0 {
		return m.NICs[0].ID
	}
	return 0
}

// RackHostname and rackNIC name MAAS's one server: region and rack.
const (
	RackHostname = "maas"
	RackNIC      = "eth0"
)

// IsNamed says whether a machine goes by a name: hostname, FQDN or system id.
func (m *Machine) IsNamed(name string) bool {
	return name == m.Hostname || name == m.SystemID || name == m.Hostname+"."+m.Domain.Name
}

// HasInstance says whether the instance is the machine's, which MAAS knows by MAC.
func (m *Machine) HasInstance(i *Instance) bool {
	return slices.ContainsFunc(m.NICs, func(n *NIC) bool { return slices.Contains(i.MACs, n.MAC) })
}
