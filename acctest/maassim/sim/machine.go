package sim

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Status is MAAS's number of a machine's status (enum.py, NODE_STATUS).
type Status int

// The statuses, by MAAS's numbers.
const (
	StatusNew Status = iota
	StatusCommissioning
	StatusFailedCommissioning
	StatusMissing
	StatusReady
	StatusReserved
	StatusDeployed
	StatusRetired
	StatusBroken
	StatusDeploying
	StatusAllocated
	StatusFailedDeployment
	StatusReleasing
	StatusFailedReleasing
	StatusDiskErasing
	StatusFailedDiskErasing
	StatusRescueMode
	StatusEnteringRescueMode
	StatusFailedEnteringRescueMode
	StatusExitingRescueMode
	StatusFailedExitingRescueMode
	StatusTesting
	StatusFailedTesting
)

// statusWords are the names for people and those of the status filter.
var statusWords = []struct{ name, filter string }{
	{"New", "new"}, {"Commissioning", "commissioning"},
	{"Failed commissioning", "failed_commissioning"}, {"Missing", "missing"},
	{"Ready", "ready"}, {"Reserved", "reserved"}, {"Deployed", "deployed"},
	{"Retired", "retired"}, {"Broken", "broken"}, {"Deploying", "deploying"},
	{"Allocated", "allocated"}, {"Failed deployment", "failed_deployment"},
	{"Releasing", "releasing"}, {"Releasing failed", "failed_releasing"},
	{"Disk erasing", "disk_erasing"}, {"Failed disk erasing", "failed_disk_erasing"},
	{"Rescue mode", "rescue_mode"}, {"Entering rescue mode", "entering_rescue_mode"},
	{"Failed to enter rescue mode", "failed_entering_rescue_mode"},
	{"Exiting rescue mode", "exiting_rescue_mode"},
	{"Failed to exit rescue mode", "failed_exiting_rescue_mode"},
	{"Testing", "testing"}, {"Failed testing", "failed_testing"},
}

// String is MAAS's name of the status.
func (s Status) String() string { return statusWords[s].name }

// machine is a node of MAAS that is a machine.
type machine struct {
	w                         *world
	systemID, hostname        string
	domain                    *domain
	zone                      *zone
	pool                      *pool
	status, previous          Status
	owner                     *user
	agentName, description    string
	ownerData                 map[string]string
	tags                      []string
	locked, netboot           bool
	dynamic                   bool // made by allocate: release deletes it
	commissioned              bool // once passed commissioning
	ephemeral, uefi           bool
	swapSize                  *int64 // that deployments make; nil: curtin decides
	swapOn                    bool   // what runs on it has swap
	powerState                string // as MAAS remembers it
	powerType                 string
	powerParams               map[string]string // of manual and other types; lxd keeps them in bmc
	bmc                       *bmc
	instance                  string   // instance_name of power type lxd
	parent                    *machine // the host machine when this one was made
	vmID                      int      // virtualmachine_id, 0 for none
	architecture              string
	cores                     int
	pinned                    []int
	memoryMiB                 int64
	hugepages                 bool
	cpuModel                  string
	disks                     []*disk
	nics                      []*nic
	osystem, series, kernel   string
	minKernel                 *string
	userData                  []byte
	commissioning, installing int // ids of script sets, 0 for none
	testing                   int
	commissioningStatus       int // -1 unknown, 0 pending, 2 passed, 3 failed
	testingStatus             int // -1 unknown, 0 pending
	message, action           *string

	firstBoot   FirstBoot // how user-data ends
	vendorData  string    // what MAAS adds to it
	bootMessage string    // why it fails
	bootHeld    bool      // it is under way for ever

	progress, power, query *job
	boot                   *job   // user-data, after Deployed
	powerAction            string // "on", "off", "cycle" while power is pending
}

// disk is a block device. Sizes are bytes.
type disk struct {
	id                          int
	name, model, serial, idPath string
	sizeBytes                   int64
	tags                        []string
	pool                        string // where the volume lies, empty for none
	storagePool                 string // what MAAS shows of it
	firmware                    string
	partitions                  []partition
}

