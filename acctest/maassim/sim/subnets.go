package sim

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// subnetRoutes find a subnet by id, by CIDR ("subnets/10.77.0.0%2F24/": two
// segments once decoded), or by "cidr:…" and "name:…".
var subnetRoutes = []route{
	{method: http.MethodGet, path: "subnets/", handle: listSubnets},
	{method: http.MethodPost, path: "subnets/", admin: true, handle: createSubnet},
	{method: http.MethodGet, path: "subnets/{id}/", handle: readSubnet},
	{method: http.MethodGet, path: "subnets/{id}/{bits}/", handle: readSubnet},
	{method: http.MethodGet, path: "subnets/{id}/", op: "ip_addresses", handle: listSubnetAddresses},
	{method: http.MethodGet, path: "subnets/{id}/", op: "statistics", handle: countAddresses},
	{method: http.MethodGet, path: "subnets/{id}/", op: "reserved_ip_ranges", handle: listUsedRanges},
	{method: http.MethodGet, path: "subnets/{id}/", op: "unreserved_ip_ranges", handle: listFreeRanges},
	{method: http.MethodGet, path: "fabrics/", handle: listFabrics},
	{method: http.MethodGet, path: "fabrics/{id}/", handle: readFabric},
	{method: http.MethodGet, path: "fabrics/{id}/vlans/", handle: listVLANs},
}

func listSubnets(c *call) reply {
	views := []object{}
	for _, n := range c.w.subnets {
		views = append(views, n.view(c.w))
	}
	return ok(views)
}

// subnetCalled finds a subnet by what its path or a form says.
func (w *world) subnetCalled(text string) *subnet {
	kind, rest, isSpecified := strings.Cut(text, ":")
	if isSpecified {
		text = rest
	}
	for _, n := range w.subnets {
		byCIDR, byName := n.cidr.String() == text, n.name == text
		if isSpecified && (kind == "cidr" && byCIDR || kind == "name" && byName) || !isSpecified && (byCIDR || byName || itoa(n.id) == text) {
			return n
		}
	}
	return nil
}

// subnet is the one that the call's path names.
func (c *call) subnet() (*subnet, *reply) {
	text := c.vars["id"]
	if bits := c.vars["bits"]; bits != "" {
		text += "/" + bits
	}
	n := c.w.subnetCalled(text)
	if n == nil {
		rep := noObject("Subnet")
		return nil, &rep
	}
	return n, nil
}

func readSubnet(c *call) reply {
	n, wrong := c.subnet()
	if wrong != nil {
		return *wrong
	}
	return ok(n.view(c.w))
}

// createSubnet makes a subnet on a VLAN of a fabric of its own, as in models.
func createSubnet(c *call) reply {
	text := c.field("cidr")
	network, err := netip.ParsePrefix(text)
	switch {
	case text == "":
		return badField("cidr", msgRequired)
	case err != nil:
		return badField("cidr", "Required format: <network>/<prefixlen>.")
	case c.w.subnetCalled(network.Masked().String()) != nil:
		return badField("cidr", "Subnet with this Cidr already exists.")
	case !network.Addr().Is4() || network.Bits() > leastNetwork:
		return badField("cidr", "Only IPv4 networks of at least 4 addresses are simulated.")
	}
	if problem := gatewayProblem(network, c.field("gateway_ip")); problem != "" {
		return badField("gateway_ip", problem)
	}
	c.w.buildSubnet(len(c.w.networks), SubnetModel{
		Name: or(c.field("name"), network.Masked().String()), CIDR: network.Masked().String(), Gateway: c.field("gateway_ip"),
	})
	return ok(c.w.subnets[len(c.w.subnets)-1].view(c.w))
}

// leastNetwork is the longest prefix of a network that is simulated: two of its
// four addresses can be given away.
const leastNetwork = 30

func gatewayProblem(network netip.Prefix, text string) string {
	ip, err := netip.ParseAddr(text)
	switch {
	case text == "":
	case err != nil:
		return "Enter a valid IPv4 or IPv6 address."
	case !network.Contains(ip):
		return "Gateway IP must be within CIDR range."
	}
	return ""
}

func countAddresses(c *call) reply {
	n, wrong := c.subnet()
	if wrong != nil {
		return *wrong
	}
	free, largest, total := 0, 0, n.size()
	for _, run := range c.w.freeSpans(n) {
		free += run.count()
		largest = max(largest, run.count())
	}
	usage := float64(total-free) / float64(total)
	return ok(object{
		"num_available": free, "largest_available": largest, "num_unavailable": total - free, "total_addresses": total,
		"usage": float(usage), "usage_string": percent(usage), "available_string": percent(1 - usage),
		"first_address": offset(n.cidr, 1).String(), "last_address": offset(n.cidr, total).String(), "ip_version": 4,
	})
}

func percent(part float64) string { return fmt.Sprintf("%.0f%%", part*100) }

func listFreeRanges(c *call) reply {
	n, wrong := c.subnet()
	if wrong != nil {
		return *wrong
	}
	views := []object{}
	for _, run := range c.w.freeSpans(n) {
		views = append(views, run.view(n))
	}
	return ok(views)
}

func listUsedRanges(c *call) reply {
	n, wrong := c.subnet()
	if wrong != nil {
		return *wrong
	}
	views := []object{}
	for _, run := range condensed(c.w.usedSpans(n)) {
		view := run.view(n)
		view["purpose"] = strings.Split(run.purpose, " ")
		views = append(views, view)
	}
	return ok(views)
}

func (f *fabric) view(w *world) object {
	vlans := []object{}
	for _, v := range w.vlans {
		if v.fabric == f {
			vlans = append(vlans, v.view(w))
		}
	}
	return object{"id": f.id, "name": f.name, "class_type": nil, "vlans": vlans, "resource_uri": uri("fabrics", f.id)}
}

func listFabrics(c *call) reply {
	views := []object{}
	for _, f := range c.w.fabrics {
		views = append(views, f.view(c.w))
	}
	return ok(views)
}

func (c *call) fabric() (*fabric, *reply) {
	byID := map[int]*fabric{}
	for _, f := range c.w.fabrics {
		byID[f.id] = f
	}
	return numbered(c, byID, "Fabric")
}

func readFabric(c *call) reply {
	f, wrong := c.fabric()
	if wrong != nil {
		return *wrong
	}
	return ok(f.view(c.w))
}

func listVLANs(c *call) reply {
	f, wrong := c.fabric()
	if wrong != nil {
		return *wrong
	}
	vlans := slices.DeleteFunc(slices.Clone(c.w.vlans), func(v *vlan) bool { return v.fabric != f })
	views := []object{}
	for _, v := range vlans {
		views = append(views, v.view(c.w))
	}
	return ok(views)
}
