package sim

import (
	"cmp"
	"log"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Condition says how an LXD, or the rack controller, answers.
type Condition string

// The conditions. A hanging LXD takes connections and never answers; MAAS
// gives up after 120 s. A rack is "ok" or "unreachable".
const (
	OK          Condition = "ok"
	Unreachable Condition = "unreachable"
	Slow        Condition = "slow"
	Hanging     Condition = "hanging"
)

// lxdServer is an LXD as it is, whatever MAAS knows of it.
type lxdServer struct {
	address     string // host:port
	name        string // of the first model that describes it, or of its machine
	condition   Condition
	cores       int
	memoryMiB   int64
	version     string
	pools       []StoragePoolModel
	password    string
	trusted     []trust
	osystem     string
	series      string
	mac         string    // of its first NIC, by which MAAS knows its machine
	subnets     []*subnet // of its bridges
	nicSubnet   *subnet   // of its first NIC, nil for none
	bridgeMACs  map[*subnet]string
	projects    map[string]map[string]*instance // by project and name
	hostMachine *machine                        // the machine that MAAS keeps for it, nil for none

	metal  *machine // whose first boot made it; nil for one of the model
	listen string   // where it listens on all of the metal's addresses: the port
	wiped  bool     // its machine was released

	peak Use
	over map[string]excess // by what there was too little of

	lent *lent // nil for a simulated one

	lxdWorld
}

// instance is a VM in an LXD.
type instance struct {
	server        *lxdServer
	project, name string
	cores         int
	memoryMiB     int64
	disks         []volume
	macs          []string
	subnets       []*subnet
	running       bool
	busy          string // "create", "start", …: an operation that refuses others
	number        int    // order of creation
	lxdDefinition
}

// volume is a disk of an instance.
type volume struct {
	sizeBytes int64
	pool      string
	source    string // its name in a real LXD, empty for a root disk
}

// bmc is what power type lxd shares: address, project and credentials. MAAS
// keeps one row for machines with the same three; a VM host is such a row.
type bmc struct {
	address, project string
	certificate, key string
	password         string
	hasPassword      bool
	host             *vmHost
}

func (b *bmc) id() string { return b.address + " " + b.project + " " + b.certificate }

// lxdAddress is host:port of an address as users write it.
func lxdAddress(address string) string {
	if !strings.Contains(address, "://") {
		address = "https://" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	if u.Port() == "" {
		return u.Hostname() + ":8443"
	}
	return strings.Replace(u.Host, "localhost", "127.0.0.1", 1)
}

// lxdAt is the LXD that listens there, nil if nothing does.
func (w *world) lxdAt(address string) *lxdServer {
	address = lxdAddress(address)
	if l := w.lxds[address]; l != nil {
		return l
	}
	for _, l := range w.lxds {
		if l.listensAt(address) {
			return l
		}
	}
	if original := w.sim.sockets.original(address); original != "" {
		return w.lxdAt(original)
	}
	return nil
}

// state is how the LXD answers: not at all while its machine is off, or runs
// something else.
func (l *lxdServer) state() Condition {
	if l.wiped || l.metal != nil && !l.metal.runsSystem() {
		return Unreachable
	}
	return l.condition
}

func (l *lxdServer) instances(project string) []*instance {
	l.look()
	return slices.SortedFunc(maps.Values(l.projects[project]), func(a, b *instance) int {
		return cmp.Compare(a.number, b.number)
	})
}

// listed are the instances as LXD lists them to MAAS: without those that are
// still being created.
func (l *lxdServer) listed(project string) []*instance {
	return slices.DeleteFunc(l.instances(project), func(i *instance) bool { return i.busy == "create" })
}

func (l *lxdServer) ensureProject(name string) {
	if l.projects[name] != nil {
		return
	}
	l.projects[name] = map[string]*instance{}
	l.describeProject(name)
	if l.lent != nil {
		if err := l.makeProject(name, maasProject); err != nil {
			log.Printf("maassim: the LXD %s: %v", l.name, err)
		}
	}
}

func (l *lxdServer) remove(i *instance) {
	if l.lent != nil {
		l.removeReal(i)
	} else if l.projects[i.project][i.name] == i {
		delete(l.projects[i.project], i.name)
		l.removeVolumesOf(i)
	}
}

func (l *lxdServer) defaultPool() string {
	for _, p := range l.pools {
		if p.Default {
			return p.Name
		}
	}
	return l.pools[0].Name
}

func (l *lxdServer) hasPool(name string) bool {
	return slices.ContainsFunc(l.pools, func(p StoragePoolModel) bool { return p.Name == name })
}

// lxdInstance is the VM behind a machine of power type lxd, nil if it is gone.
func (m *machine) lxdInstance() *instance {
	if m.bmc == nil {
		return nil
	}
	l := m.w.lxdAt(m.bmc.address)
	if l == nil {
		return nil
	}
	l.look()
	return l.projects[m.bmc.project][m.instance]
}
