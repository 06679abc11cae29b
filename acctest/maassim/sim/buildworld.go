package sim

import (
	"cmp"
	"errors"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/driver"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/hosts"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lifecycle"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd/daemon"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/site"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/storage"
)

// buildWorld makes the world of a checked model.
func buildWorld(k *world.Keeper, m Model) *world.World {
	w := &world.World{
		Keeper: k, Latency: world.Latency(m.Latency), Version: m.MAASVersion, Architectures: m.Architectures, ImageArchitectures: m.ImageArchitectures, Rand: rand.New(rand.NewPCG(uint64(m.Seed), 1)), RackCondition: world.ConditionOK, Site: site.New(),
		LastID: map[string]int{}, LastDeployed: map[string]time.Time{}, Zones: map[int]*world.Zone{}, Pools: map[int]*world.Pool{}, Domains: map[int]*world.Domain{}, Spaces: map[int]*world.Space{}, StaticRoutes: map[int]*world.StaticRoute{},
		Tags: map[string]*world.Tag{}, Images: m.Images, Machines: map[string]*world.Machine{}, Hosts: map[int]*world.VMHost{},
		BMCs: map[string]*world.BMC{}, LXDs: map[string]*world.LXD{}, Nonces: world.Nonces{Seen: map[string]int64{}}, Done: make(chan struct{}),
		Timers: map[*time.Timer]bool{}, UsedNames: map[string]bool{}, FaultSource: world.NewRandomFaultSource(world.RandomFaults(m.RandomFaults), m.Seed),
	}
	w.RackID = w.NewSystemID()
	w.NextID("scriptset") // the rack controller's own set
	w.LastID["packagerepository"], w.LastID["bootsource"] = len(w.Site.Repositories), len(w.Site.BootSources)
	w.Users = []*world.User{world.NewUser("admin", m.AdminKey, true), world.NewUser("user1", m.UserKey, false)}
	buildNames(w, m)
	for _, sm := range m.Subnets {
		buildSubnet(w, sm)
	}
	for _, h := range m.Hosts {
		buildHost(w, h)
	}
	if m.MAASVersion == VersionGone {
		dropVMHosts(w)
	}
	for _, mm := range m.Machines {
		buildMachine(w, mm)
	}
	hosts.ScheduleRandomRefresh(w)
	return w
}

// buildNames makes zones, pools, domains and tags. The ids of pools and domains begin at
// 0, those of zones at 1.
func buildNames(w *world.World, m Model) {
	w.AddZone("default", "")
	for _, name := range m.Zones {
		w.AddZone(name, "")
	}
	w.Pools[0] = &world.Pool{Name: "default", Description: "Default pool"}
	for _, name := range m.Pools {
		w.AddPool(name, "")
	}
	w.Domains[0] = &world.Domain{Name: "maas", Authoritative: true}
	for _, name := range m.Domains {
		w.AddDomain(name)
	}
	for _, name := range m.Tags {
		w.EnsureTag(name)
	}
}

func buildSubnet(w *world.World, m SubnetModel) {
	n := w.AddNetwork(m.Name, netip.MustParsePrefix(m.CIDR), m.Gateway, m.DHCP)
	if !m.Learned {
		w.LearnSubnet(n)
	}
	if m.DynamicStart == "" && m.DHCP {
		m.DynamicStart, m.DynamicEnd = world.DefaultDynamicRange(n.CIDR)
	}
	world.AddRange(w, "dynamic", n, m.DynamicStart, m.DynamicEnd)
	world.AddRange(w, "reserved", n, m.ReservedStart, m.ReservedEnd)
}

// buildHost makes the LXD of a model, if it is new, and its VM host.
func buildHost(w *world.World, h HostModel) {
	l := w.LXDAt(h.Address)
	if l == nil {
		l = buildLXD(w, h)
		if err := driver.BorrowHost(w, l, h.Name, h.Project, h.TrustPassword); err != nil {
			w.BuildError = errors.Join(w.BuildError, err)
			return
		}
	}
	l.EnsureProject(h.Project)
	for _, name := range h.Instances {
		buildInstance(w, l, h.Project, name)
	}
	if h.Unregistered {
		return
	}
	host := hosts.NewVMHost(w, h.Name, newHostBMC(w, l, h))
	host.Zone, host.Pool = w.ZoneNamed(h.Zone), w.PoolNamed(h.Pool)
	host.SetTags(h.Tags)
	host.CPURatio, host.MemRatio = h.CPUOvercommit, h.MemoryOvercommit
	hosts.DiscoverHost(w, host, l)
	hosts.FindHostMachine(w, host, l)
	hosts.TakeInventory(host, l)
	labelHostMachine(host.Machine, h)
}

// labelHostMachine applies the model's description, tags and owner data to the machine of
// a host.
func labelHostMachine(m *world.Machine, h HostModel) {
	for _, name := range h.MachineTags {
		m.World.EnsureTag(name)
		m.AddTag(name)
	}
	if len(h.OwnerData) > 0 {
		m.OwnerData = maps.Clone(h.OwnerData)
	}
}

