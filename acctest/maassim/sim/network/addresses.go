package network

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
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

// Those of MAAS's kinds of addresses that matter here (enum.py, IPADDRESS_TYPE).
const (
	allocAuto       = 0
	allocStatic     = 1 // STICKY, which MAAS calls Static
	allocUser       = 4
	allocDiscovered = 6
)

const (
	timestampFormat = "2006-01-02T15:04:05.000"
	longDateFormat  = "Mon, 02 Jan. 2006 15:04:05"
)

func viewReserved(r *world.ReservedIP, w *world.World) rest.Object {
	v := rest.Object{
		"ip": r.IP.String(), "alloc_type": allocUser, "alloc_type_name": "User reserved",
		"created": r.Created.UTC().Format(timestampFormat), "owner": view.User(r.Owner), "interface_set": []rest.Object{},
		"subnet": nil, "resource_uri": rest.APIRoot + "ipaddresses/",
	}
	if r.Subnet != nil {
		v["subnet"] = view.Subnet(r.Subnet, w)
	}
	return v
}

// addressView shows an address to which a DNS name points, whoever has it.
func addressView(w *world.World, text string) rest.Object {
	ip := netip.MustParseAddr(text)
	if i := reservationIndex(w, ip); i >= 0 {
		return viewReserved(w.ReservedIPs[i], w)
	}
	if m, n, l := linkWithAddress(w, ip); m != nil {
		return linkedView(m, n, l)
	}
	return viewReserved((&world.ReservedIP{IP: ip, Subnet: w.SubnetOf(ip), Owner: w.Users[0], Created: w.Keeper.BuiltAt}), w)
}

