package network

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

func viewSpan(s world.Span, n *world.Subnet) rest.Object {
	return rest.Object{"start": world.NthAddress(n.CIDR, s.Start).String(), "end": world.NthAddress(n.CIDR, s.End).String(), "num_addresses": s.Count()}
}

// subnetRoutes find a subnet by id, by "cidr:…" and "name:…", or by CIDR:
// "subnets/10.77.0.0%2F24/" has two segments once it is decoded.
var subnetRoutes = []request.Route{
	{Method: http.MethodGet, Path: "subnets/", Handle: listSubnets},
	{Method: http.MethodPost, Path: "subnets/", Admin: true, Handle: createSubnet},
	{Method: http.MethodGet, Path: "subnets/{id}/", Handle: readSubnet},
	{Method: http.MethodGet, Path: "subnets/{id}/{bits}/", Handle: readSubnet},
	{Method: http.MethodGet, Path: "subnets/{id}/", Op: "ip_addresses", Handle: listSubnetAddresses},
	{Method: http.MethodGet, Path: "subnets/{id}/", Op: "statistics", Handle: countAddresses},
	{Method: http.MethodGet, Path: "subnets/{id}/", Op: "reserved_ip_ranges", Handle: listUsedRanges},
	{Method: http.MethodGet, Path: "subnets/{id}/", Op: "unreserved_ip_ranges", Handle: listFreeRanges},
	{Method: http.MethodPut, Path: "subnets/{id}/", Admin: true, Handle: updateSubnet},
	{Method: http.MethodDelete, Path: "subnets/{id}/", Admin: true, Handle: deleteSubnet},
}

func listSubnets(c *request.Call) rest.Reply {
	views := []rest.Object{}
	for _, n := range c.World.Subnets {
		views = append(views, view.Subnet(n, c.World))
	}
	return rest.OKReply(views)
}

// subnetInPath is the subnet that the path names.
func subnetInPath(c *request.Call) (*world.Subnet, *rest.Reply) {
	text := c.Vars["id"]
	if bits := c.Vars["bits"]; bits != "" {
		text += "/" + bits
	}
	return request.SubnetBySpecifier(c.World, text)
}

func readSubnet(c *request.Call) rest.Reply {
	n, wrong := subnetInPath(c)
	if wrong != nil {
		return *wrong
	}
	return rest.OKReply(view.Subnet(n, c.World))
}

func ipVersion(n *world.Subnet) int {
	if n.CIDR.Addr().Is4() {
		return 4
	}
	return 6
}

func countAddresses(c *request.Call) rest.Reply {
	n, wrong := subnetInPath(c)
	if wrong != nil {
		return *wrong
	}
	free, largest, total := 0, 0, n.Size()
	for _, run := range world.FreeSpans(c.World, n) {
		free += run.Count()
		largest = max(largest, run.Count())
	}
	usage := float64(total-free) / float64(total)
	views := rest.Object{
		"num_available": free, "largest_available": largest, "num_unavailable": total - free, "total_addresses": total,
		"usage": rest.Float(usage), "usage_string": percent(usage), "available_string": percent(1 - usage),
		"first_address": world.NthAddress(n.CIDR, 1).String(), "last_address": world.NthAddress(n.CIDR, total).String(), "ip_version": ipVersion(n),
	}
	if rest.ReadBool(c.Query.Get("include_ranges")) {
		views["ranges"] = allRanges(c.World, n)
	}
	if rest.ReadBool(c.Query.Get("include_suggestions")) {
		views["suggested_gateway"], views["suggested_dynamic_range"] = suggestRanges(c.World, n)
	}
	return rest.OKReply(views)
}

// allRanges covers a subnet completely: used ranges with their purposes, and unused ones.
func allRanges(w *world.World, n *world.Subnet) []rest.Object {
	runs := world.JoinSpans(world.UsedSpans(w, n))
	for _, run := range world.FreeSpans(w, n) {
		run.Purpose = "unused"
		runs = append(runs, run)
	}
	slices.SortFunc(runs, func(a, b world.Span) int { return cmp.Compare(a.Start, b.Start) })
	return purposeViews(runs, n)
}

func purposeViews(runs []world.Span, n *world.Subnet) []rest.Object {
	views := []rest.Object{}
	for _, run := range runs {
		v := viewSpan(run, n)
		v["purpose"] = slices.Sorted(slices.Values(strings.Fields(run.Purpose)))
		views = append(views, v)
	}
	return views
}

// suggestRanges suggests a gateway and a dynamic range for a subnet. It returns null for
// one that exists already (provisioningserver/utils/network.py, IPRangeStatistics).
func suggestRanges(w *world.World, n *world.Subnet) (gateway, dynamic any) {
	free, used := world.FreeSpans(w, n), world.UsedSpans(w, n)
	hasPurpose := func(purpose string) bool {
		return slices.ContainsFunc(used, func(s world.Span) bool { return s.Purpose == purpose })
	}
	if len(free) == 0 {
		return nil, nil
	}
	at := -1
	if !hasPurpose("gateway-ip") {
		at = suggestedGateway(free, n.Size())
		gateway = world.NthAddress(n.CIDR, at).String()
	}
	if hasPurpose("dynamic") {
		return gateway, nil
	}
	if run, fits := suggestedRange(free, at, n.Size()); fits {
		v := viewSpan(run, n)
		v["purpose"] = []string{"proposed-dynamic"}
		dynamic = v
	}
	return gateway, dynamic
}

// suggestedGateway is the first address if it is free, else the last, else the first free
// one.
func suggestedGateway(free []world.Span, size int) int {
	last := free[len(free)-1].End
	if free[0].Start != 1 && last == size {
		return last
	}
	return free[0].Start
}

// suggestedRange is the end of the largest free span. It takes at most a quarter of the
// subnet or half of the free addresses.
func suggestedRange(free []world.Span, gateway, size int) (world.Span, bool) {
	available := 0
	for _, run := range free {
		available += run.Count()
	}
	run := slices.MaxFunc(free, func(a, b world.Span) int { return cmp.Compare(a.Count(), b.Count()) })
	if gateway == run.Start {
		run.Start++
	} else if gateway == run.End {
		run.End--
	}
	switch {
	case run.Count() > size>>2:
		run.Start = run.End - size>>2
	case run.Count() >= available>>1:
		run.Start = run.End - available>>1 + 1
	}
	return run, run.Start < run.End
}

func percent(part float64) string { return fmt.Sprintf("%.0f%%", part*100) }

func listFreeRanges(c *request.Call) rest.Reply {
	n, wrong := subnetInPath(c)
	if wrong != nil {
		return *wrong
	}
	views := []rest.Object{}
	for _, run := range world.FreeSpans(c.World, n) {
		views = append(views, viewSpan(run, n))
	}
	return rest.OKReply(views)
}

func listUsedRanges(c *request.Call) rest.Reply {
	n, wrong := subnetInPath(c)
	if wrong != nil {
		return *wrong
	}
	return rest.OKReply(purposeViews(world.JoinSpans(world.UsedSpans(c.World, n)), n))
}
