package sim

import (
	"errors"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// buildWorld makes the world of a model that was checked.
func buildWorld(s *Sim, m Model) *world {
	w := &world{
		sim: s, model: m, rand: rand.New(rand.NewPCG(uint64(m.Seed), 1)), rack: OK,
		lastID: map[string]int{}, zones: map[int]*zone{}, pools: map[int]*pool{}, domains: map[int]*domain{},
		tags: map[string]*tag{}, images: m.Images, machines: map[string]*machine{}, hosts: map[int]*vmHost{},
		bmcs: map[string]*bmc{}, lxds: map[string]*lxdServer{}, nonces: nonces{seen: map[string]int64{}}, done: make(chan struct{}),
		timers: map[*time.Timer]bool{}, usedNames: map[string]bool{}, nasty: newNastiness(m.Nasty, m.Seed),
	}
	w.rackID = w.newSystemID()
	w.nextID("scriptset") // the rack's own
	w.users = []*user{newUser("admin", m.AdminKey, true), newUser("user1", m.UserKey, false)}
	w.buildNames(m)
	for i, sm := range m.Subnets {
		w.buildSubnet(i, sm)
	}
	for _, h := range m.Hosts {
		w.buildHost(h)
	}
	if m.MAASVersion == VersionGone {
		w.dropVMHosts()
	}
	for _, mm := range m.Machines {
		w.buildMachine(mm)
	}
	w.scheduleSync()
	return w
}

func newUser(name, key string, admin bool) *user {
	parts := strings.Split(key, ":")
	return &user{name: name, email: name + "@example.com", admin: admin, consumer: parts[0], token: parts[1], secret: parts[2]}
}

// buildNames makes zones, pools, domains and tags. Pools and domains count
// from 0, zones from 1.
func (w *world) buildNames(m Model) {
	w.addZone("default", "")
	for _, name := range m.Zones {
		w.addZone(name, "")
	}
	w.pools[0] = &pool{name: "default", description: "Default pool"}
	for _, name := range m.Pools {
		w.addPool(name, "")
	}
	w.domains[0] = &domain{name: "maas", authoritative: true}
	for _, name := range m.Domains {
		w.addDomain(name)
	}
	for _, name := range m.Tags {
		w.ensureTag(name)
	}
}

func (w *world) addZone(name, description string) *zone {
	z := &zone{id: w.nextID("zone"), name: name, description: description}
	w.zones[z.id] = z
	return z
}

func (w *world) addPool(name, description string) *pool {
	p := &pool{id: w.nextID("pool"), name: name, description: description}
	w.pools[p.id] = p
	return p
}

func (w *world) addDomain(name string) *domain {
	d := &domain{id: w.nextID("domain"), name: name, authoritative: true}
	w.domains[d.id] = d
	return d
}

// ensureTag makes the tag unless it exists.
func (w *world) ensureTag(name string) *tag {
	if w.tags[name] == nil {
		w.tags[name] = &tag{name: name}
	}
	return w.tags[name]
}

func (w *world) defaultZone() *zone { return w.zones[1] }

func (w *world) buildSubnet(i int, m SubnetModel) {
	f := &fabric{id: i, name: "fabric-" + itoa(i)}
	v := &vlan{id: i + 1, mtu: 1500, name: "untagged", fabric: f, dhcp: m.DHCP}
	n := &subnet{id: i + 1, name: m.Name, cidr: netip.MustParsePrefix(m.CIDR), gateway: m.Gateway, vlan: v}
	w.networks = append(w.networks, n)
	if !m.Learned {
		w.learn(n)
	}
	if m.DynamicStart == "" && m.DHCP {
		m.DynamicStart, m.DynamicEnd = upperPart(n.cidr)
	}
	w.addRange("dynamic", n, m.DynamicStart, m.DynamicEnd)
	w.addRange("reserved", n, m.ReservedStart, m.ReservedEnd)
}

// learn makes a network known to MAAS, once.
func (w *world) learn(n *subnet) {
	if !slices.Contains(w.subnets, n) {
		w.fabrics, w.vlans, w.subnets = append(w.fabrics, n.vlan.fabric), append(w.vlans, n.vlan), append(w.subnets, n)
	}
}

func (w *world) addRange(kind string, n *subnet, start, end string) {
	if start == "" || end == "" {
		return
	}
	w.ranges = append(w.ranges, &ipRange{id: w.nextID("iprange"), kind: kind, start: netip.MustParseAddr(start), end: netip.MustParseAddr(end), subnet: n})
}

// upperPart is the last third of a network, without its broadcast address.
func upperPart(network netip.Prefix) (start, end string) {
	size := 1 << (32 - network.Bits())
	return offset(network, size-size/3).String(), offset(network, size-2).String()
}

// offset is the nth address of a network.
func offset(network netip.Prefix, n int) netip.Addr {
	b := network.Addr().As4()
	v := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	v += uint32(n)
	return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)})
}

