package maas

import (
	"cmp"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
)

const bytesPerGB = 1_000_000_000

// machine converts a machine of MAAS. Its message is the last event, which the machine
// itself can send. So it is reduced to one short line for terminals and logs.
func (m wireMachine) machine() engine.Machine {
	makePrintable(&m.Hostname, &m.FQDN, &m.Owner, &m.Zone.Name, &m.Pool.Name, &m.Domain.Name, &m.Host.Name)
	return engine.Machine{
		SystemID:      m.SystemID,
		Hostname:      m.Hostname,
		FQDN:          m.FQDN,
		Status:        engine.Status(m.Status),
		StatusName:    api.Shorten(m.StatusName),
		StatusMessage: api.Shorten(api.WithoutCredentials(m.StatusText)),
		PowerState:    m.PowerState,
		PowerType:     m.PowerType,
		Locked:        m.Locked,
		Owner:         m.Owner,
		Description:   m.Description,
		Zone:          m.Zone.Name,
		Pool:          m.Pool.Name,
		Domain:        m.Domain.Name,
		Tags:          slices.Sorted(slices.Values(m.TagNames)),
		HostID:        m.Host.ID,
		HostName:      m.Host.Name,
		Cores:         m.CPUCount,
		MemoryMiB:     m.MemoryMiB,
		Architecture:  m.Architecture,
		Disks:         machineDisks(m.Disks),
		Interfaces:    machineInterfaces(m.Interfaces),
		Bridges:       machineBridges(m.Interfaces),
		Children:      childInterfaces(m.Interfaces),
		Gateways:      m.gateways(),
		BootInterface: m.Boot.ID,
		BootDisk:      m.BootDisk.ID,
		Image:         m.image(),
		Kernel:        m.Kernel,
		Ephemeral:     m.Ephemeral,
		HardwareSync:  m.HardwareSync,
		SwapBytes:     m.SwapSize,
		IPAddresses:   m.addresses(),
		OwnerData:     m.OwnerData,
	}
}

// addresses returns the addresses that the machine has: those of its links, and DHCP leases
// while it is deployed. If no link has an address, MAAS's ip_addresses also shows a lease
// from commissioning. Another machine may have that address by now.
func (m wireMachine) addresses() []string {
	linked, dhcp := map[string]bool{}, false
	for _, i := range m.Interfaces {
		for _, l := range i.Links {
			linked[l.IP] = true
			dhcp = dhcp || l.Mode == "dhcp"
		}
	}
	if dhcp && engine.Status(m.Status) == engine.StatusDeployed {
		return m.IPAddresses
	}
	return slices.DeleteFunc(slices.Clone(m.IPAddresses), func(ip string) bool { return !linked[ip] })
}

// machineDisks returns the disks by id, which is the order of sda, sdb, ….
func machineDisks(wire []wireDisk) []engine.MachineDisk {
	sorted := slices.SortedFunc(slices.Values(wire), func(a, b wireDisk) int { return cmp.Compare(a.ID, b.ID) })
	var made []engine.MachineDisk
	for _, d := range sorted {
		made = append(made, engine.MachineDisk{
			ID: d.ID, Name: d.Name, SizeGB: (d.SizeBytes + bytesPerGB/2) / bytesPerGB, Bytes: d.SizeBytes, Pool: d.Pool, Tags: d.Tags,
		})
	}
	return made
}

// machineInterfaces returns the physical interfaces.
func machineInterfaces(wire []wireInterface) []engine.MachineInterface {
	var made []engine.MachineInterface
	for _, i := range interfacesOfType(wire, "physical") {
		made = append(made, engine.MachineInterface{
			ID: i.ID, Name: i.Name, MAC: strings.ToLower(i.MAC), VLAN: i.VLAN.ID, Fabric: i.VLAN.Fabric, MTU: i.Params.MTU, Links: interfaceLinks(i.Links),
		})
	}
	return made
}

// gateways returns the default gateways that a user chose.
func (m wireMachine) gateways() []string {
	var chosen []string
	for _, g := range []wireGateway{m.Gateways.IPv4, m.Gateways.IPv6} {
		if g.LinkID != nil && g.IP != "" {
			chosen = append(chosen, g.IP)
		}
	}
	return chosen
}

// childInterfaces returns the bonds, VLAN interfaces and bridges, by id.
func childInterfaces(wire []wireInterface) []engine.ChildInterface {
	sorted := slices.SortedFunc(slices.Values(wire), func(a, b wireInterface) int { return cmp.Compare(a.ID, b.ID) })
	var made []engine.ChildInterface
	for _, i := range sorted {
		kind := engine.ChildKind(i.Type)
		if kind != engine.ChildBond && kind != engine.ChildVLAN && kind != engine.ChildBridge {
			continue
		}
		made = append(made, engine.ChildInterface{
			ID: i.ID, Kind: kind, Name: i.Name, Parents: i.Parents, VLAN: i.VLAN.ID, VID: i.VLAN.VID, Fabric: i.VLAN.Fabric, MTU: i.Params.MTU, Links: interfaceLinks(i.Links),
			Bond: engine.BondMode{Mode: i.Params.Mode, LACPRate: i.Params.LACPRate, HashPolicy: i.Params.HashPolicy},
		})
	}
	return made
}

func machineBridges(wire []wireInterface) []engine.MachineBridge {
	var made []engine.MachineBridge
	for _, i := range interfacesOfType(wire, "bridge") {
		made = append(made, engine.MachineBridge{ID: i.ID, Name: i.Name, Parents: i.Parents, VLAN: i.VLAN.ID, Links: interfaceLinks(i.Links)})
	}
	return made
}

// interfacesOfType returns the interfaces of a type, by id.
func interfacesOfType(wire []wireInterface, wanted string) []wireInterface {
	sorted := slices.SortedFunc(slices.Values(wire), func(a, b wireInterface) int { return cmp.Compare(a.ID, b.ID) })
	return slices.DeleteFunc(sorted, func(i wireInterface) bool { return i.Type != wanted })
}

func interfaceLinks(wire []wireLink) []engine.InterfaceLink {
	sorted := slices.SortedFunc(slices.Values(wire), func(a, b wireLink) int { return cmp.Compare(a.ID, b.ID) })
	var made []engine.InterfaceLink
	for _, l := range sorted {
		made = append(made, engine.InterfaceLink{Mode: l.Mode, Subnet: l.Subnet.CIDR, IP: l.IP})
	}
	return made
}
