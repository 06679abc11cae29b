package network

import (
	"fmt"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// readVLANKind reads an interface of a tagged VLAN. Its parent must be on a VLAN of the
// same fabric.
func (f *nicForm) readVLANKind() {
	n := f.newNIC
	f.readParents("parent")
	switch {
	case len(f.errs["parent"]) > 0:
	case len(n.Parents) != 1:
		f.errs.Add("parent", "A VLAN interface must have exactly one parent.")
	case n.Parents[0].Kind == "vlan":
		f.errs.Add("parent", "A VLAN interface can't have another VLAN interface as parent.")
	case len(f.childrenOf(n.Parents[0], "bond")) > 0:
		f.errs.Add("parent", "A VLAN interface can't have a parent that is already in a bond.")
	}
	switch {
	case len(f.errs["vlan"]) > 0:
	case n.VLAN == nil:
		f.errs.Add("vlan", "A VLAN interface must be connected to a tagged VLAN.")
	case n.VLAN.VID == 0:
		f.errs.Add("vlan", "A VLAN interface can only belong to a tagged VLAN.")
	}
	missing := ""
	if len(f.errs["parent"]) == 0 && len(f.errs["vlan"]) == 0 {
		parent := n.Parents[0]
		if parent.VLAN == nil || parent.VLAN.Fabric != n.VLAN.Fabric {
			f.errs["vlan"] = []string{"A VLAN interface can only belong to a tagged VLAN on the same fabric as its parent interface."}
		}
		n.MAC, missing = parent.MAC, fmt.Sprintf("%s.%d", parent.Name, n.VLAN.VID)
	}
	if f.HasField("name") || missing != "" {
		f.readName(missing)
		f.requireFreeName()
	}
}

var (
	bondModes    = []string{"balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"}
	lacpRates    = []string{"fast", "slow"}
	hashPolicies = []string{"layer2", "layer2+3", "layer3+4", "encap2+3", "encap3+4"}
	bridgeTypes  = []string{"standard", "ovs"}
)

// bondNumbers are the numeric options of a bond with their defaults.
var bondNumbers = map[string]int{"bond_miimon": 100, "bond_downdelay": 0, "bond_updelay": 0, "bond_num_grat_arp": 1}

// readBond reads a bond, whose parents must be on one VLAN.
func (f *nicForm) readBond() {
	n := f.newNIC
	f.readName("")
	f.readWord("bond_mode", bondModes)
	f.readWord("bond_lacp_rate", lacpRates)
	f.readWord("bond_xmit_hash_policy", hashPolicies)
	for name, first := range bondNumbers {
		most := -1
		if name == "bond_num_grat_arp" {
			most = 255
		}
		if value, given := f.readNumber(name, 0, most); given {
			n.Params[name] = value
		} else if f.isNew() {
			n.Params[name] = first
		}
	}
	f.readParents("parents")
	if len(f.errs["parents"]) == 0 && len(n.Parents) == 0 {
		f.errs.Add("parents", "A bond interface must have one or more parents.")
	}
	f.readMAC(false)
	if len(f.errs["parents"]) == 0 {
		f.inheritFromParents()
		f.refuseUsedParents("bond", "bridge", "vlan")
		if f.isNew() && slices.ContainsFunc(n.Parents, func(p *world.NIC) bool { return p.VLAN != n.VLAN }) {
			f.errs["parents"] = []string{"All parents must belong to the same VLAN."}
		}
	}
	f.requireMAC()
	f.requireFreeRowName()
}

// readBridge reads a bridge on an interface.
func (f *nicForm) readBridge() {
	n := f.newNIC
	f.readName("")
	f.readWord("bridge_type", bridgeTypes)
	if truth, known := readNullBoolean(f.Field("bridge_stp")); known {
		n.Params["bridge_stp"] = truth
	} else if f.isNew() {
		n.Params["bridge_stp"] = false
	}
	if delay, given := f.readNumber("bridge_fd", 0, -1); given {
		n.Params["bridge_fd"] = delay
	} else if f.isNew() {
		n.Params["bridge_fd"] = 15
	}
	field := "parents" // for new interfaces MAAS renames it to parent
	if f.isNew() {
		field = "parent"
	}
	f.readParents(field)
	switch {
	case len(f.errs[field]) > 0:
	case len(n.Parents) != 1:
		f.errs.Add(field, "A bridge interface must have exactly one parent.")
	case n.Parents[0].Kind == "bridge":
		f.errs.Add(field, "A bridge interface can't have another bridge interface as parent.")
	case len(f.childrenOf(n.Parents[0], "bond", "bridge")) > 0:
		f.errs.Add(field, "A bridge interface can't have a parent that is already in a bond or a bridge.")
	}
	f.readMAC(false)
	if len(f.errs[field]) == 0 && len(f.errs["vlan"]) == 0 {
		f.inheritFromParents()
	}
	f.requireMAC()
	f.requireFreeRowName()
}

// readWord reads one of a few words. A new interface without the field gets the first one.
func (f *nicForm) readWord(name string, choices []string) {
	text := f.Field(name)
	switch {
	case text != "" && !slices.Contains(choices, text):
		f.errs.Add(name, invalidChoice(text, name, choices))
	case text != "":
		f.newNIC.Params[name] = text
	case f.isNew():
		f.newNIC.Params[name] = choices[0]
	}
}

// inheritFromParents gives a new interface the MAC address and the VLAN of its first
// parent. An existing interface gets another address if it loses the parent from which it
// had its address.
func (f *nicForm) inheritFromParents() {
	n, first := f.newNIC, f.newNIC.Parents[0]
	if f.isNew() {
		if !f.HasField("mac_address") {
			n.MAC = first.MAC
		}
		if n.VLAN == nil {
			n.VLAN = first.VLAN
		}
		return
	}
	lost := func(p *world.NIC) bool { return p.MAC == n.MAC && !slices.Contains(n.Parents, p) }
	if n.MAC == f.oldNIC.MAC && slices.ContainsFunc(f.oldNIC.Parents, lost) {
		n.MAC = first.MAC
	}
}

// refuseUsedParents refuses parents that another interface already uses.
func (f *nicForm) refuseUsedParents(kinds ...string) {
	var used []string
	for _, p := range f.newNIC.Parents {
		if len(f.childrenOf(p, kinds...)) > 0 {
			used = append(used, p.Name)
		}
	}
	if len(used) > 0 {
		slices.Sort(used)
		f.errs["parents"] = []string{fmt.Sprintf("Interfaces already in-use: %s.", strings.Join(used, ", "))}
	}
}

// requireMAC refuses an interface that got no address from its parents.
func (f *nicForm) requireMAC() {
	if f.newNIC.MAC == "" && len(f.errs["mac_address"]) == 0 {
		f.errs.Add("mac_address", "This field cannot be blank.")
	}
}

// save saves the interface.
func (f *nicForm) save() (*world.NIC, *rest.Reply) {
	if f.newNIC.Kind == "bond" && slices.ContainsFunc(f.newNIC.Parents, func(p *world.NIC) bool { return p.Kind != "physical" }) {
		bad := rest.BadModelReply(rest.FormErrors{"parents": {"Only physical interfaces can be bonded."}})
		return nil, &bad
	}
	if f.newNIC.VLAN == nil && needsVLAN(f.newNIC) {
		bad := rest.BadModelReply(rest.FormErrors{"vlan": {"VLAN interface requires connection to a VLAN."}})
		return nil, &bad
	}
	if f.oldNIC != nil && isAbove(f.oldNIC, f.newNIC.Parents) {
		bad := rest.InternalErrorReply("maximum recursion depth exceeded")
		return nil, &bad
	}
	if f.isNew() {
		f.newNIC.ID = f.World.NextID("interface")
		f.machine.NICs = append(f.machine.NICs, f.newNIC)
		f.updateRelatedNICs(nil, nil)
		return f.newNIC, nil
	}
	vlan, mtu := f.oldNIC.VLAN, f.oldNIC.Params["mtu"]
	*f.oldNIC = *f.newNIC
	f.newNIC = f.oldNIC
	f.updateRelatedNICs(vlan, mtu)
	return f.newNIC, nil
}

// isAbove tells whether an interface is above one of its own parents.
func isAbove(n *world.NIC, parents []*world.NIC) bool {
	return slices.ContainsFunc(parents, func(p *world.NIC) bool { return p == n || isAbove(n, p.Parents) })
}

// updateRelatedNICs updates the interfaces above and below a changed one
// (models/signals/interfaces.py).
func (f *nicForm) updateRelatedNICs(vlan *world.VLAN, mtu any) {
	n := f.newNIC
	if f.isAcquiredBridge() {
		n.Acquired, n.Links, n.Parents[0].Links = true, n.Parents[0].Links, nil
	}
	if !f.isNew() {
		dropLinksIfMoved(f.World, n, vlan)
	} else {
		n.EnsureLinkUp(f.World)
	}
	for _, p := range n.Parents {
		if n.Kind == "bond" || n.Kind == "bridge" {
			p.Links, p.VLAN = nil, n.VLAN
		}
	}
	for _, child := range f.machine.NICs {
		if child.Kind == "vlan" && slices.Contains(child.Parents, n) {
			child.MAC = n.MAC
		}
	}
	if now := n.Params["mtu"]; now != nil && now != mtu {
		spreadMTU(f.machine, n, now.(int))
	}
}

// isAcquiredBridge tells whether the interface is a new bridge of an acquired machine. A
// release removes it.
func (f *nicForm) isAcquiredBridge() bool {
	return f.isNew() && f.newNIC.Kind == "bridge" && f.machine.Status == world.StatusAllocated
}

// dropLinksIfMoved removes the links of an interface that moved to another VLAN. A fabric
// that is then empty is removed, too.
func dropLinksIfMoved(w *world.World, n *world.NIC, from *world.VLAN) {
	if n.VLAN == from {
		return
	}
	n.Links = nil
	if from != nil {
		world.RemoveUnusedFabric(w, from.Fabric)
	}
}

// spreadMTU limits the MTU of the interfaces above, and raises that of the interfaces
// below.
func spreadMTU(m *world.Machine, n *world.NIC, mtu int) {
	for _, child := range m.NICs {
		if own, isSet := child.Params["mtu"].(int); isSet && slices.Contains(child.Parents, n) && own > mtu {
			child.Params["mtu"] = mtu
			spreadMTU(m, child, mtu)
		}
	}
	for _, p := range n.Parents {
		if own, isSet := p.Params["mtu"].(int); !isSet || own < mtu {
			if p.Params == nil {
				p.Params = rest.Object{}
			}
			p.Params["mtu"] = mtu
			spreadMTU(m, p, mtu)
		}
	}
}
