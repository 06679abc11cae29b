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
	Dynamic                           bool // allocate composed it; a release deletes it
	Commissioned                      bool // passed commissioning at least once
	Ephemeral, UEFI                   bool
	HardwareSync                      bool
	SyncInterval                      int       // of hardware sync, in seconds; 0 for none
	LastSync                          time.Time // zero for never
	SwapSize                          *int64    // swap that deployments make; nil: curtin decides
	SwapOn                            bool      // whether the deployed system has swap
	PowerState                        string    // as MAAS stores it
	PowerType                         string
	Monitored                         bool              // whether MAAS can query its BMC for the power, whatever its type
	PowerParams                       map[string]string // for manual and other types; lxd keeps them in its BMC
	BMC                               *BMC
	Instance                          string   // instance_name of power type lxd
	Parent                            *Machine // the VM's host machine when the VM was made
	VMID                              int      // virtualmachine_id, 0 for none
	VM                                VirtualMachine
	Architecture                      string
	Cores                             int
	Pinned                            []int
	MemoryMiB                         int64
	Hugepages                         bool
	NUMA                              NUMANode // what MAAS found; an administrator may change the total
	CPUModel                          string
	HardwareInfo                      map[string]string // hardware_info except for the CPU's model
	StatusBefore                      *Status           // status at the start of a call; nil between calls
	ShownStatus                       *Status           // status whose file systems an answer shows; nil for the current one
	Hardware                          *Hardware         // its real hardware; nil: what MAAS knows
	Storage                           storage.Storage
	GatewayLink                       *Link // link of set_default_gateway, or nil
	NICs                              []*NIC
	Osystem, Series, Kernel           string
	MinKernel                         *string
	UserData                          []byte
	CommissioningSet, InstallationSet int // ids of script sets; 0 for none
	TestingSet                        int
	CommissioningStatus               int // -1 unknown, 0 pending, 2 passed, 3 failed
	TestingStatus                     int // status of the last tests, with the same numbers
	Scripts                           []*script.Set
	Events                            []*Event
	StatusEvent                       *Event // the last event above the level of a trace

	FirstBoot    FirstBoot     // how user-data ends
	VendorData   string        // cloud-config that MAAS adds to its user-data
	BootMessage  string        // why it fails
	BootDuration time.Duration // duration of the last first boot that began

	HostData      []byte      // MAAS's vendor data, if it becomes a VM host
	RegisterHost  func() bool // called at the end of such a deployment; false if it failed
	BootNeverEnds bool        // the current first boot never ends

	Transition, PowerJob, PowerQueryJob *Job
	BootJob                             *Job   // user-data, after Deployed
	PowerAction                         string // "on", "off", "cycle" while power is pending
}

// Credentials are the machine's own credentials for MAAS's metadata service.
func (m *Machine) Credentials() *Token {
	return &Token{Consumer: "nodeConsumer" + m.SystemID, Key: "nodeToken" + m.SystemID, Secret: "nodeSecret" + m.SystemID}
}

// NUMANode is the one NUMA node of a machine. It is empty until MAAS has read the
// hardware.
type NUMANode struct {
	Cores     int
	MemoryMiB int64
}

// NoteHardwareFound records that MAAS has read the hardware: the machine was commissioned,
// or made from an instance. An administrator's values no longer count then.
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

// EndSeenJobs ends jobs that take no time, after a read has shown them. A transition lasts
// at least as long as the power action that it waits for.
func (m *Machine) EndSeenJobs() {
	for _, j := range []*Job{m.PowerJob, m.Transition, m.BootJob} {
		if j.IsPending() && j.EndsWhenSeen && !m.PowerJob.IsInFlight() {
			j.Finish()
		}
	}
}

// Forget cancels all jobs of a machine that is deleted.
func (m *Machine) Forget() {
	for _, j := range m.PendingJobs() {
		j.Cancel()
	}
	delete(m.World.Machines, m.SystemID)
	m.leaveBMC()
	m.leaveHosts()
}

// leaveHosts removes a deleted machine from the VM hosts and LXDs that ran on it. Such a
// VM host has no machine until it is refreshed.
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

// leaveBMC removes a BMC with its last machine, unless the BMC is a VM host.
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

// Host is the VM host of which the machine is a VM, or nil.
func (m *Machine) Host() *VMHost {
	if m.BMC == nil {
		return nil
	}
	return m.BMC.Host
}

// AddTag adds a tag to the machine unless it has it.
func (m *Machine) AddTag(name string) {
	if !slices.Contains(m.Tags, name) {
		m.Tags = append(m.Tags, name)
	}
}

// RemoveTag removes a tag from the machine.
func (m *Machine) RemoveTag(name string) {
	m.Tags = slices.DeleteFunc(m.Tags, func(t string) bool { return t == name })
}

// SortedMachines lists machines in order of creation.
func SortedMachines(machines map[string]*Machine) []*Machine {
	return slices.SortedFunc(maps.Values(machines), func(a, b *Machine) int {
		return cmp.Compare(a.creationOrder(), b.creationOrder())
	})
}

// creationOrder is the position of the row. MAAS lists machines in this order unless the
// caller asks for hostnames.
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

// IsNamed tells whether a name is the machine's hostname, FQDN or system id.
func (m *Machine) IsNamed(name string) bool {
	return name == m.Hostname || name == m.SystemID || name == m.Hostname+"."+m.Domain.Name
}

// HasInstance tells whether the instance belongs to the machine. MAAS recognises it by its
// MAC.
func (m *Machine) HasInstance(i *Instance) bool {
	return slices.ContainsFunc(m.NICs, func(n *NIC) bool { return slices.Contains(i.MACs, n.MAC) })
}
