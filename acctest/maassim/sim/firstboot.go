package sim

import (
	"net"
	"slices"
	"strings"
)

// FirstBoot says how the user-data of a deployed machine ends.
type FirstBoot string

// How a first boot ends. One that fails leaves no LXD, and one that never ends
// stays without: MAAS says Deployed in all cases.
const (
	BootOK    FirstBoot = "ok"
	BootFails FirstBoot = "fails"
	BootNever FirstBoot = "never"
	// BootReal is not simulated: something outside boots what [Sim.Installed]
	// says, asks the metadata service, and is Deployed once it has asked for its
	// user-data. An LXD is looked for at the machine's address when MAAS does.
	BootReal FirstBoot = "real"
)

func (f FirstBoot) valid() bool {
	return slices.Contains([]FirstBoot{"", BootOK, BootFails, BootNever, BootReal}, f)
}

// The types of events that a first boot leaves (provisioningserver/events.py).
const (
	cloudInit       = "Node status event"
	cloudInitFailed = "Node post-installation failure"
)

// startFirstBoot lets a machine that was deployed run its user-data. VMs are
// not looked into.
func (m *machine) startFirstBoot() {
	m.wipeLXD()
	m.boot.cancel()
	if m.bmc != nil || m.firstBoot == BootReal {
		return
	}
	if m.bootHeld = m.firstBoot == BootNever; m.bootHeld {
		m.note("DEBUG", cloudInit, "'cloudinit' running modules for final", "")
		return
	}
	m.boot = m.w.later(m.w.model.Latency.FirstBoot, m.passFirstBoot)
}

// passFirstBoot is the end of the user-data: with an LXD, if it made one.
func (m *machine) passFirstBoot() {
	if m.firstBoot == BootFails {
		m.note("ERROR", cloudInitFailed, "'cloudinit' "+or(m.bootMessage, "running modules for final failed"), "")
		return
	}
	for _, n := range m.nics {
		for _, l := range n.links {
			if l.mode == "dhcp" && l.ip == "" && l.subnet != nil {
				l.ip = m.w.leaseAddress(l.subnet)
			}
		}
	}
	b := m.runUserData()
	listens := m.serveLXD(b)
	switch {
	case len(b.problems) == 0:
		m.note("DEBUG", cloudInit, "'cloudinit' running modules for final: SUCCESS", "")
	case listens:
		m.note("WARNING", cloudInit, "'cloudinit' "+strings.Join(b.problems, "; "), "")
	default:
		m.note("ERROR", cloudInitFailed, "'cloudinit' "+strings.Join(b.problems, "; "), "")
	}
}

// runUserData is what the user-data makes of the machine's own LXD.
func (m *machine) runUserData() *bootedLXD {
	b := &bootedLXD{version: preinstalled[m.series], series: m.series, addresses: m.addresses(), projects: []string{"default"}, files: map[string]string{}, profiles: map[string]map[string]map[string]any{}, config: map[string]map[string]string{}}
	for _, n := range m.nics {
		b.interfaces = append(b.interfaces, n.name)
	}
	for i, d := range m.disks {
		b.disks = append(b.disks, bootDisk{paths: []string{"/dev/" + d.name, "/dev/disk/by-dname/" + d.name, d.idPath}, sizeBytes: d.sizeBytes, system: i == 0})
	}
	parts, err := readParts(m.userData)
	if err != nil {
		b.problem("cannot read the user-data: %v", err)
	}
	b.run(parts)
	return b
}

// serveLXD puts the machine's LXD on the network, where it listens.
func (m *machine) serveLXD(b *bootedLXD) bool {
	host, port, _ := net.SplitHostPort(b.listen)
	if b.version == "" || b.listen == "" || isLoopback(host) && !slices.Contains(b.addresses, host) || len(b.addresses) == 0 {
		return false
	}
	if isWildcard(host) {
		host = b.addresses[0]
		b.listen = port
	}
	l := &lxdServer{
		address: net.JoinHostPort(host, port), name: m.hostname, condition: OK, cores: m.cores, memoryMiB: m.memoryMiB,
		version: b.version, pools: b.storagePools(), password: b.password, trusted: b.trusted, osystem: m.osystem,
		series: m.series, mac: m.nics[0].mac, bridgeMACs: map[*subnet]string{}, projects: map[string]map[string]*instance{},
		metal: m, listen: b.listen, lxdWorld: newLXDWorld(),
	}
	if m.w.lxds[l.address] != nil {
		b.problem("%s: another server has this address", l.address)
		return false
	}
	for _, name := range b.projects {
		l.ensureProject(name)
	}
	l.furnish(b)
	for _, n := range m.nics {
		if s := m.w.subnetOn(n.vlan); s != nil && n.kind == "bridge" && !slices.Contains(l.subnets, s) {
			l.subnets, l.bridgeMACs[s] = append(l.subnets, s), n.mac
		}
	}
	if !m.borrowMetal(l, b) {
		return false
	}
	m.w.lxds[l.address] = l
	return true
}

// listensAt says whether an LXD on a machine answers at host:port: at each of
// the machine's addresses and names, unless it is bound to one.
func (l *lxdServer) listensAt(address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil || l.metal == nil || l.listen != port {
		return false
	}
	m := l.metal
	return slices.Contains(m.addresses(), host) || m.isNamed(host)
}

// runsSystem says whether the machine runs what was deployed on it.
func (m *machine) runsSystem() bool {
	return m.status == StatusDeployed && m.powerState != "off" && m.powerState != "error"
}

// wipeLXD takes the machine's LXD away with all that is in it.
func (m *machine) wipeLXD() {
	for address, l := range m.w.lxds {
		if l.metal == m {
			l.giveBack()
			l.wiped, l.projects = true, map[string]map[string]*instance{}
			delete(m.w.lxds, address)
			m.w.wiped = append(m.w.wiped, l)
		}
	}
}

// fixAddresses is what the inventory of an LXD makes of the machine's links:
// the addresses that it finds there are fixed from then on.
func (m *machine) fixAddresses() {
	for _, n := range m.nics {
		for _, l := range n.links {
			if l.mode == "auto" && l.ip != "" {
				l.mode = "static"
			}
		}
	}
}
