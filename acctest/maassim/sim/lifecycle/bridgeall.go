package lifecycle

import (
	"maps"
	"slices"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// maxInterfaceName is Linux's limit, which MAAS keeps to for names of its own.
const maxInterfaceName = 15

// isConfigured says whether an interface is more than up (models/interface.py).
func isConfigured(n *world.NIC) bool {
	return slices.ContainsFunc(n.Links, func(l *world.Link) bool { return l.Mode != world.LinkUp })
}

// BridgeAll puts a bridge on every configured NIC for the time of a deployment:
// what bridge_all=true asks for. The bridge takes the links over.
func BridgeAll(m *world.Machine, params rest.Object) {
	for _, n := range physicalNICs(m) {
		if !isConfigured(n) {
			continue
		}
		m.NICs = append(m.NICs, &world.NIC{
			ID: m.World.NextID("interface"), Name: bridgeName(n.Name), MAC: n.MAC, Kind: "bridge", VLAN: n.VLAN, Parents: []*world.NIC{n}, Links: n.Links,
			Params: maps.Clone(params), Acquired: true,
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

// removeAcquiredBridges takes away the bridges that were made since the machine was acquired:
// a release gives their links to what is below them, and takes what is on them alone
// along (models/node.py, release_interface_config). Bonds and VLAN interfaces stay.
func removeAcquiredBridges(m *world.Machine) {
	for _, b := range slices.Clone(m.NICs) {
		if b.Acquired {
			b.Parents[0].Links = b.Links
			world.RemoveNIC(m, b)
		}
	}
}
