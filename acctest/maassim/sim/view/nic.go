package view

import (
	"fmt"
	"slices"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

func viewNetwork(m *world.Machine, v rest.Object) {
	nics := NICViews(m)
	v["interface_set"], v["boot_interface"] = nics, nil
	if len(nics) > 0 {
		v["boot_interface"] = nics[0]
	}
}

// NICViews are the machine's NICs as an answer shows them.
func NICViews(m *world.Machine) []rest.Object {
	views := []rest.Object{}
	for _, n := range m.NICs {
		views = append(views, NICView(m, n))
	}
	return views
}

// NICView is a NIC as an answer shows it.
func NICView(m *world.Machine, n *world.NIC) rest.Object {
	v := rest.Object{
		"id": n.ID, "system_id": m.SystemID, "name": n.Name, "type": n.Kind, "mac_address": n.MAC,
		"resource_uri": fmt.Sprintf("%snodes/%s/interfaces/%d/", rest.APIRoot, m.SystemID, n.ID),
		"vlan":         nil, "numa_node": 0, "enabled": true, "link_connected": !n.Down,
		"interface_speed": n.Speed, "link_speed": n.LinkSpeed, "sriov_max_vf": 0, "effective_mtu": effectiveMTU(m, n),
		"vendor": rest.TextOrNull(n.Vendor), "product": rest.TextOrNull(n.Product), "firmware_version": n.Firmware,
		"tags": rest.NonNilList(n.Tags), "params": orEmpty(n.Params), "parents": parentNames(n), "children": ChildNames(m, n),
		"links": linkViews(n, m.World), "discovered": discoveredViews(n, m.World),
	}
	if n.VLAN != nil {
		v["vlan"] = VLAN(n.VLAN, m.World)
	}
	if n.Kind != "physical" {
		v["numa_node"] = nil
	}
	return v
}

// orEmpty is a JSON object: {} instead of null.
func orEmpty(params map[string]any) map[string]any {
	if params == nil {
		return rest.Object{}
	}
	return params
}

func parentNames(n *world.NIC) []string {
	names := []string{}
	for _, p := range n.Parents {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return names
}

// ChildNames are the names of the interfaces above a NIC.
func ChildNames(m *world.Machine, parent *world.NIC) []string {
	names := []string{}
	for _, n := range m.NICs {
		for _, p := range n.Parents {
			if p == parent {
				names = append(names, n.Name)
			}
		}
	}
	slices.Sort(names)
	return names
}

func linkViews(n *world.NIC, w *world.World) []rest.Object {
	views := []rest.Object{}
	for _, l := range n.Links {
		v := rest.Object{"id": l.ID, "mode": l.Mode}
		if l.Subnet != nil {
			v["subnet"] = Subnet(l.Subnet, w)
		}
		if l.IP != "" {
			v["ip_address"] = l.IP
		}
		views = append(views, v)
	}
	return views
}

func discoveredViews(n *world.NIC, w *world.World) any {
	if n.Discovered == nil {
		return nil
	}
	views := []rest.Object{}
	for _, d := range n.Discovered {
		views = append(views, rest.Object{"subnet": Subnet(d.Subnet, w), "ip_address": d.IP})
	}
	return views
}

// RackNIC is the interface of MAAS's own server on a subnet.
func RackNIC(w *world.World, n *world.Subnet) rest.Object {
	link := rest.Object{"id": 1, "mode": world.LinkStatic, "ip_address": world.RackAddress(w, n).String(), "subnet": Subnet(n, w)}
	return rest.Object{
		"id": 1, "system_id": w.RackID, "name": world.RackNIC, "type": "physical", "mac_address": "02:77:00:00:00:02",
		"resource_uri": fmt.Sprintf("%snodes/%s/interfaces/1/", rest.APIRoot, w.RackID),
		"vlan":         VLAN(n.VLAN, w), "numa_node": 0, "enabled": true, "link_connected": true,
		"interface_speed": 0, "link_speed": 0, "sriov_max_vf": 0, "effective_mtu": n.VLAN.MTU,
		"vendor": nil, "product": nil, "firmware_version": nil, "tags": []string{}, "params": rest.Object{},
		"parents": []string{}, "children": []string{}, "links": []rest.Object{link}, "discovered": nil,
	}
}

// effectiveMTU is the interface's own MTU or its VLAN's. It is at least that of the
// interfaces above it (models/interface.py, get_effective_mtu).
func effectiveMTU(m *world.Machine, n *world.NIC) int {
	mtu := world.DefaultMTU
	if own, isSet := n.Params["mtu"].(int); isSet {
		mtu = own
	} else if n.VLAN != nil {
		mtu = n.VLAN.MTU
	}
	for _, child := range m.NICs {
		if slices.Contains(child.Parents, n) {
			mtu = max(mtu, effectiveMTU(m, child))
		}
	}
	return mtu
}