// partition is a part of a disk that MAAS's storage layout made.
type partition struct {
	id                      int
	sizeBytes               int64
	bootable                bool
	fstype, label, mount    string
	partUUID, filesystemUID string
}

// nic is a network interface.
type nic struct {
	id         int
	name, mac  string
	kind       string // "physical" or "bridge"
	vlan       *vlan  // nil: disconnected
	vendor     string // known after commissioning
	product    string
	links      []*link
	discovered []discovery
	parents    []*nic
	params     map[string]any
	onHost     bool
	deployed   bool // made by bridge_all: gone with the release
}

// link ties a nic to a subnet.
type link struct {
	id     int
	mode   string // "auto", "static", "dhcp", "link_up"
	subnet *subnet
	ip     string
}

// discovery is an address that DHCP gave while commissioning.
type discovery struct {
	subnet *subnet
	ip     string
}

// event is a line of MAAS's event log.
type event struct {
	id                 int
	machine            *machine
	level              string
	kind, text, action string
	created            time.Time
}

// jobs are the pending jobs of the machine.
func (m *machine) jobs() []*job {
	return slices.DeleteFunc([]*job{m.power, m.progress, m.query, m.boot}, func(j *job) bool { return !j.pending() })
}

// seen ends what takes no time, now that a read has shown it. A transition
// takes at least as long as the power action that it waits for.
func (m *machine) seen() {
	for _, j := range []*job{m.power, m.progress, m.boot} {
		if j.pending() && j.onSeen && !m.power.inFlight() {
			j.finish()
		}
	}
}

// forget stops everything that is under way for a machine that goes away.
func (m *machine) forget() {
	for _, j := range m.jobs() {
		j.cancel()
	}
	delete(m.w.machines, m.systemID)
	m.leaveBMC()
	m.leaveHosts()
	m.w.events = slices.DeleteFunc(m.w.events, func(e *event) bool { return e.machine == m })
}

// leaveHosts makes VM hosts and LXDs forget the machine that they ran on. A VM
// host has none then until it is refreshed.
func (m *machine) leaveHosts() {
	for _, h := range m.w.hosts {
		if h.machine == m {
			h.machine = nil
		}
	}
	for _, l := range m.w.lxds {
		if l.hostMachine == m {
			l.hostMachine = nil
		}
	}
}

// leaveBMC removes a BMC that is no VM host with its last machine.
func (m *machine) leaveBMC() {
	if m.bmc == nil || m.bmc.host != nil {
		return
	}
	for _, other := range m.w.machines {
		if other.bmc == m.bmc {
			return
		}
	}
	delete(m.w.bmcs, m.bmc.id())
}

// host is the VM host that the machine is a VM of, nil for none.
func (m *machine) host() *vmHost {
	if m.bmc == nil {
		return nil
	}
	return m.bmc.host
}

func (m *machine) addTag(name string) {
	if !slices.Contains(m.tags, name) {
		m.tags = append(m.tags, name)
	}
}

func (m *machine) removeTag(name string) {
	m.tags = slices.DeleteFunc(m.tags, func(t string) bool { return t == name })
}

// note writes an event.
func (m *machine) note(level, kind, text, action string) {
	w := m.w
	w.events = append(w.events, &event{id: w.nextID("event"), machine: m, level: level, kind: kind, text: text, action: action, created: time.Now()})
}

// log writes an event; its text becomes the machine's status message.
func (m *machine) log(kind, text, action string) {
	m.note("INFO", kind, text, action)
	message := kind
	if text != "" {
		message += " - " + text
	}
	m.message, m.action = &message, &action
}

func sortedMachines(machines map[string]*machine) []*machine {
	return slices.SortedFunc(maps.Values(machines), func(a, b *machine) int {
		return cmp.Compare(a.order(), b.order())
	})
}

// order is the row's age: MAAS lists machines by hostname only if asked to.
func (m *machine) order() int {
	if len(m.nics) > 0 {
		return m.nics[0].id
	}
	return 0
}