// buildHost makes the LXD of a model, if it is a new one, and its VM host.
func (w *world) buildHost(h HostModel) {
	l := w.lxdAt(h.Address)
	if l == nil {
		l = w.buildLXD(h)
		if err := w.borrowHost(l, h); err != nil {
			w.problem = errors.Join(w.problem, err)
			return
		}
	}
	l.ensureProject(h.Project)
	for _, name := range h.Instances {
		w.buildInstance(l, h.Project, name)
	}
	if h.Unregistered {
		return
	}
	host := w.newHost(h.Name, w.hostBMC(l, h))
	host.zone, host.pool = w.zoneNamed(h.Zone), w.poolNamed(h.Pool)
	host.setTags(h.Tags)
	host.cpuRatio, host.memRatio = h.CPUOvercommit, h.MemoryOvercommit
	w.discover(host, l)
	w.findHost(host, l)
	host.takeInventory(l)
	host.machine.label(h)
}

// label gives the machine of a host what its model says of it.
func (m *machine) label(h HostModel) {
	for _, name := range h.MachineTags {
		m.w.ensureTag(name)
		m.addTag(name)
	}
	if len(h.OwnerData) > 0 {
		m.ownerData = maps.Clone(h.OwnerData)
	}
}

// buildInstance makes a VM that MAAS does not know.
func (w *world) buildInstance(l *lxdServer, project, name string) {
	subnets := l.subnets[:min(1, len(l.subnets))]
	if l.lent != nil {
		w.problem = errors.Join(w.problem, w.addReal(l, Instance{Project: project, Name: name}, subnets))
		return
	}
	w.addInstance(l, project, name, 1, 2048, []volume{{sizeBytes: 8e9, pool: l.defaultPool()}}, subnets)
}

// hostBMC is how MAAS reaches the LXD of a model's VM host, which lets it in.
func (w *world) hostBMC(l *lxdServer, h HostModel) *bmc {
	b := &bmc{address: h.Address, project: h.Project, certificate: "sim", key: "sim"}
	if l.lent != nil {
		var err error
		b.certificate, b.key, err = newPair("maas")
		w.problem = errors.Join(w.problem, err, l.trustReal(trust{certificate: b.certificate}))
	}
	l.trusted = append(l.trusted, trust{certificate: b.certificate})
	return b
}

func (w *world) buildLXD(h HostModel) *lxdServer {
	l := &lxdServer{
		address: lxdAddress(h.Address), name: h.Name, condition: OK, cores: h.Cores, memoryMiB: h.MemoryMiB,
		version: h.LXDVersion, pools: slices.Clone(h.StoragePools), password: h.TrustPassword, trusted: trustsAll(h.TrustedCertificates),
		osystem: h.OSystem, series: h.Series, mac: or(strings.ToLower(h.MAC), w.newMAC()), bridgeMACs: map[*subnet]string{},
		projects: map[string]map[string]*instance{}, lxdWorld: newLXDWorld(),
	}
	l.ensureProject("default")
	for _, n := range w.networks {
		isNICs := h.NICSubnet == n.name || h.NICSubnet == n.cidr.String()
		if isNICs {
			l.nicSubnet = n
		}
		if h.Subnets == nil && !isNICs || contains(h.Subnets, n.name, n.cidr.String()) {
			l.subnets = append(l.subnets, n)
			l.bridgeMACs[n] = w.newMAC()
		}
	}
	l.furnishDefaultProfile()
	w.lxds[l.address] = l
	return l
}

func contains(names []string, wanted ...string) bool {
	for _, name := range names {
		for _, w := range wanted {
			if name == w {
				return true
			}
		}
	}
	return false
}

// buildMachine makes a bare-metal machine in the status of its model.
func (w *world) buildMachine(mm MachineModel) {
	m := w.newMachine(mm.Hostname)
	m.powerType, m.powerState, m.description = "manual", "unknown", mm.Description
	m.zone, m.pool, m.domain = w.zoneNamed(mm.Zone), w.poolNamed(mm.Pool), w.domainNamed(mm.Domain)
	m.cores, m.memoryMiB = mm.Cores, mm.MemoryMiB
	m.firstBoot, m.vendorData, m.architecture = mm.FirstBoot, mm.VendorData, mm.Architecture
	if !mm.NoDisk {
		for _, sizeGB := range slices.Concat([]int64{mm.DiskGB}, mm.MoreDisksGB) {
			m.addDisk(sizeGB*1e9, "", []string{"ssd"}, "")
		}
	}
	if !mm.NoNIC {
		m.addNIC(or(strings.ToLower(mm.MAC), w.newMAC()), w.subnets[0])
	}
	for _, name := range mm.Tags {
		w.ensureTag(name)
		m.addTag(name)
	}
	if mm.Status == "New" {
		return
	}
	m.autoLinks()
	m.finishCommissioning()
	m.query.cancel()
	m.powerState = "unknown"
	w.settleAt(m, mm.Status)
}

// settleAt moves a Ready machine on to a resting status.
func (w *world) settleAt(m *machine, status string) {
	switch status {
	case "Broken":
		m.status = StatusBroken
	case "Allocated", "Deployed":
		m.status, m.owner = StatusAllocated, w.users[0]
	}
	if status == "Deployed" {
		m.assignAddresses()
		m.osystem, m.series = "ubuntu", "jammy"
		m.status, m.netboot = StatusDeployed, false
	}
}
