package sim

import (
	"net/http"
	"net/netip"
	"slices"
)

var rangeRoutes = []route{
	{method: http.MethodGet, path: "ipranges/", handle: listRanges},
	{method: http.MethodPost, path: "ipranges/", handle: createRange},
	{method: http.MethodGet, path: "ipranges/{id}/", handle: readRange},
	{method: http.MethodDelete, path: "ipranges/{id}/", admin: true, handle: deleteRange},
}

func (r *ipRange) view(w *world) object {
	return object{
		"id": r.id, "type": r.kind, "start_ip": r.start.String(), "end_ip": r.end.String(), "comment": r.comment,
		"subnet": r.subnet.view(w), "user": w.users[0].view(), "resource_uri": uri("ipranges", r.id),
	}
}

func listRanges(c *call) reply {
	views := []object{}
	for _, r := range c.w.ranges {
		views = append(views, r.view(c.w))
	}
	return ok(views)
}

// createRange takes dynamic ranges of admins only.
func createRange(c *call) reply {
	kind := c.field("type")
	errs := formErrors{}
	if kind != "dynamic" && kind != "reserved" {
		errs.add("type", "Select a valid choice. "+kind+" is not one of the available choices.")
	}
	start, end := c.rangeEnd("start_ip", errs), c.rangeEnd("end_ip", errs)
	if len(errs) > 0 {
		return badForm(errs)
	}
	if kind == "dynamic" && !c.user.admin {
		return refused(http.StatusForbidden, "Unable to create dynamic IP range. You don't have sufficient privileges.")
	}
	n := c.w.subnetOf(start)
	switch {
	case n == nil || c.w.subnetOf(end) != n:
		return badField("subnet", "Unable to identify subnet for IP range.")
	case end.Less(start):
		return badField("__all__", "End IP address must not be less than Start IP address.")
	case c.w.overlaps(start, end):
		text := "Requested " + kind + " range conflicts with an existing range."
		return badForm(formErrors{"start_ip": {text}, "end_ip": {text}})
	}
	r := &ipRange{id: c.w.nextID("iprange"), kind: kind, start: start, end: end, subnet: n, comment: c.field("comment")}
	c.w.ranges = append(c.w.ranges, r)
	return ok(r.view(c.w))
}

func (c *call) rangeEnd(field string, errs formErrors) netip.Addr {
	ip, err := netip.ParseAddr(c.field(field))
	switch {
	case c.field(field) == "":
		errs.add(field, msgRequired)
	case err != nil:
		errs.add(field, "Enter a valid IPv4 or IPv6 address.")
	}
	return ip
}

func (w *world) overlaps(start, end netip.Addr) bool {
	return slices.ContainsFunc(w.ranges, func(r *ipRange) bool {
		return r.start.Compare(end) <= 0 && start.Compare(r.end) <= 0
	})
}

func (c *call) ipRange() (*ipRange, *reply) {
	byID := map[int]*ipRange{}
	for _, r := range c.w.ranges {
		byID[r.id] = r
	}
	return numbered(c, byID, "IPRange")
}

func readRange(c *call) reply {
	r, wrong := c.ipRange()
	if wrong != nil {
		return *wrong
	}
	return ok(r.view(c.w))
}

func deleteRange(c *call) reply {
	r, wrong := c.ipRange()
	if wrong != nil {
		return *wrong
	}
	c.w.ranges = slices.DeleteFunc(c.w.ranges, func(other *ipRange) bool { return other == r })
	return deleted()
}
