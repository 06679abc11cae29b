package network

import (
	"net/http"
	"net/netip"
	"slices"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

var rangeRoutes = []request.Route{
	{Method: http.MethodGet, Path: "ipranges/", Handle: listRanges},
	{Method: http.MethodPost, Path: "ipranges/", Handle: createRange},
	{Method: http.MethodGet, Path: "ipranges/{id}/", Handle: readRange},
	{Method: http.MethodDelete, Path: "ipranges/{id}/", Admin: true, Handle: deleteRange},
}

func viewRange(r *world.IPRange, w *world.World) rest.Object {
	return rest.Object{
		"id": r.ID, "type": r.Kind, "start_ip": r.Start.String(), "end_ip": r.End.String(), "comment": r.Comment,
		"subnet": view.Subnet(r.Subnet, w), "user": view.User(w.Users[0]), "resource_uri": rest.URI("ipranges", r.ID),
	}
}

func listRanges(c *request.Call) rest.Reply {
	views := []rest.Object{}
	for _, r := range c.World.Ranges {
		views = append(views, viewRange(r, c.World))
	}
	return rest.OK(views)
}

// createRange takes dynamic ranges of admins only.
func createRange(c *request.Call) rest.Reply {
	kind := c.Field("type")
	errs := rest.FormErrors{}
	if kind != "dynamic" && kind != "reserved" {
		errs.Add("type", "Select a valid choice. "+kind+" is not one of the available choices.")
	}
	start, end := rangeEnd(c, "start_ip", errs), rangeEnd(c, "end_ip", errs)
	if len(errs) > 0 {
		return rest.BadForm(errs)
	}
	if kind == "dynamic" && !c.User.Admin {
		return rest.Refused(http.StatusForbidden, "Unable to create dynamic IP range. You don't have sufficient privileges.")
	}
	n := c.World.SubnetOf(start)
	switch {
	case n == nil || c.World.SubnetOf(end) != n:
		return rest.BadField("subnet", "Unable to identify subnet for IP range.")
	case end.Less(start):
		return rest.BadField("__all__", "End IP address must not be less than Start IP address.")
	case rangeOverlaps(c.World, start, end):
		text := "Requested " + kind + " range conflicts with an existing range."
		return rest.BadForm(rest.FormErrors{"start_ip": {text}, "end_ip": {text}})
	}
	r := &world.IPRange{ID: c.World.NextID("iprange"), Kind: kind, Start: start, End: end, Subnet: n, Comment: c.Field("comment")}
	c.World.Ranges = append(c.World.Ranges, r)
	return rest.OK(viewRange(r, c.World))
}

func rangeEnd(c *request.Call, field string, errs rest.FormErrors) netip.Addr {
	ip, err := netip.ParseAddr(c.Field(field))
	switch {
	case c.Field(field) == "":
		errs.Add(field, rest.MsgRequired)
	case err != nil:
		errs.Add(field, "Enter a valid IPv4 or IPv6 address.")
	}
	return ip
}

func rangeOverlaps(w *world.World, start, end netip.Addr) bool {
	return slices.ContainsFunc(w.Ranges, func(r *world.IPRange) bool {
		return r.Start.Compare(end) <= 0 && start.Compare(r.End) <= 0
	})
}

func rangeInPath(c *request.Call) (*world.IPRange, *rest.Reply) {
	byID := map[int]*world.IPRange{}
	for _, r := range c.World.Ranges {
		byID[r.ID] = r
	}
	return request.Numbered(c, byID, "IPRange")
}

func readRange(c *request.Call) rest.Reply {
	r, wrong := rangeInPath(c)
	if wrong != nil {
		return *wrong
	}
	return rest.OK(viewRange(r, c.World))
}

func deleteRange(c *request.Call) rest.Reply {
	r, wrong := rangeInPath(c)
	if wrong != nil {
		return *wrong
	}
	c.World.Ranges = slices.DeleteFunc(c.World.Ranges, func(other *world.IPRange) bool { return other == r })
	return rest.Deleted()
}
