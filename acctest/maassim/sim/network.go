package sim

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// networkRoutes are the operations on a machine's interfaces.
var networkRoutes = []route{
	{method: http.MethodGet, path: "nodes/{id}/interfaces/", handle: onMachine(viewAll, listInterfaces)},
	{method: http.MethodPost, path: "nodes/{id}/interfaces/", op: "create_bridge", handle: onMachine(edit, createBridge)},
	{method: http.MethodGet, path: "nodes/{id}/interfaces/{nic}/", handle: onInterface(viewAll, readInterface)},
	{method: http.MethodDelete, path: "nodes/{id}/interfaces/{nic}/", handle: onInterface(edit, deleteInterface)},
	{method: http.MethodPost, path: "nodes/{id}/interfaces/{nic}/", op: "link_subnet", handle: onInterface(edit, linkSubnet)},
	{method: http.MethodPost, path: "nodes/{id}/interfaces/{nic}/", op: "unlink_subnet", handle: onInterface(edit, unlinkSubnet)},
	{method: http.MethodPost, path: "nodes/{id}/interfaces/{nic}/", op: "disconnect", handle: onInterface(edit, disconnect)},
}

// onInterface looks up the interface of the path, by its id or its name.
func onInterface(need permission, f func(*call, *machine, *nic) reply) func(*call) reply {
	return onMachine(need, func(c *call, m *machine) reply {
		for _, n := range m.nics {
			if strconv.Itoa(n.id) == c.vars["nic"] || n.name == c.vars["nic"] {
				return f(c, m, n)
			}
		}
		return noObject("Interface")
	})
}

func listInterfaces(_ *call, m *machine) reply { return ok(m.nicViews()) }

func readInterface(_ *call, m *machine, n *nic) reply { return ok(m.nicView(n)) }

// notChangeable is 409 unless the machine is in a state in which its network
// can be changed.
func (m *machine) notChangeable(action string) *reply {
	if in(m.status, StatusNew, StatusReady, StatusAllocated, StatusBroken) {
		return nil
	}
	bad := conflict(fmt.Sprintf("Cannot %s interface because the machine is not New, Ready, Allocated, or Broken.", action))
	return &bad
}

// linkSubnet ties an interface to a subnet: auto, dhcp, static or link_up. The
// mode may be in any case.
func linkSubnet(c *call, m *machine, n *nic) reply {
	if bad := m.notChangeable("link subnet"); bad != nil {
		return *bad
	}
	l, bad := c.readLink(n)
	if bad != nil {
		return *bad
	}
	if truth(c.field("force")) {
		n.links = nil
	}
	n.links = slices.DeleteFunc(n.links, func(old *link) bool { return old.mode == "link_up" })
	n.links = append(n.links, l)
	if l.subnet != nil {
		n.vlan = l.subnet.vlan
	}
	return ok(m.nicView(n))
}

func (c *call) readLink(n *nic) (*link, *reply) {
	errs := formErrors{}
	l := &link{mode: strings.ToLower(c.field("mode")), subnet: c.w.readSubnet(c.field("subnet"))}
	switch {
	case l.mode == "":
		errs.add("mode", "This field is required.")
	case !slices.Contains([]string{"auto", "dhcp", "static", "link_up"}, l.mode):
		errs.add("mode", choiceProblem(c.field("mode")))
	case c.field("subnet") != "" && l.subnet == nil:
		errs.add("subnet", invalidChoice)
	case l.subnet == nil && (l.mode == "auto" || l.mode == "static"):
		errs.add("subnet", "This field is required.")
	case l.subnet != nil && n.vlan != nil && l.subnet.vlan != n.vlan && !truth(c.field("force")):
		errs.add("subnet", invalidChoice)
	case c.field("ip_address") != "" && l.mode != "static":
		errs.add("ip_address", "Setting an IP address is only valid when mode is STATIC.")
	}
	if len(errs) > 0 {
		bad := badForm(errs)
		return nil, &bad
	}
	if l.mode == "static" {
		if bad := c.readStatic(l); bad != nil {
			return nil, bad
		}
	}
	l.id = c.w.nextID("link")
	return l, nil
}

