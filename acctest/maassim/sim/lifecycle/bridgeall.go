package lifecycle

import (
	"slices"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// maxInterfaceName is Linux's limit, which MAAS keeps to for names of its own.
const maxInterfaceName = 15

// BridgeAll puts a bridge on every linked NIC for the time of a deployment:
// what bridge_all=true asks for. The bridge takes the links over.
func BridgeAll(m *world.Machine) {
	for _, n := range physicalNICs(m) {
		if len(n.Links) == 0 {
			continue
		}
		m.NICs = append(m.NICs, &world.NIC{
			ID: m.World.NextID("interface"), Name: bridgeName(n.Name), MAC: n.MAC, Kind: "bridge", VLAN: n.VLAN, Parents: []*world.NIC{n}, Links: n.Links,
			Params: rest.Object{"bridge_type": "standard", "bridge_stp": false, "bridge_fd": 0}, Deployed: true,
		})
		n.Links = nil
	}
}

// bridgeName is br-eth0, or b- and the end of a name that would be too long.
func bridgeName(nic string) string {
	if len("br-"+nic) <= maxInterfaceName {
		return "br-" + nic
	}
	return "b-" + nic[max(len(nic)-(maxInterfaceName-len("b-")), 0):]
}

// unbridge undoes BridgeAll: a release gives the links back to the NICs.
func unbridge(m *world.Machine) {
	for _, b := range m.NICs {
		if b.Deployed {
			b.Parents[0].Links = b.Links
		}
	}
	m.NICs = slices.DeleteFunc(m.NICs, func(n *world.NIC) bool { return n.Deployed })
}
