package lifecycle

import (
	"maps"
	"slices"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// maxInterfaceName is Linux's limit. MAAS respects it for the names that it makes.
const maxInterfaceName = 15

// isConfigured tells whether an interface has more than a link that is up
// (models/interface.py).
func isConfigured(n *world.NIC) bool {
	return slices.ContainsFunc(n.Links, func(l *world.Link) bool { return l.Mode != world.LinkUp })
}

// BridgeAll puts a bridge on every configured NIC during a deployment, as bridge_all=true
// asks. The bridge takes over the NIC's links.
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

// bridgeName is br-eth0, or b- and the end of the NIC's name where that would be too long.
func bridgeName(nic string) string {
	if len("br-"+nic) <= maxInterfaceName {
		return "br-" + nic
	}
	return "b-" + nic[max(len(nic)-(maxInterfaceName-len("b-")), 0):]
}

// removeAcquiredBridges removes the bridges that were made since the machine was acquired.
// Their links go back to the interfaces below them, and interfaces that are only on them
// are removed, too (models/node.py, release_interface_config). Bonds and VLAN interfaces
// stay.
func removeAcquiredBridges(m *world.Machine) {
	for _, b := range slices.Clone(m.NICs) {
		if b.Acquired {
			b.Parents[0].Links = b.Links
			world.RemoveNIC(m, b)
		}
	}
}