// readStatic checks a fixed address, or picks one.
func (c *call) readStatic(l *link) *reply {
	text := c.field("ip_address")
	if text == "" {
		l.ip = c.w.freeAddress(l.subnet)
		return nil
	}
	ip, err := netip.ParseAddr(text)
	var bad reply
	switch r := c.w.inRange(ip); {
	case err != nil:
		bad = badField("ip_address", "Enter a valid IPv4 or IPv6 address.")
	case !l.subnet.cidr.Contains(ip):
		bad = badField("ip_address", "IP address is not in the given subnet '"+l.subnet.name+"'.")
	case r != nil && r.kind == "dynamic":
		bad = badField("ip_address", "IP address is inside a dynamic range "+r.start.String()+" - "+r.end.String()+".")
	case c.w.taken(ip):
		bad = refused(http.StatusNotFound, fmt.Sprintf("The IP address %s is already in use.", text))
	default:
		l.ip = ip.String()
		return nil
	}
	return &bad
}

// readSubnet finds a subnet by id, name, CIDR or "cidr:…".
func (w *world) readSubnet(text string) *subnet {
	text = strings.TrimPrefix(text, "cidr:")
	for _, n := range w.subnets {
		if text == strconv.Itoa(n.id) || text == n.name || text == n.cidr.String() {
			return n
		}
	}
	return nil
}

func unlinkSubnet(c *call, m *machine, n *nic) reply {
	if bad := m.notChangeable("unlink subnet"); bad != nil {
		return *bad
	}
	if c.field("id") == "" {
		return badField("id", "This field is required.")
	}
	i := slices.IndexFunc(n.links, func(l *link) bool { return strconv.Itoa(l.id) == c.field("id") })
	if i < 0 {
		return badField("id", invalidChoice)
	}
	n.links = slices.Delete(n.links, i, i+1)
	return ok(m.nicView(n))
}

// disconnect removes the links and the VLAN.
func disconnect(_ *call, m *machine, n *nic) reply {
	if bad := m.notChangeable("disconnect"); bad != nil {
		return *bad
	}
	n.links, n.vlan = nil, nil
	return ok(m.nicView(n))
}

// createBridge puts a bridge on a NIC, which loses its links. The new bridge
// is only up: it must be linked by a call of its own.
func createBridge(c *call, m *machine) reply {
	if bad := m.notChangeable("create bridge"); bad != nil {
		return *bad
	}
	parent, bad := c.bridgeParent(m)
	if bad != nil {
		return *bad
	}
	parent.links = nil
	b := &nic{id: c.w.nextID("interface"), name: c.field("name"), mac: parent.mac, kind: "bridge", vlan: parent.vlan, parents: []*nic{parent}}
	b.links = []*link{{id: c.w.nextID("link"), mode: "link_up", subnet: c.w.subnetOn(parent.vlan)}}
	b.params = object{"bridge_type": or(c.field("bridge_type"), "standard"), "bridge_stp": truth(c.field("bridge_stp")), "bridge_fd": c.number("bridge_fd", 15)}
	m.nics = append(m.nics, b)
	return ok(m.nicView(b))
}

func (c *call) bridgeParent(m *machine) (*nic, *reply) {
	errs := formErrors{}
	name, id := c.field("name"), c.field("parent")
	i := slices.IndexFunc(m.nics, func(n *nic) bool { return strconv.Itoa(n.id) == id })
	kind := c.field("bridge_type")
	switch {
	case id == "":
		errs.add("parent", "This field is required.")
	case i < 0:
		errs.add("parent", invalidChoice)
	case len(m.childNames(m.nics[i])) > 0:
		errs.add("parent", "A bridge interface can't have a parent that is already in a bond or a bridge.")
		errs.add("mac_address", "This field cannot be blank.")
	case name == "":
		errs.add("name", "This field is required.")
	case strings.ContainsAny(name, " /"):
		errs.add("name", "Enter a valid value.")
	case slices.ContainsFunc(m.nics, func(n *nic) bool { return n.name == name }):
		errs.add("__all__", "Interface with this Node config and Name already exists.")
	case kind != "" && kind != "standard" && kind != "ovs":
		errs.add("bridge_type", choiceProblem(kind))
	}
	if len(errs) > 0 {
		bad := badForm(errs)
		return nil, &bad
	}
	return m.nics[i], nil
}

// deleteInterface removes an interface; a NIC below a bridge does not get its
// links back.
func deleteInterface(_ *call, m *machine, n *nic) reply {
	if bad := m.notChangeable("delete"); bad != nil {
		return *bad
	}
	m.nics = slices.DeleteFunc(m.nics, func(other *nic) bool { return other == n || slices.Contains(other.parents, n) })
	return deleted()
}
