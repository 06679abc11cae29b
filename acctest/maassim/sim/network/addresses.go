package network

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

var addressRoutes = []request.Route{
	{Method: http.MethodGet, Path: "ipaddresses/", Handle: listAddresses},
	{Method: http.MethodPost, Path: "ipaddresses/", Op: "reserve", Handle: reserveAddress},
	{Method: http.MethodPost, Path: "ipaddresses/", Op: "release", Handle: releaseAddress},
}

// MAAS's kinds of addresses (enum.py, IPADDRESS_TYPE), as far as they are told
// apart here.
const (
	allocAuto   = 0
	allocSticky = 1
	allocUser   = 4
)

const (
	momentForm   = "2006-01-02T15:04:05.000"
	longDateForm = "Mon, 02 Jan. 2006 15:04:05"
)

func viewReserved(r *world.ReservedIP, w *world.World) rest.Object {
	v := rest.Object{
		"ip": r.IP.String(), "alloc_type": allocUser, "alloc_type_name": "User reserved",
		"created": r.Created.UTC().Format(momentForm), "owner": view.User(r.Owner), "interface_set": []rest.Object{},
		"subnet": nil, "resource_uri": rest.APIRoot + "ipaddresses/",
	}
	if r.Subnet != nil {
		v["subnet"] = view.Subnet(r.Subnet, w)
	}
	return v
}

// addressView shows an address that a DNS name points to, whoever has it.
func addressView(w *world.World, text string) rest.Object {
	ip := netip.MustParseAddr(text)
	if i := reservationIndex(w, ip); i >= 0 {
		return viewReserved(w.Reserved[i], w)
	}
	if m, n, l := linkWith(w, ip); m != nil {
		return linkedView(m, n, l)
	}
	return viewReserved((&world.ReservedIP{IP: ip, Subnet: w.SubnetOf(ip), Owner: w.Users[0], Created: w.Keeper.Built}), w)
}

// linkWith finds the machine that has an address, nil if none has.
func linkWith(w *world.World, ip netip.Addr) (*world.Machine, *world.NIC, *world.Link) {
	for _, m := range world.SortedMachines(w.Machines) {
		for _, n := range m.NICs {
			for _, l := range n.Links {
				if l.IP == ip.String() {
					return m, n, l
				}
			}
		}
	}
	return nil, nil, nil
}

// addressHolder finds the machine and the interface of a link, nil if it is gone.
func addressHolder(w *world.World, wanted *world.Link) (*world.Machine, *world.NIC) {
	for _, m := range w.Machines {
		for _, n := range m.NICs {
			if slices.Contains(n.Links, wanted) {
				return m, n
			}
		}
	}
	return nil, nil
}

// linkedView shows an address that a machine has, null where it gave it back.
func linkedView(m *world.Machine, n *world.NIC, l *world.Link) rest.Object {
	kind, name := allocSticky, "Sticky"
	if l.Mode == "auto" {
		kind, name = allocAuto, "Automatic"
	}
	v := rest.Object{
		"ip": l.IP, "alloc_type": kind, "alloc_type_name": name, "created": m.World.Keeper.Built.UTC().Format(momentForm),
		"owner": nil, "interface_set": []rest.Object{view.NICView(m, n)}, "subnet": nil, "resource_uri": rest.APIRoot + "ipaddresses/",
	}
	if l.IP == "" {
		v["ip"] = nil
	}
	if l.Subnet != nil {
		v["subnet"] = view.Subnet(l.Subnet, m.World)
	}
	return v
}

// reservationIndex is the index of the address among the reserved ones, or -1.
func reservationIndex(w *world.World, ip netip.Addr) int {
	return slices.IndexFunc(w.Reserved, func(r *world.ReservedIP) bool { return r.IP == ip })
}

// listAddresses lists the caller's own; an admin sees all with all=true.
func listAddresses(c *request.Call) rest.Reply {
	views := []rest.Object{}
	for _, r := range c.World.Reserved {
		if r.Owner == c.User || c.User.Admin && rest.Truth(c.Query.Get("all")) {
			views = append(views, viewReserved(r, c.World))
		}
	}
	return rest.OK(views)
}

// reserveAddress answers 404 where the address is not to be had, as MAAS does.
func reserveAddress(c *request.Call) rest.Reply {
	n := world.SubnetCalled(c.World, cmp.Or(c.Field("subnet"), "-"))
	text := cmp.Or(c.Field("ip"), c.Field("ip_address"))
	if text == "" {
		if n == nil {
			return rest.BadText("Unable to identify subnet: specify a subnet or an IP address.")
		}
		text = c.World.FreeAddress(n)
	}
	ip, err := netip.ParseAddr(text)
	if err != nil {
		return rest.BadField("ip_address", "Enter a valid IPv4 or IPv6 address.")
	}
	if n == nil {
		n = c.World.SubnetOf(ip)
	}
	if n == nil || !n.CIDR.Contains(ip) {
		return rest.BadText(fmt.Sprintf("No subnet contains %s.", ip))
	}
	if rep := refuseAddress(c.World, ip); rep != nil {
		return *rep
	}
	r := &world.ReservedIP{IP: ip, Subnet: n, Owner: c.User, Created: time.Now()}
	c.World.Reserved = append(c.World.Reserved, r)
	return rest.OK(viewReserved(r, c.World))
}

