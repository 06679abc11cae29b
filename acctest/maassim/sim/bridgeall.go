package sim

import "slices"

// maxInterfaceName is Linux's limit, which MAAS keeps to for names of its own.
const maxInterfaceName = 15

// bridgeAll puts a bridge on every linked NIC for the time of a deployment:
// what bridge_all=true asks for. The bridge takes the links over.
func (m *machine) bridgeAll() {
	for _, n := range m.physical() {
		if len(n.links) == 0 {
			continue
		}
		m.nics = append(m.nics, &nic{
			id: m.w.nextID("interface"), name: bridgeName(n.name), mac: n.mac, kind: "bridge", vlan: n.vlan, parents: []*nic{n}, links: n.links,
			params: object{"bridge_type": "standard", "bridge_stp": false, "bridge_fd": 0}, deployed: true,
		})
		n.links = nil
	}
}

// bridgeName is br-eth0, or b- and the end of a name that would be too long.
func bridgeName(nic string) string {
	if len("br-"+nic) <= maxInterfaceName {
		return "br-" + nic
	}
	return "b-" + nic[max(len(nic)-(maxInterfaceName-len("b-")), 0):]
}

// unbridge undoes bridgeAll: a release gives the links back to the NICs.
func (m *machine) unbridge() {
	for _, b := range m.nics {
		if b.deployed {
			b.parents[0].links = b.links
		}
	}
	m.nics = slices.DeleteFunc(m.nics, func(n *nic) bool { return n.deployed })
}
