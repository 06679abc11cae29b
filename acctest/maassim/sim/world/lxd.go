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

// Condition says how an LXD, or the rack controller, answers.
type Condition string

// The conditions. A hanging LXD takes connections and never answers; MAAS
// gives up after 120 s. A rack is "ok" or "unreachable".
const (
	ConditionOK          Condition = "ok"
	ConditionUnreachable Condition = "unreachable"
	ConditionSlow        Condition = "slow"
	ConditionHanging     Condition = "hanging"
)

// LXD is an LXD as it is, whatever MAAS knows of it.
type LXD struct {
	Address   string // host:port
	Name      string // of the first model that describes it, or of its machine
	Condition Condition
	Cores     int
	MemoryMiB int64
	// HugePagesMiB is what of the memory is set aside as huge pages.
	HugePagesMiB int64
	Version      string
	Pools        []daemon.StoragePool
	Password     string
	Trusted      []daemon.Trust
	Osystem      string
	Series       string
	MAC          string    // of its first NIC, by which MAAS knows its machine
	Subnets      []*Subnet // of its bridges
	NICSubnet    *Subnet   // of its first NIC, nil for none
	BridgeMACs   map[*Subnet]string
	Projects     map[string]map[string]*Instance // by project and name
	HostMachine  *Machine                        // the machine that MAAS keeps for it, nil for none

	Metal  *Machine // whose first boot made it; nil for one of the model
	Listen string   // where it listens on all of the metal's addresses: the port
	Wiped  bool     // its machine was released

	Peak             ResourceUse
	ExcessByResource map[string]Excess // by what there was too little of

	Lent LentLXD // nil for a simulated one

	LXDObjects
}

// BMC is what power type lxd shares: address, project and credentials. MAAS
// keeps one row for machines with the same three; a VM host is such a row.
type BMC struct {
	Address, Project string
	Certificate, Key string
	Password         string
	HasPassword      bool
	Generated        bool // MAAS made the certificate
	Host             *VMHost
	checkedPair      [2]string // certificate and key, as far as they were compared
	keyProblem       string
}

// KeyProblem is why the certificate and its key cannot be used, empty if they can
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

// RowKey tells BMCs apart as MAAS does.
func (b *BMC) RowKey() string { return b.Address + " " + b.Project + " " + b.Certificate }

// NormalizeLXDAddress is host:port of an address as users write it.
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

// LXDAt is the LXD that listens there, nil if nothing does.
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

// EffectiveCondition is how the LXD answers: not at all while its machine is off, or runs
// something else.
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

// ListedInstances are the instances as LXD lists them to MAAS: without those that are
// still being created.
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

// DefaultPool is the storage pool that disks go to which name none.
func (l *LXD) DefaultPool() string {
	for _, p := range l.Pools {
		if p.Default {
			return p.Name
		}
	}
	return l.Pools[0].Name
}

// HasPool says whether there is a storage pool of that name.
func (l *LXD) HasPool(name string) bool {
	return slices.ContainsFunc(l.Pools, func(p daemon.StoragePool) bool { return p.Name == name })
}

// LXDInstance is the VM behind a machine of power type lxd, nil if it is gone.
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

// IsAtLeast says whether the LXD is of that version or a later one.
func (l *LXD) IsAtLeast(v daemon.Version) bool { return daemon.IsAtLeast(l.Version, v) }

// SyncInstances makes what is known of the instances of a real LXD agree with what it
// lists now.
func (l *LXD) SyncInstances() {
	if l.Lent != nil {
		l.Lent.SyncInstances()
	}
}

// GiveBack returns the LXD, if it is a real one.
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