// refuseAddress says why an address cannot be reserved, nil if it can.
func refuseAddress(w *world.World, ip netip.Addr) *rest.Reply {
	var rep rest.Reply
	switch r := world.RangeOf(w, ip); {
	case world.IsTaken(w, ip):
		rep = rest.Refused(http.StatusNotFound, fmt.Sprintf("The IP address %s is already in use.", ip))
	case r != nil && r.Kind == "dynamic":
		rep = rest.Refused(http.StatusForbidden, fmt.Sprintf("IP address %s belongs to an existing dynamic range. To reserve this IP address, a MAC address is required. (Create a device instead.)", ip))
	case r != nil:
		rep = rest.Refused(http.StatusNotFound, fmt.Sprintf("%s is within the reserved range from %s to %s", ip, r.Start, r.End))
	default:
		return nil
	}
	return &rep
}

// releaseAddress forgets an address that the caller reserved; names that
// point to it just lose it, however many they are.
func releaseAddress(c *request.Call) rest.Reply {
	ip, err := netip.ParseAddr(c.Field("ip"))
	if err != nil {
		return rest.BadField("ip", "Enter a valid IPv4 or IPv6 address.")
	}
	i := reservationIndex(c.World, ip)
	forced := c.User.Admin && rest.Truth(c.Field("force"))
	if i < 0 || c.World.Reserved[i].Owner != c.User && !forced {
		return rest.BadText(fmt.Sprintf("IP address %s does not exist, is not the correct type of address, or does not belong to the requesting user.\n"+
			"If you are sure you want to release this address, use force=true as a MAAS administrator.", ip))
	}
	c.World.Reserved = slices.Delete(c.World.Reserved, i, i+1)
	ForgetAddresses(c.World)
	return rest.Deleted()
}

// listSubnetAddresses lists who has which address of a subnet.
func listSubnetAddresses(c *request.Call) rest.Reply {
	n, wrong := subnetInPath(c)
	if wrong != nil {
		return *wrong
	}
	ForgetAddresses(c.World)
	used := usedAddresses(c.World, n)
	views := []rest.Object{}
	for _, ip := range slices.SortedFunc(maps.Keys(used), func(a, b netip.Addr) int { return cmp.Compare(a.String(), b.String()) }) {
		views = append(views, used[ip])
	}
	return rest.OK(views)
}

// usedAddresses shows who has which address of a subnet.
func usedAddresses(w *world.World, n *world.Subnet) map[netip.Addr]rest.Object {
	used := map[netip.Addr]rest.Object{}
	add := func(ip netip.Addr, kind int, user string, since time.Time, node rest.Object) {
		date := since.UTC().Format(longDateForm)
		v := rest.Object{"ip": ip.String(), "alloc_type": kind, "user": user, "created": date, "updated": date}
		if node != nil {
			v["node_summary"] = node
		}
		if names := namesOf(w, ip); len(names) > 0 {
			v["dns_records"] = names
		}
		used[ip] = v
	}
	if n.VLAN.DHCP {
		add(world.RackAddress(w, n), allocSticky, "MAAS", w.Keeper.Built, nodeSummary(w.RackID, world.RackHostname, w.Domains[0], 4, world.RackNIC))
	}
	for _, r := range w.Reserved {
		if r.Subnet == n {
			add(r.IP, allocUser, r.Owner.Name, r.Created, nil)
		}
	}
	world.EachLink(w, n, func(m *world.Machine, i *world.NIC, l *world.Link, ip netip.Addr) {
		kind := allocSticky
		if l.Mode == "auto" {
			kind = allocAuto
		}
		owner := "MAAS"
		if m.Owner != nil {
			owner = m.Owner.Name
		}
		add(ip, kind, owner, w.Keeper.Built, nodeSummary(m.SystemID, m.Hostname, m.Domain, 0, i.Name))
	})
	return used
}

// namesOf lists the names that point to an address.
func namesOf(w *world.World, ip netip.Addr) (names []rest.Object) {
	for _, r := range w.DNS {
		if slices.Contains(r.IPs, ip.String()) {
			names = append(names, rest.Object{"id": r.ID, "name": r.Name, "domain": r.Domain.Name})
		}
	}
	return names
}

func nodeSummary(systemID, hostname string, d *world.Domain, nodeType int, via string) rest.Object {
	return rest.Object{
		"system_id": systemID, "hostname": hostname, "fqdn": hostname + "." + d.Name, "node_type": nodeType,
		"is_container": false, "via": via,
	}
}
