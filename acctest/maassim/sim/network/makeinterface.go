package network

import (
	"cmp"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// maker makes an interface of a machine by a form: it adds what is wrong to errs.
type maker func(c *request.Call, m *world.Machine, n *world.NIC, errs rest.FormErrors)

// createInterface makes an interface. It is up, and its parents lose their links
// (forms/interface.py, save; models/signals/interfaces.py).
func createInterface(action, kind string, make maker) func(*request.Call, *world.Machine) rest.Reply {
	return func(c *request.Call, m *world.Machine) rest.Reply {
		if !c.User.Admin {
			return rest.Forbidden()
		}
		if bad := notChangeable(m, action); bad != nil {
			return *bad
		}
		n, errs := &world.NIC{Kind: kind, Params: rest.Object{}}, rest.FormErrors{}
		make(c, m, n, errs)
		readInterfaceParams(c, n, errs)
		if len(errs) > 0 {
			return rest.BadForm(errs)
		}
		n.ID = c.World.NextID("interface")
		if kind == "bond" {
			for _, parent := range n.Parents {
				parent.Links = nil
			}
		}
		m.NICs = append(m.NICs, n)
		n.EnsureLinkUp(c.World)
		return rest.OK(view.NICView(m, n))
	}
}

// makePhysical wants a MAC that no other physical interface has.
func makePhysical(c *request.Call, m *world.Machine, n *world.NIC, errs rest.FormErrors) {
	readMAC(c, n, errs)
	readInterfaceVLAN(c, n, errs)
	readInterfaceName(c, m, n, nextName(m), errs)
}

func readMAC(c *request.Call, n *world.NIC, errs rest.FormErrors) {
	text := strings.ToLower(c.Field("mac_address"))
	if text == "" {
		if n.MAC == "" {
			errs.Add("mac_address", rest.MsgRequired)
		}
		return
	}
	if _, err := net.ParseMAC(text); err != nil {
		errs.Add("mac_address", fmt.Sprintf("'%s' is not a valid MAC address.", c.Field("mac_address")))
		return
	}
	for _, other := range world.SortedMachines(c.World.Machines) {
		for _, nic := range other.NICs {
			if nic != n && nic.Kind == "physical" && nic.MAC == text {
				errs.Add("mac_address", fmt.Sprintf("This MAC address is already in use by %s (%s) on %s.", nic.Name, nic.Kind, other.Hostname))
				return
			}
		}
	}
	n.MAC = text
}

// nextName is the first of eth0, eth1, … after those in use (models/node.py,
// get_next_ifname).
func nextName(m *world.Machine) string {
	next := 0
	for _, n := range m.NICs {
		if number, err := strconv.Atoi(strings.TrimPrefix(n.Name, "eth")); err == nil {
			next = max(next, number+1)
		}
	}
	return fmt.Sprintf("eth%d", next)
}

func readInterfaceVLAN(c *request.Call, n *world.NIC, errs rest.FormErrors) {
	text := c.Field("vlan")
	if !c.Has("vlan") {
		return
	}
	v := vlanWithID(c.World, text)
	if v == nil && text != "" {
		errs.Add("vlan", rest.InvalidChoice)
		return
	}
	n.VLAN = v
}

// interfaceName is MAAS's form of an interface's name (models/interface.py,
// INTERFACE_NAME_REGEXP).
var interfaceName = regexp.MustCompile(`^[\pL\pN_.:-]+$`)

func readInterfaceName(c *request.Call, m *world.Machine, n *world.NIC, missing string, errs rest.FormErrors) {
	name := cmp.Or(c.Field("name"), n.Name, missing)
	isTaken := func(other *world.NIC) bool { return other != n && other.Name == name }
	switch {
	case name == "":
		errs.Add("name", rest.MsgRequired)
	case !interfaceName.MatchString(name):
		errs.Add("name", rest.MsgInvalid)
	case slices.ContainsFunc(m.NICs, isTaken):
		errs.Add("name", fmt.Sprintf("Node %s (%s) already has an interface named '%s'.", m.SystemID, m.Hostname+"."+m.Domain.Name, name))
	default:
		n.Name = name
	}
}

// readParents finds interfaces of the machine by their ids.
func readParents(c *request.Call, m *world.Machine, field string, errs rest.FormErrors) (parents []*world.NIC) {
	given := c.Form[field]
	if len(given) == 0 {
		given = c.Form["parents"] // which the form has; parent is copied to it
	}
	for _, values := range given {
		for _, text := range strings.FieldsFunc(values, func(r rune) bool { return r == ',' || r == ' ' }) {
			i := slices.IndexFunc(m.NICs, func(n *world.NIC) bool { return strconv.Itoa(n.ID) == text })
			if i < 0 {
				errs.Add(field, rest.ChoiceProblem(text))
				return nil
			}
			parents = append(parents, m.NICs[i])
		}
	}
	return parents
}

// makeVLAN makes the interface of a tagged VLAN on one of the same fabric.
func makeVLAN(c *request.Call, m *world.Machine, n *world.NIC, errs rest.FormErrors) {
	n.Parents = readParents(c, m, "parent", errs)
	readInterfaceVLAN(c, n, errs)
	isBonded := func(p *world.NIC) bool {
		return slices.ContainsFunc(m.NICs, func(child *world.NIC) bool { return child.Kind == "bond" && slices.Contains(child.Parents, p) })
	}
	switch {
	case len(errs["parent"]) > 0:
	case len(n.Parents) != 1:
		errs.Add("parent", "A VLAN interface must have exactly one parent.")
	case n.Parents[0].Kind == "vlan":
		errs.Add("parent", "A VLAN interface can't have another VLAN interface as parent.")
	case isBonded(n.Parents[0]):
		errs.Add("parent", "A VLAN interface can't have a parent that is already in a bond.")
	}
	switch {
	case len(errs["vlan"]) > 0:
	case n.VLAN == nil:
		errs.Add("vlan", "A VLAN interface must be connected to a tagged VLAN.")
	case n.VLAN.VID == 0:
		errs.Add("vlan", "A VLAN interface can only belong to a tagged VLAN.")
	}
	if len(errs) > 0 {
		return
	}
	parent := n.Parents[0]
	if parent.VLAN == nil || parent.VLAN.Fabric != n.VLAN.Fabric {
		errs.Add("vlan", "A VLAN interface can only belong to a tagged VLAN on the same fabric as its parent interface.")
	}
	n.MAC = parent.MAC
	readInterfaceName(c, m, n, fmt.Sprintf("%s.%d", parent.Name, n.VLAN.VID), errs)
}

var bondModes = []string{"balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"}

// makeBond joins interfaces of one VLAN.
func makeBond(c *request.Call, m *world.Machine, n *world.NIC, errs rest.FormErrors) {
	n.Parents = readParents(c, m, "parents", errs)
	readInterfaceName(c, m, n, "", errs)
	mode := cmp.Or(c.Field("bond_mode"), bondModes[0])
	if !slices.Contains(bondModes, mode) {
		errs.Add("bond_mode", invalidChoice(mode, "bond_mode", bondModes))
	}
	n.Params = rest.Object{
		"bond_mode": mode, "bond_miimon": c.Number("bond_miimon", 100), "bond_downdelay": c.Number("bond_downdelay", 0),
		"bond_updelay": c.Number("bond_updelay", 0), "bond_num_grat_arp": c.Number("bond_num_grat_arp", 1),
		"bond_lacp_rate": cmp.Or(c.Field("bond_lacp_rate"), "fast"), "bond_xmit_hash_policy": cmp.Or(c.Field("bond_xmit_hash_policy"), "layer2"),
	}
	if len(errs["parents"]) > 0 {
		return
	}
	if len(n.Parents) == 0 {
		errs.Add("parents", "A bond interface must have one or more parents.")
		return
	}
	n.VLAN, n.MAC = n.Parents[0].VLAN, cmp.Or(strings.ToLower(c.Field("mac_address")), n.Parents[0].MAC)
	readInterfaceVLAN(c, n, errs)
	var used []string
	for _, p := range n.Parents {
		if len(view.ChildNames(m, p)) > 0 {
			used = append(used, p.Name)
		}
	}
	if len(used) > 0 {
		slices.Sort(used)
		errs.Add("parents", fmt.Sprintf("Interfaces already in-use: %s.", strings.Join(used, ", ")))
	}
	if slices.ContainsFunc(n.Parents, func(p *world.NIC) bool { return p.VLAN != n.VLAN }) {
		errs.Add("parents", "All parents must belong to the same VLAN.")
	}
}

// readInterfaceParams reads what every kind of interface takes.
func readInterfaceParams(c *request.Call, n *world.NIC, errs rest.FormErrors) {
	if c.Has("tags") {
		n.Tags = rest.SplitTags(c.Form["tags"])
	}
	if c.Has("accept_ra") {
		n.Params["accept-ra"] = rest.Truth(c.Field("accept_ra"))
	}
	if text := c.Field("mtu"); text != "" {
		mtu, err := strconv.Atoi(text)
		switch {
		case err != nil:
			errs.Add("mtu", rest.MsgWhole)
		case mtu < leastMTU:
			errs.Add("mtu", "Ensure this value is greater than or equal to 552.")
		default:
			n.Params["mtu"] = mtu
		}
	} else if c.Has("mtu") {
		delete(n.Params, "mtu")
	}
}

// updateInterface changes what the form names; of a deployed machine that is the
// name and the MAC alone (api/interfaces.py, update).
func updateInterface(c *request.Call, m *world.Machine, n *world.NIC) rest.Reply {
	isDeployed := m.Status == world.StatusDeployed
	if bad := notChangeable(m, "update interface"); bad != nil && !isDeployed {
		return *bad
	}
	errs, was := rest.FormErrors{}, *n
	n.Params = rest.Object{}
	for name, value := range was.Params {
		n.Params[name] = value
	}
	readInterfaceName(c, m, n, "", errs)
	if n.Kind == "physical" {
		readMAC(c, n, errs)
	}
	if !isDeployed {
		readInterfaceVLAN(c, n, errs)
		readInterfaceParams(c, n, errs)
	}
	if len(errs) > 0 {
		*n = was
		return rest.BadForm(errs)
	}
	return rest.OK(view.NICView(m, n))
}
