package lifecycle

import (
	"cmp"
	"net"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/boot"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/driver"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd/daemon"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// hasSwap tells whether the deployed system has swap. curtin makes /swap.img unless
// swap_size is 0, and MAAS passes swap_size on only for Ubuntu (preseed.py). A system that
// runs from memory has no swap, and a script of the user-data may switch it off.
func hasSwap(m *world.Machine) bool {
	if m.Ephemeral || m.Osystem == "ubuntu" && m.SwapSize != nil && *m.SwapSize == 0 {
		return false
	}
	return !boot.TurnsSwapOff(m.UserData)
}

// The types of events of a first boot (provisioningserver/events.py).
const (
	CloudInitEvent       = "Node status event"
	CloudInitFailedEvent = "Node post-installation failure"
)

// StartFirstBoot makes a deployed machine run its user-data. The user-data of VMs is not
// run.
func StartFirstBoot(m *world.Machine) {
	removeLXD(m)
	m.BootJob.Cancel()
	if m.BMC != nil || m.FirstBoot == world.BootReal {
		return
	}
	if m.BootNeverEnds = m.FirstBoot == world.BootNever; m.BootNeverEnds {
		m.AddEvent("DEBUG", CloudInitEvent, "'cloudinit' running modules for final", "")
		return
	}
	m.BootJob = m.StartBoot(func() { _ = passFirstBoot(m) })
}

// passFirstBoot ends the first boot, with an LXD if the user-data made one. It returns
// false if cloud-init failed.
func passFirstBoot(m *world.Machine) bool {
	if m.FirstBoot == world.BootFails {
		m.AddEvent("ERROR", CloudInitFailedEvent, "'cloudinit' "+cmp.Or(m.BootMessage, "running modules for final failed"), "")
		return false
	}
	for _, n := range m.NICs {
		for _, l := range n.Links {
			if l.Mode == "dhcp" && l.IP == "" && l.Subnet != nil {
				l.IP = world.LeaseAddress(m.World, l.Subnet)
			}
		}
	}
	b := runUserData(m)
	listens := serveLXD(m, b)
	switch {
	case len(b.Problems) == 0:
		m.AddEvent("DEBUG", CloudInitEvent, "'cloudinit' running modules for final: SUCCESS", "")
	case listens:
		m.AddEvent("WARNING", CloudInitEvent, "'cloudinit' "+strings.Join(b.Problems, "; "), "")
	default:
		m.AddEvent("ERROR", CloudInitFailedEvent, "'cloudinit' "+strings.Join(b.Problems, "; "), "")
		return false
	}
	return true
}

// runUserData runs the user-data and returns the machine's LXD.
func runUserData(m *world.Machine) *boot.LXD {
	b := boot.New(m.Series, m.Addresses())
	for _, n := range m.NICs {
		b.Interfaces = append(b.Interfaces, n.Name)
	}
	for i, d := range m.Storage.Disks {
		b.Disks = append(b.Disks, boot.Disk{Paths: []string{"/dev/" + d.Name, "/dev/disk/by-dname/" + d.Name, d.IDPath}, SizeBytes: d.SizeBytes, System: i == 0})
	}
	b.RunUserData(m.HostData, m.UserData)
	return b
}

// serveLXD makes the machine's LXD reachable where it listens.
func serveLXD(m *world.Machine, b *boot.LXD) bool {
	host, port, _ := net.SplitHostPort(b.Listen)
	if b.Version == "" || b.Listen == "" || daemon.IsLoopback(host) && !slices.Contains(b.Addresses, host) || len(b.Addresses) == 0 {
		return false
	}
	if daemon.IsWildcard(host) {
		host = b.Addresses[0]
		b.Listen = port
	}
	l := &world.LXD{
		Address: net.JoinHostPort(host, port), Name: m.Hostname, Condition: world.ConditionOK, Architecture: m.Architecture, Cores: m.Cores, MemoryMiB: m.MemoryMiB,
		Version: b.Version, Pools: b.StoragePools(), Password: b.Password, Trusted: b.Trusted, Osystem: m.Osystem,
		Series: m.Series, MAC: m.NICs[0].MAC, BridgeMACs: map[*world.Subnet]string{}, Projects: map[string]map[string]*world.Instance{},
		Metal: m, Listen: b.Listen, LXDObjects: world.NewLXDObjects(),
	}
	if m.World.LXDs[l.Address] != nil {
		b.AddProblem("%s: another server has this address", l.Address)
		return false
	}
	for _, name := range b.Projects {
		l.EnsureProject(name)
	}
	l.ApplyBoot(b)
	for _, n := range m.NICs {
		if s := m.World.SubnetOn(n.VLAN); s != nil && n.Kind == "bridge" && !slices.Contains(l.Subnets, s) {
			l.Subnets, l.BridgeMACs[s] = append(l.Subnets, s), n.MAC
		}
	}
	if !driver.BorrowMetal(m, l, b) {
		return false
	}
	m.World.LXDs[l.Address] = l
	return true
}

// removeLXD removes the machine's LXD and everything in it.
func removeLXD(m *world.Machine) {
	for address, l := range m.World.LXDs {
		if l.Metal == m {
			l.GiveBack()
			l.Wiped, l.Projects = true, map[string]map[string]*world.Instance{}
			delete(m.World.LXDs, address)
			m.World.Wiped = append(m.World.Wiped, l)
		}
	}
}

// MakeAddressesStatic makes the addresses of the machine's links static, as MAAS does when
// it takes the inventory of an LXD there.
func MakeAddressesStatic(m *world.Machine) {
	for _, n := range m.NICs {
		for _, l := range n.Links {
			if l.Mode == "auto" && l.IP != "" {
				l.Mode = "static"
			}
		}
	}
}
