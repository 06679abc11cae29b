package world

import (
	"cmp"
	"crypto/tls"
	"encoding/pem"
	"log"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd/daemon"
)

// Condition is how an LXD, or the rack controller, answers.
type Condition string

// The conditions. A hanging LXD accepts connections and never answers; MAAS gives up after
// 120 s. A rack controller is "ok" or "unreachable".
const (
	ConditionOK          Condition = "ok"
	ConditionUnreachable Condition = "unreachable"
	ConditionSlow        Condition = "slow"
	ConditionHanging     Condition = "hanging"
)

// LXD is the real state of an LXD, whatever MAAS knows of it.
type LXD struct {
	Address   string // host:port
	Name      string // name of the first model that describes it, or of its machine
	Condition Condition
	// Architecture of the server and its VMs, as MAAS spells it: "amd64/generic".
	Architecture string
	Cores        int
	MemoryMiB    int64
	// HugePagesMiB is the part of the memory that is reserved as huge pages.
	HugePagesMiB int64
	Version      string
	Pools        []daemon.StoragePool
	Password     string
	Trusted      []daemon.Trust
	Osystem      string
	Series       string
	MAC          string    // MAC of its first NIC, by which MAAS finds its machine
	Subnets      []*Subnet // subnets of its bridges
	NICSubnet    *Subnet   // subnet of its first NIC, or nil
	BridgeMACs   map[*Subnet]string
	Projects     map[string]map[string]*Instance // by project and name
	HostMachine  *Machine                        // its machine in MAAS, or nil

	Metal  *Machine // the machine whose first boot made it; nil for an LXD of the model
	Listen string   // the port, if it listens on all addresses of Metal
	Wiped  bool     // its machine was released

	Peak             ResourceUse
	ExcessByResource map[string]Excess // by resource

	Lent LentLXD // nil for a simulated one

	LXDObjects
}

// BMC holds the parameters that power type lxd shares: address, project and credentials.
// MAAS has one row for all machines with the same three values. A VM host is such a row.
type BMC struct {
	Address, Project string
	Certificate, Key string
	Password         string
	HasPassword      bool
	Generated        bool // MAAS made the certificate
	Host             *VMHost
	checkedPair      [2]string // certificate and key of the last check
	keyProblem       string
}

// KeyProblem is the reason why the certificate and its key cannot be used, or empty
// (provisioningserver/certificates.py).
func (b *BMC) KeyProblem() string {
	if pair := [2]string{b.Certificate, b.Key}; b.checkedPair != pair {
		b.checkedPair, b.keyProblem = pair, pairProblem(b.Certificate, b.Key)
	}
	return b.keyProblem
}

func pairProblem(certificate, key string) string {
	if certificate == "" && key == "" {
		return ""
	}
	for _, text := range []string{certificate, key} {
		if block, _ := pem.Decode([]byte(text)); block == nil {
			return "Invalid PEM material"
		}
	}
	if _, err := tls.X509KeyPair([]byte(certificate), []byte(key)); err != nil {
		return "Private and public keys don't match"
	}
	return ""
}

// RowKey identifies the BMC's row as MAAS does.
func (b *BMC) RowKey() string { return b.Address + " " + b.Project + " " + b.Certificate }

// NormalizeLXDAddress converts an address in a user's form to host:port.
func NormalizeLXDAddress(address string) string {
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

// LXDAt is the LXD that listens at an address, or nil.
func (w *World) LXDAt(address string) *LXD {
	address = NormalizeLXDAddress(address)
	if l := w.LXDs[address]; l != nil {
		return l
	}
	for _, l := range w.LXDs {
		if l.listensAt(address) {
			return l
		}
	}
	if original := w.Keeper.OriginalAddress(address); original != "" {
		return w.LXDAt(original)
	}
	return nil
}

// EffectiveCondition is how the LXD answers now. It is unreachable while its machine is
// off or runs another system.
func (l *LXD) EffectiveCondition() Condition {
	if l.Wiped || l.Metal != nil && !l.Metal.runsSystem() {
		return ConditionUnreachable
	}
	return l.Condition
}

// Instances are the instances of a project, in order of creation.
func (l *LXD) Instances(project string) []*Instance {
	l.SyncInstances()
	return slices.SortedFunc(maps.Values(l.Projects[project]), func(a, b *Instance) int {
		return cmp.Compare(a.Number, b.Number)
	})
}

// ListedInstances are the instances that LXD lists for MAAS: all but those that are still
// being created.
func (l *LXD) ListedInstances(project string) []*Instance {
	return slices.DeleteFunc(l.Instances(project), func(i *Instance) bool { return i.Busy == "create" })
}

// EnsureProject makes the project unless it exists.
func (l *LXD) EnsureProject(name string) {
	if l.Projects[name] != nil {
		return
	}
	l.Projects[name] = map[string]*Instance{}
	l.InitProject(name)
	if l.Lent != nil {
		if err := l.Lent.MakeProject(name); err != nil {
			log.Printf("maassim: the LXD %s: %v", l.Name, err)
		}
	}
}

// Remove removes an instance and the volumes that MAAS made for it.
func (l *LXD) Remove(i *Instance) {
	if l.Lent != nil {
		l.Lent.Remove(i)
	} else if l.Projects[i.Project][i.Name] == i {
		delete(l.Projects[i.Project], i.Name)
		l.removeVolumesOf(i)
	}
}

// DefaultPool is the storage pool for disks that name none.
func (l *LXD) DefaultPool() string {
	for _, p := range l.Pools {
		if p.Default {
			return p.Name
		}
	}
	return l.Pools[0].Name
}

// HasPool tells whether there is a storage pool of that name.
func (l *LXD) HasPool(name string) bool {
	return slices.ContainsFunc(l.Pools, func(p daemon.StoragePool) bool { return p.Name == name })
}

// LXDInstance is the instance of a machine with power type lxd, or nil if it is gone.
func (m *Machine) LXDInstance() *Instance {
	if m.BMC == nil {
		return nil
	}
	l := m.World.LXDAt(m.BMC.Address)
	if l == nil {
		return nil
	}
	l.SyncInstances()
	return l.Projects[m.BMC.Project][m.Instance]
}

// IsAtLeast tells whether the LXD is of that version or a later one.
func (l *LXD) IsAtLeast(v daemon.Version) bool { return daemon.IsAtLeast(l.Version, v) }

// SyncInstances updates the known instances of a real LXD from its current list.
func (l *LXD) SyncInstances() {
	if l.Lent != nil {
		l.Lent.SyncInstances()
	}
}

// GiveBack returns a real LXD to its lender.
func (l *LXD) GiveBack() {
	if l.Lent != nil {
		l.Lent.GiveBack()
	}
}

// ProjectNames are the names of the projects of an LXD.
func ProjectNames(l *LXD) map[string]string {
	names := map[string]string{}
	for name := range l.Projects {
		names[name] = name
	}
	return names
}
