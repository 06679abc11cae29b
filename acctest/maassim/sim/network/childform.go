package network

import (
	"fmt"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// readVLANKind reads the interface of a tagged VLAN, on one of the same fabric.
func (f *nicForm) readVLANKind() {
	n := f.n
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
	if f.Has("name") || missing != "" {
		f.readName(missing)
		f.wantName()
	}
}

var (
	bondModes    = []string{"balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"}
	lacpRates    = []string{"fast", "slow"}
	hashPolicies = []string{"layer2", "layer2+3", "layer3+4", "encap2+3", "encap3+4"}
	bridgeTypes  = []string{"standard", "ovs"}
)

// bondNumbers are a bond's numbers, with what they are at first.
var bondNumbers = map[string]int{"bond_miimon": 100, "bond_downdelay": 0, "bond_updelay": 0, "bond_num_grat_arp": 1}

// readBond joins interfaces of one VLAN.
func (f *nicForm) readBond() {
	n := f.n
	f.readName("")
	f.word("bond_mode", bondModes)
	f.word("bond_lacp_rate", lacpRates)
	f.word("bond_xmit_hash_policy", hashPolicies)
	for name, first := range bondNumbers {
		most := -1
		if name == "bond_num_grat_arp" {
			most = 255
		}
		if value, given := f.number(name, 0, most); given {
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
		f.takeAfterParents()
		f.checkFaith("bond", "bridge", "vlan")
		if f.isNew() && slices.ContainsFunc(n.Parents, func(p *world.NIC) bool { return p.VLAN != n.VLAN }) {
			f.errs["parents"] = []string{"All parents must belong to the same VLAN."}
		}
	}
	f.wantMAC()
	f.wantRowName()
}

// readBridge puts a bridge on an interface.
func (f *nicForm) readBridge() {
	n := f.n
	f.readName("")
	f.word("bridge_type", bridgeTypes)
	if truth, known := maybe(f.Field("bridge_stp")); known {
		n.Params["bridge_stp"] = truth
	} else if f.isNew() {
		n.Params["bridge_stp"] = false
	}
	if delay, given := f.number("bridge_fd", 0, -1); given {
		n.Params["bridge_fd"] = delay
	} else if f.isNew() {
		n.Params["bridge_fd"] = 15
	}
	field := "parents" // of which MAAS makes parent for new ones alone
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
		f.takeAfterParents()
	}
	f.wantMAC()
	f.wantRowName()
}

// word reads one of a few words; the first one is a new interface's without any.
func (f *nicForm) word(name string, choices []string) {
	text := f.Field(name)
	switch {
	case text != "" && !slices.Contains(choices, text):
		f.errs.Add(name, invalidChoice(text, name, choices))
	case text != "":
		f.n.Params[name] = text
	case f.isNew():
		f.n.Params[name] = choices[0]
	}
}

// takeAfterParents gives a new interface the MAC address and the VLAN of its first
// parent, and an old one another address where it loses the parent that it had it of.
func (f *nicForm) takeAfterParents() {
	n, first := f.n, f.n.Parents[0]
	if f.isNew() {
		if !f.Has("mac_address") {
			n.MAC = first.MAC
		}
		if n.VLAN == nil {
			n.VLAN = first.VLAN
		}
		return
	}
	lost := func(p *world.NIC) bool { return p.MAC == n.MAC && !slices.Contains(n.Parents, p) }
	if n.MAC == f.was.MAC && slices.ContainsFunc(f.was.Parents, lost) {
		n.MAC = first.MAC
	}
}

// checkFaith refuses parents that are below another interface already.
func (f *nicForm) checkFaith(kinds ...string) {
	var used []string
	for _, p := range f.n.Parents {
		if len(f.childrenOf(p, kinds...)) > 0 {
			used = append(used, p.Name)
		}
	}
	if len(used) > 0 {
		slices.Sort(used)
		f.errs["parents"] = []string{fmt.Sprintf("Interfaces already in-use: %s.", strings.Join(used, ", "))}
	}
}

// wantMAC refuses an interface without an address, which its parents would give it.
func (f *nicForm) wantMAC() {
	if f.n.MAC == "" && len(f.errs["mac_address"]) == 0 {
		f.errs.Add("mac_address", "This field cannot be blank.")
	}
}

// save writes the interface.
func (f *nicForm) save() (*world.NIC, *rest.Reply) {
	if f.n.Kind == "bond" && slices.ContainsFunc(f.n.Parents, func(p *world.NIC) bool { return p.Kind != "physical" }) {
		bad := rest.BadModel(rest.FormErrors{"parents": {"Only physical interfaces can be bonded."}})
		return nil, &bad
	}
	if f.n.VLAN == nil && staysOnVLAN(f.n) {
		bad := rest.BadModel(rest.FormErrors{"vlan": {"VLAN interface requires connection to a VLAN."}})
		return nil, &bad
	}
	if f.was != nil && isAbove(f.was, f.n.Parents) {
		bad := rest.InternalError("maximum recursion depth exceeded")
		return nil, &bad
	}
	if f.isNew() {
		f.n.ID = f.World.NextID("interface")
		f.m.NICs = append(f.m.NICs, f.n)
		f.settle(nil, nil)
		return f.n, nil
	}
	vlan, mtu := f.was.VLAN, f.was.Params["mtu"]
	*f.was = *f.n
	f.n = f.was
	f.settle(vlan, mtu)
	return f.n, nil
}

// isAbove says whether an interface is above one of its own parents.
func isAbove(n *world.NIC, parents []*world.NIC) bool {
	return slices.ContainsFunc(parents, func(p *world.NIC) bool { return p == n || isAbove(n, p.Parents) })
}

// settle brings the interfaces around one to what it is now (models/signals/interfaces.py).
func (f *nicForm) settle(vlan *world.VLAN, mtu any) {
	n := f.n
	if f.isAcquiredBridge() {
		n.Acquired, n.Links, n.Parents[0].Links = true, n.Parents[0].Links, nil
	}
	if !f.isNew() {
		moveTo(f.World, n, vlan)
	} else {
		n.EnsureLinkUp(f.World)
	}
	for _, p := range n.Parents {
		if n.Kind == "bond" || n.Kind == "bridge" {
			p.Links, p.VLAN = nil, n.VLAN
		}
	}
	for _, child := range f.m.NICs {
		if child.Kind == "vlan" && slices.Contains(child.Parents, n) {
			child.MAC = n.MAC
		}
	}
	if now := n.Params["mtu"]; now != nil && now != mtu {
		spreadMTU(f.m, n, now.(int))
	}
}

// isAcquiredBridge says whether the interface is a new bridge of an acquired machine,
// which goes with the release.
func (f *nicForm) isAcquiredBridge() bool {
	return f.isNew() && f.n.Kind == "bridge" && f.m.Status == world.StatusAllocated
}

// moveTo takes the links of an interface that is on another VLAN now. A fabric that is
// left with nothing goes.
func moveTo(w *world.World, n *world.NIC, from *world.VLAN) {
	if n.VLAN == from {
		return
	}
	n.Links = nil
	if from != nil {
		world.DropIdleFabric(w, from.Fabric)
	}
}

// spreadMTU makes the interfaces above one no larger, and those below no smaller.
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