// linkWithAddress finds the machine that has an address, or nil.
func linkWithAddress(w *world.World, ip netip.Addr) (*world.Machine, *world.NIC, *world.Link) {
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

// addressHolder finds the machine and the interface of a link, or nil if the link is gone.
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

// linkedView shows an address of a machine, or null if the machine released it.
func linkedView(m *world.Machine, n *world.NIC, l *world.Link) rest.Object {
	kind, name := allocStatic, "Static"
	if l.Mode == world.LinkAuto {
		kind, name = allocAuto, "Automatic"
	}
	v := rest.Object{
		"ip": l.IP, "alloc_type": kind, "alloc_type_name": name, "created": m.World.Keeper.BuiltAt.UTC().Format(timestampFormat),
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

// reservationIndex is the index of an address among the reserved ones, or -1.
func reservationIndex(w *world.World, ip netip.Addr) int {
	return slices.IndexFunc(w.ReservedIPs, func(r *world.ReservedIP) bool { return r.IP == ip })
}

// listAddresses lists the addresses that the caller reserved. An administrator can list
// those of an owner, or with all=true every address in MAAS's records
// (api/ip_addresses.py).
func listAddresses(c *request.Call) rest.Reply {
	all, ip, owner := rest.ReadBool(c.Query.Get("all")), c.Query.Get("ip"), c.Query.Get("owner")
	switch {
	case ip != "" && !isAddress(ip):
		return plainErrorReply(http.StatusBadRequest, "Parameter 'ip' must contain an IP address.")
	case all && !c.User.Admin:
		return plainErrorReply(http.StatusForbidden, "Listing all IP addresses requires admin privileges.")
	case owner != "" && !c.User.Admin:
		return plainErrorReply(http.StatusForbidden, "Listing another user's IP addresses requires admin privileges.")
	}
	views := []rest.Object{}
	if all && owner == "" {
		views = serverAddresses(c.World)
	}
	for _, r := range c.World.ReservedIPs {
		if owner == r.Owner.Name || owner == "" && (all || r.Owner == c.User) {
			views = append(views, viewReserved(r, c.World))
		}
	}
	return rest.OKReply(slices.DeleteFunc(views, func(v rest.Object) bool { return ip != "" && v["ip"] != ip }))
}

// serverAddresses are the addresses of MAAS's own server, of machines, and of LXDs. They
// include addresses that commissioning observed.
func serverAddresses(w *world.World) []rest.Object {
	views := []rest.Object{}
	for _, n := range w.Subnets {
		if n.HasRack {
			v := staticView(w, world.RackAddress(w, n).String(), allocStatic, "Static")
			v["subnet"], v["interface_set"] = view.Subnet(n, w), []rest.Object{view.RackNIC(w, n)}
			views = append(views, v)
		}
	}
	for _, b := range rest.SortedValues(w.BMCs) {
		host, _, err := net.SplitHostPort(world.NormalizeLXDAddress(b.Address))
		isSame := func(v rest.Object) bool { return v["ip"] == host }
		if err == nil && isAddress(host) && !slices.ContainsFunc(views, isSame) {
			views = append(views, staticView(w, host, allocStatic, "Static"))
		}
	}
	for _, m := range world.SortedMachines(w.Machines) {
		for _, n := range m.NICs {
			for _, l := range n.Links {
				if l.IP != "" {
					views = append(views, linkedView(m, n, l))
				}
			}
			for _, d := range n.Discovered {
				v := staticView(w, d.IP, allocDiscovered, "Discovered")
				v["subnet"], v["interface_set"] = view.Subnet(d.Subnet, w), []rest.Object{view.NICView(m, n)}
				views = append(views, v)
			}
		}
	}
	return views
}

func staticView(w *world.World, ip string, kind int, name string) rest.Object {
	return rest.Object{
		"ip": ip, "alloc_type": kind, "alloc_type_name": name, "created": w.Keeper.BuiltAt.UTC().Format(timestampFormat),
		"owner": nil, "interface_set": []rest.Object{}, "subnet": nil, "resource_uri": rest.APIRoot + "ipaddresses/",
	}
}

func isAddress(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil
}

// plainErrorReply is an error that MAAS itself makes, without a character set.
func plainErrorReply(status int, text string) rest.Reply {
	return rest.Reply{Status: status, Kind: rest.TypePlain, Body: []byte(text), Header: rest.APIHeader()}
}

// reserveAddress answers 404 if the address is not available, as MAAS does. ip= decides on
// the subnet even if subnet= names another one (api/ip_addresses.py).
func reserveAddress(c *request.Call) rest.Reply {
	text, called := cmp.Or(c.Field("ip"), c.Field("ip_address")), c.Field("subnet")
	if text != "" && !isAddress(text) {
		return rest.BadFieldReply("ip_address", msgAddress)
	}
	n, rep := reservedSubnet(c.World, text, called)
	if rep != nil {
		return *rep
	}
	name, d, rep := reservedName(c)
	if rep != nil {
		return *rep
	}
	if text == "" {
		if text = c.World.FreeAddress(n); text == "" {
			return rest.ErrorReply(http.StatusServiceUnavailable, fmt.Sprintf("No more IPs available in subnet: %s.", n.CIDR))
		}
	}
	ip := netip.MustParseAddr(text)
	if rep := refuseAddress(c.World, ip); rep != nil {
		return *rep
	}
	r := &world.ReservedIP{IP: ip, Subnet: n, Owner: c.User, Created: time.Now()}
	c.World.ReservedIPs = append(c.World.ReservedIPs, r)
	if name != "" {
		nameAddress(c.World, name, d, ip)
	}
	return rest.OKReply(viewReserved(r, c.World))
}

func reservedSubnet(w *world.World, ip, called string) (*world.Subnet, *rest.Reply) {
	var bad rest.Reply
	switch {
	case ip != "":
		if n := w.SubnetOf(netip.MustParseAddr(ip)); n != nil {
			return n, nil
		}
		bad = rest.BadTextReply(fmt.Sprintf("No known subnet for IP address: %s.", ip))
	case called == "":
		bad = rest.BadTextReply("Must supply either the 'subnet' or the 'ip' parameter.")
	default:
		if n := world.FindSubnet(w, called); n != nil {
			return n, nil
		}
		bad = rest.BadTextReply(fmt.Sprintf("Unable to identify subnet: %s.", called))
	}
	return nil, &bad
}

// reservedName is the name for a reserved address, or empty. Without a dot it is in the
// default domain.
func reservedName(c *request.Call) (string, *world.Domain, *rest.Reply) {
	label, after, isDotted := strings.Cut(c.Field("hostname"), ".")
	if !isDotted {
		return label, c.World.DefaultDomain(), nil
	}
	d := c.World.DomainNamed(after)
	if d == nil {
		rep := rest.NoObjectReply("Domain")
		return "", nil, &rep
	}
	return label, d, nil
}

// nameAddress adds an address to a name. It makes the name if it does not exist.
func nameAddress(w *world.World, label string, d *world.Domain, ip netip.Addr) {
	i := slices.IndexFunc(w.DNSResources, func(r *world.DNSResource) bool { return r.Name == label && r.Domain == d })
	if i < 0 {
		i = len(w.DNSResources)
		w.DNSResources = append(w.DNSResources, &world.DNSResource{ID: w.NextID("dnsresource"), Name: label, Domain: d})
	}
	w.DNSResources[i].IPs = append(w.DNSResources[i].IPs, ip.String())
}

// refuseAddress returns why an address cannot be reserved, or nil.
func refuseAddress(w *world.World, ip netip.Addr) *rest.Reply {
	var rep rest.Reply
	switch r := world.RangeOf(w, ip); {
	case r != nil && r.Kind == "dynamic":
		rep = rest.ErrorReply(http.StatusForbidden, fmt.Sprintf("IP address %s belongs to an existing dynamic range. To reserve this IP address, a MAC address is required. (Create a device instead.)", ip))
	case world.HasAddressRow(w, ip, false):
		rep = rest.ErrorReply(http.StatusNotFound, fmt.Sprintf("The IP address %s is already in use.", ip))
	case r != nil:
		rep = rest.ErrorReply(http.StatusNotFound, fmt.Sprintf("%s is within the reserved range from %s to %s", ip, r.Start, r.End))
	default:
		return nil
	}
	return &rep
}

// releaseAddress releases an address that the caller reserved. All names that point to it
// lose it. An administrator's force=true releases any address, also that of a machine's
// link.
func releaseAddress(c *request.Call) rest.Reply {
	text, forced := c.Field("ip"), rest.ReadBool(c.Field("force"))
	switch {
	case text == "":
		return rest.BadTextReply("No provided ip!")
	case forced && !c.User.Admin:
		return plainErrorReply(http.StatusForbidden, "Force-releasing an IP address requires admin privileges.")
	case !isAddress(text):
		return rest.BadFieldReply("ip", msgAddress)
	}
	ip := netip.MustParseAddr(text)
	i := reservationIndex(c.World, ip)
	_, n, l := linkWithAddress(c.World, ip)
	switch {
	case i >= 0 && (forced || c.World.ReservedIPs[i].Owner == c.User):
		c.World.ReservedIPs = slices.Delete(c.World.ReservedIPs, i, i+1)
	case forced && l != nil:
		n.RemoveLink(c.World, l)
	case forced:
		return rest.BadTextReply(fmt.Sprintf("IP address %s does not exist.", text))
	default:
		return rest.BadTextReply(fmt.Sprintf("IP address %s does not exist, is not the correct type of address, or does not belong to the requesting user.\n"+
			"If you are sure you want to release this address, use force=true as a MAAS administrator.", text))
	}
	DropStaleAddresses(c.World)
	return rest.DeletedReply()
}

// listSubnetAddresses lists the addresses of a subnet with their users.
func listSubnetAddresses(c *request.Call) rest.Reply {
	n, wrong := subnetInPath(c)
	if wrong != nil {
		return *wrong
	}
	DropStaleAddresses(c.World)
	used := usedAddresses(c.World, n)
	views := []rest.Object{}
	hidden := hiddenKeys(c)
	for _, ip := range slices.SortedFunc(maps.Keys(used), netip.Addr.Compare) {
		for _, key := range hidden {
			delete(used[ip], key)
		}
		views = append(views, used[ip])
	}
	return rest.OKReply(views)
}

// hiddenKeys are the keys that the caller excludes from a subnet's addresses.
func hiddenKeys(c *request.Call) (keys []string) {
	isOff := func(name string) bool { return c.Query.Has(name) && !rest.ReadBool(c.Query.Get(name)) }
	if isOff("with_username") {
		keys = append(keys, "user")
	}
	if isOff("with_summary") || isOff("with_node_summary") {
		keys = append(keys, "node_summary", "dns_records")
	}
	return keys
}

// usedAddresses returns the used addresses of a subnet with their users.
func usedAddresses(w *world.World, n *world.Subnet) map[netip.Addr]rest.Object {
	used := map[netip.Addr]rest.Object{}
	add := func(ip netip.Addr, kind int, user string, since time.Time, node rest.Object) {
		date := since.UTC().Format(longDateFormat)
		v := rest.Object{"ip": ip.String(), "alloc_type": kind, "created": date, "updated": date}
		if user != "" {
			v["user"] = user
		}
		if node != nil {
			v["node_summary"] = node
		}
		if names := dnsNamesOf(w, ip); len(names) > 0 {
			v["dns_records"] = names
		}
		used[ip] = v
	}
	if n.HasRack {
		add(world.RackAddress(w, n), allocStatic, "MAAS", w.Keeper.BuiltAt, nodeSummary(w.RackID, world.RackHostname, w.DefaultDomain(), 4, world.RackNIC))
	}
	for _, r := range w.ReservedIPs {
		if r.Subnet == n {
			add(r.IP, allocUser, r.Owner.Name, r.Created, nil)
		}
	}
	world.VisitLinks(w, n, func(m *world.Machine, i *world.NIC, l *world.Link, ip netip.Addr) {
		kind := allocStatic
		if l.Mode == "auto" {
			kind = allocAuto
		}
		summary := nodeSummary(m.SystemID, m.Hostname, m.Domain, 0, i.Name)
		summary["is_container"] = m.Parent != nil
		add(ip, kind, request.OwnerText(m), w.Keeper.BuiltAt, summary)
	})
	return used
}

// dnsNamesOf lists the names that point to an address.
func dnsNamesOf(w *world.World, ip netip.Addr) (names []rest.Object) {
	for _, r := range w.DNSResources {
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