// buildInstance makes a VM that MAAS does not know.
func buildInstance(w *world.World, l *world.LXD, project, name string) {
	subnets := l.Subnets[:min(1, len(l.Subnets))]
	if l.Lent != nil {
		w.BuildError = errors.Join(w.BuildError, driver.AddForeignVM(w, l, driver.ForeignVM{Project: project, Name: name}, subnets))
		return
	}
	hosts.AddInstance(w, l, project, name, 1, 2048, []world.Volume{{SizeBytes: 8e9, Pool: l.DefaultPool()}}, subnets)
}

// newHostBMC is MAAS's access to the LXD of a model's VM host. The LXD trusts it.
func newHostBMC(w *world.World, l *world.LXD, h HostModel) *world.BMC {
	b := &world.BMC{Address: h.Address, Project: h.Project}
	var err error
	b.Certificate, b.Key, err = hosts.NewCertificatePair("maas")
	w.BuildError = errors.Join(w.BuildError, err)
	if l.Lent != nil {
		w.BuildError = errors.Join(w.BuildError, driver.LentTo(l).Trust(daemon.Trust{Certificate: b.Certificate}))
	}
	l.Trusted = append(l.Trusted, daemon.Trust{Certificate: b.Certificate})
	return b
}

func buildLXD(w *world.World, h HostModel) *world.LXD {
	l := &world.LXD{
		Address: world.NormalizeLXDAddress(h.Address), Name: h.Name, Condition: world.ConditionOK, Architecture: h.Architecture, Cores: h.Cores, MemoryMiB: h.MemoryMiB, HugePagesMiB: h.HugePagesMiB,
		Version: h.LXDVersion, Pools: daemonPools(h.StoragePools), Password: h.TrustPassword, Trusted: daemon.UnrestrictedTrusts(h.TrustedCertificates),
		Osystem: h.OSystem, Series: h.Series, MAC: cmp.Or(strings.ToLower(h.MAC), w.NewMAC()), BridgeMACs: map[*world.Subnet]string{},
		Projects: map[string]map[string]*world.Instance{}, LXDObjects: world.NewLXDObjects(),
	}
	l.EnsureProject("default")
	for _, n := range w.Networks {
		isNICs := h.NICSubnet == n.Name || h.NICSubnet == n.CIDR.String()
		if isNICs {
			l.NICSubnet = n
		}
		if h.Subnets == nil && !isNICs || rest.HasAny(h.Subnets, n.Name, n.CIDR.String()) {
			l.Subnets = append(l.Subnets, n)
			l.BridgeMACs[n] = w.NewMAC()
		}
	}
	l.FillDefaultProfile()
	w.LXDs[l.Address] = l
	return l
}

// daemonPools are a model's storage pools in LXD's form.
func daemonPools(models []StoragePoolModel) (pools []daemon.StoragePool) {
	for _, m := range models {
		pools = append(pools, daemon.StoragePool(m))
	}
	return pools
}

// buildMachine makes a bare-metal machine in the status of its model.
func buildMachine(w *world.World, mm MachineModel) {
	m := w.NewMachine(mm.Hostname)
	m.PowerType, m.PowerState, m.Description = "manual", "unknown", mm.Description
	m.Monitored = true // a server in a rack has a BMC
	m.Zone, m.Pool, m.Domain = w.ZoneNamed(mm.Zone), w.PoolNamed(mm.Pool), w.DomainNamed(mm.Domain)
	m.Cores, m.MemoryMiB = mm.Cores, mm.MemoryMiB
	m.FirstBoot, m.VendorData, m.Architecture = world.FirstBoot(mm.FirstBoot), mm.VendorData, mm.Architecture
	if !mm.NoDisk {
		for _, sizeGB := range slices.Concat([]int64{mm.DiskGB}, mm.MoreDisksGB) {
			m.AddDisk(sizeGB*1e9, "", []string{"ssd"}, "")
		}
		m.Storage.HardwareDisks = storage.AsFoundDisks(&m.Storage)
	}
	if !mm.NoNIC {
		m.AddNIC(cmp.Or(strings.ToLower(mm.MAC), w.NewMAC()), w.Subnets[0])
		for range mm.MoreNICs {
			m.AddNIC(w.NewMAC(), w.Subnets[0])
		}
	}
	for _, name := range mm.Tags {
		w.EnsureTag(name)
		m.AddTag(name)
	}
	if mm.Status == "New" {
		return
	}
	m.ResetLinks()
	lifecycle.ApplyDefaultLayout(m)
	lifecycle.FinishCommissioning(m)
	m.PowerQueryJob.Cancel()
	m.PowerState = "unknown"
	moveToStatus(w, m, mm.Status)
}

// moveToStatus moves a Ready machine on to a resting status.
func moveToStatus(w *world.World, m *world.Machine, status string) {
	switch status {
	case "Broken":
		m.SetStatus(world.StatusBroken)
	case "Allocated", "Deployed":
		lifecycle.AcquireMachine(m, w.Users[0], "", "")
	}
	if status == "Deployed" {
		m.AssignAddresses()
		m.Osystem, m.Series = "ubuntu", "jammy"
		m.SetStatus(world.StatusDeployed)
		m.Netboot = false
	}
}
