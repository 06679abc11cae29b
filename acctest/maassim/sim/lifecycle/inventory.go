package lifecycle

import (
	"cmp"
	"slices"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/storage"
)

// takeInventory records the hardware that commissioning finds. With skip_storage MAAS
// neither reads the disks nor applies a layout.
func takeInventory(m *world.Machine, o CommissionOptions) {
	if h := m.Hardware; h != nil {
		m.Cores, m.MemoryMiB, m.HardwareInfo = h.Cores, h.MemoryMiB, h.Info
	}
	if i := m.LXDInstance(); i != nil {
		m.Cores, m.MemoryMiB = i.Cores, i.MemoryMiB
		m.Storage.HardwareDisks = world.FoundDisks(i)
		addNewNICs(m, i)
	}
	if o.KeepStorage {
		return
	}
	storage.TakeInventory(&m.Storage)
	ApplyDefaultLayout(m)
}

// addNewNICs records the NICs that an instance got since MAAS last read them.
func addNewNICs(m *world.Machine, i *world.Instance) {
	for n, mac := range i.MACs {
		if !slices.ContainsFunc(m.NICs, func(known *world.NIC) bool { return known.MAC == mac }) {
			m.AddNIC(mac, i.Subnets[n])
		}
	}
}

// updatePorts records the machine's ports and removes all other interfaces
// (builtin_scripts/network.py, update_node_interfaces).
func updatePorts(m *world.Machine) {
	ports := slices.SortedFunc(slices.Values(m.Hardware.Ports), func(a, b world.Port) int { return cmp.Compare(a.Name, b.Name) })
	var found []*world.NIC
	for _, p := range ports {
		i := slices.IndexFunc(m.NICs, func(n *world.NIC) bool { return n.Kind == "physical" && n.MAC == p.MAC })
		var n *world.NIC
		if i >= 0 {
			n = m.NICs[i]
		} else {
			n = m.AddNIC(p.MAC, nil)
		}
		updatePort(m, n, p)
		found = append(found, n)
	}
	slices.SortFunc(found, func(a, b *world.NIC) int { return cmp.Compare(a.ID, b.ID) })
	m.NICs = found
}

// updatePort records one port. A port without a cable is on no VLAN. A port on an unknown
// VLAN is alone on a new one (update_physical_interface).
func updatePort(m *world.Machine, n *world.NIC, p world.Port) {
	n.Name, n.Vendor, n.Product, n.Firmware = p.Name, p.Vendor, p.Product, p.Firmware
	n.Speed, n.LinkSpeed, n.Down, n.RealSubnet = p.Speed, p.LinkSpeed, p.Unplugged, p.Subnet
	switch {
	case p.Unplugged:
		n.VLAN, n.Discovered = nil, nil
	case p.Subnet != nil && slices.ContainsFunc(n.Discovered, func(d world.Discovery) bool { return d.Subnet == p.Subnet }):
		n.VLAN = p.Subnet.VLAN
	case p.Subnet != nil:
		m.World.LearnSubnet(p.Subnet)
		n.VLAN = p.Subnet.VLAN
		n.Discovered = []world.Discovery{{ID: m.World.NextID("link"), Subnet: p.Subnet, IP: world.LeaseAddress(m.World, p.Subnet)}}
	case n.VLAN == nil:
		n.VLAN = world.GuessOrMakeVLAN(m.World)
	}
}

// ApplyDefaultLayout applies the site's storage layout. If it does not fit, the disks stay
// blank (models/node.py, set_default_storage_layout).
func ApplyDefaultLayout(m *world.Machine) {
	if m.Storage.EffectiveBootDisk() == nil {
		return
	}
	layout, _ := m.World.Site.Settings["default_storage_layout"].(string)
	undo := storage.RecordUndo(&m.Storage)
	sentence, bad := storage.ApplyLayout(&m.Storage, cmp.Or(layout, "flat"), storage.DefaultOptions())
	if sentence != "" || bad != nil {
		undo()
	}
}
