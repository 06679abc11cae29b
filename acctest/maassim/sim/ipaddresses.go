package sim

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"time"
)

var addressRoutes = []route{
	{method: http.MethodGet, path: "ipaddresses/", handle: listAddresses},
	{method: http.MethodPost, path: "ipaddresses/", op: "reserve", handle: reserveAddress},
	{method: http.MethodPost, path: "ipaddresses/", op: "release", handle: releaseAddress},
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

func (r *reservedIP) view(w *world) object {
	v := object{
		"ip": r.ip.String(), "alloc_type": allocUser, "alloc_type_name": "User reserved",
		"created": r.created.UTC().Format(momentForm), "owner": r.owner.view(), "interface_set": []object{},
		"subnet": nil, "resource_uri": apiRoot + "ipaddresses/",
	}
	if r.subnet != nil {
		v["subnet"] = r.subnet.view(w)
	}
	return v
}

// addressView shows an address that a DNS name points to, whoever has it.
func (w *world) addressView(text string) object {
	ip := netip.MustParseAddr(text)
	if i := w.reservation(ip); i >= 0 {
		return w.reserved[i].view(w)
	}
	if m, n, l := w.linkWith(ip); m != nil {
		return linkedView(m, n, l)
	}
	return (&reservedIP{ip: ip, subnet: w.subnetOf(ip), owner: w.users[0], created: w.sim.built}).view(w)
}

// linkWith finds the machine that has an address, nil if none has.
func (w *world) linkWith(ip netip.Addr) (*machine, *nic, *link) {
	for _, m := range sortedMachines(w.machines) {
		for _, n := range m.nics {
			for _, l := range n.links {
				if l.ip == ip.String() {
					return m, n, l
				}
			}
		}
	}
	return nil, nil, nil
}

// holder finds the machine and the interface of a link, nil if it is gone.
func (w *world) holder(wanted *link) (*machine, *nic) {
	for _, m := range w.machines {
		for _, n := range m.nics {
			if slices.Contains(n.links, wanted) {
				return m, n
			}
		}
	}
	return nil, nil
}

// linkedView shows an address that a machine has, null where it gave it back.
func linkedView(m *machine, n *nic, l *link) object {
	kind, name := allocSticky, "Sticky"
	if l.mode == "auto" {
		kind, name = allocAuto, "Automatic"
	}
	v := object{
		"ip": l.ip, "alloc_type": kind, "alloc_type_name": name, "created": m.w.sim.built.UTC().Format(momentForm),
		"owner": nil, "interface_set": []object{m.nicView(n)}, "subnet": nil, "resource_uri": apiRoot + "ipaddresses/",
	}
	if l.ip == "" {
		v["ip"] = nil
	}
	if l.subnet != nil {
		v["subnet"] = l.subnet.view(m.w)
	}
	return v
}

// reservation is the index of the address among the reserved ones, or -1.
func (w *world) reservation(ip netip.Addr) int {
	return slices.IndexFunc(w.reserved, func(r *reservedIP) bool { return r.ip == ip })
}

// listAddresses lists the caller's own; an admin sees all with all=true.
func listAddresses(c *call) reply {
	views := []object{}
	for _, r := range c.w.reserved {
		if r.owner == c.user || c.user.admin && truth(c.query.Get("all")) {
			views = append(views, r.view(c.w))
		}
	}
	return ok(views)
}

// reserveAddress answers 404 where the address is not to be had, as MAAS does.
func reserveAddress(c *call) reply {
	n := c.w.subnetCalled(or(c.field("subnet"), "-"))
	text := or(c.field("ip"), c.field("ip_address"))
	if text == "" {
		if n == nil {
			return badText("Unable to identify subnet: specify a subnet or an IP address.")
		}
		text = c.w.freeAddress(n)
	}
	ip, err := netip.ParseAddr(text)
	if err != nil {
		return badField("ip_address", "Enter a valid IPv4 or IPv6 address.")
	}
	if n == nil {
		n = c.w.subnetOf(ip)
	}
	if n == nil || !n.cidr.Contains(ip) {
		return badText(fmt.Sprintf("No subnet contains %s.", ip))
	}
	if rep := c.w.refuseAddress(ip); rep != nil {
		return *rep
	}
	r := &reservedIP{ip: ip, subnet: n, owner: c.user, created: time.Now()}
	c.w.reserved = append(c.w.reserved, r)
	return ok(r.view(c.w))
}

// refuseAddress says why an address cannot be reserved, nil if it can.
func (w *world) refuseAddress(ip netip.Addr) *reply {
	var rep reply
	switch r := w.inRange(ip); {
	case w.taken(ip):
		rep = refused(http.StatusNotFound, fmt.Sprintf("The IP address %s is already in use.", ip))
	case r != nil && r.kind == "dynamic":
		rep = refused(http.StatusForbidden, fmt.Sprintf("IP address %s belongs to an existing dynamic range. To reserve this IP address, a MAC address is required. (Create a device instead.)", ip))
	case r != nil:
		rep = refused(http.StatusNotFound, fmt.Sprintf("%s is within the reserved range from %s to %s", ip, r.start, r.end))
	default:
		return nil
	}
	return &rep
}

// releaseAddress forgets an address that the caller reserved; names that
// point to it just lose it, however many they are.
func releaseAddress(c *call) reply {
	ip, err := netip.ParseAddr(c.field("ip"))
	if err != nil {
		return badField("ip", "Enter a valid IPv4 or IPv6 address.")
	}
	i := c.w.reservation(ip)
	forced := c.user.admin && truth(c.field("force"))
	if i < 0 || c.w.reserved[i].owner != c.user && !forced {
		return badText(fmt.Sprintf("IP address %s does not exist, is not the correct type of address, or does not belong to the requesting user.\n"+
			"If you are sure you want to release this address, use force=true as a MAAS administrator.", ip))
	}
	c.w.reserved = slices.Delete(c.w.reserved, i, i+1)
	c.w.forgetAddresses()
	return deleted()
}

// listSubnetAddresses lists who has which address of a subnet.
func listSubnetAddresses(c *call) reply {
	n, wrong := c.subnet()
	if wrong != nil {
		return *wrong
	}
	w := c.w
	w.forgetAddresses()
	used := map[netip.Addr]object{}
	add := func(ip netip.Addr, kind int, user string, since time.Time, node object) {
		date := since.UTC().Format(longDateForm)
		v := object{"ip": ip.String(), "alloc_type": kind, "user": user, "created": date, "updated": date}
		if node != nil {
			v["node_summary"] = node
		}
		if names := w.namesOf(ip); len(names) > 0 {
			v["dns_records"] = names
		}
		used[ip] = v
	}
	if n.vlan.dhcp {
		add(w.rackAddress(n), allocSticky, "MAAS", w.sim.built, nodeSummary(w.rackID, rackHostname, w.domains[0], 4, rackNIC))
	}
	for _, r := range w.reserved {
		if r.subnet == n {
			add(r.ip, allocUser, r.owner.name, r.created, nil)
		}
	}
	w.eachLink(n, func(m *machine, i *nic, l *link, ip netip.Addr) {
		kind := allocSticky
		if l.mode == "auto" {
			kind = allocAuto
		}
		owner := "MAAS"
		if m.owner != nil {
			owner = m.owner.name
		}
		add(ip, kind, owner, w.sim.built, nodeSummary(m.systemID, m.hostname, m.domain, 0, i.name))
	})
	views := []object{}
	for _, ip := range slices.SortedFunc(maps.Keys(used), func(a, b netip.Addr) int { return cmp.Compare(a.String(), b.String()) }) {
		views = append(views, used[ip])
	}
	return ok(views)
}

// namesOf lists the names that point to an address.
func (w *world) namesOf(ip netip.Addr) (names []object) {
	for _, r := range w.dns {
		if slices.Contains(r.ips, ip.String()) {
			names = append(names, object{"id": r.id, "name": r.name, "domain": r.domain.name})
		}
	}
	return names
}

func nodeSummary(systemID, hostname string, d *domain, nodeType int, via string) object {
	return object{
		"system_id": systemID, "hostname": hostname, "fqdn": hostname + "." + d.name, "node_type": nodeType,
		"is_container": false, "via": via,
	}
}

// eachLink visits the addresses that machines have on a subnet.
func (w *world) eachLink(n *subnet, visit func(*machine, *nic, *link, netip.Addr)) {
	for _, m := range sortedMachines(w.machines) {
		for _, i := range m.nics {
			for _, l := range i.links {
				if ip, err := netip.ParseAddr(l.ip); err == nil && l.subnet == n {
					visit(m, i, l, ip)
				}
			}
		}
	}
}
