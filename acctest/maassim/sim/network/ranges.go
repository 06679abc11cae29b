package network

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

var rangeRoutes = []request.Route{
	{Method: http.MethodGet, Path: "ipranges/", Handle: listRanges},
	{Method: http.MethodPost, Path: "ipranges/", Handle: createRange},
	{Method: http.MethodGet, Path: "ipranges/{id}/", Handle: readRange},
	{Method: http.MethodDelete, Path: "ipranges/{id}/", Handle: onOwnRange(deleteRange)},
	{Method: http.MethodPut, Path: "ipranges/{id}/", Handle: onOwnRange(updateRange)},
}

func viewRange(r *world.IPRange, w *world.World) rest.Object {
	return rest.Object{
		"id": r.ID, "type": r.Kind, "start_ip": r.Start.String(), "end_ip": r.End.String(), "comment": r.Comment,
		"subnet": view.Subnet(r.Subnet, w), "user": view.User(cmp.Or(r.Owner, w.Users[0])), "resource_uri": rest.URI("ipranges", r.ID),
	}
}

func listRanges(c *request.Call) rest.Reply {
	views := []rest.Object{}
	for _, r := range c.World.IPRanges {
		views = append(views, viewRange(r, c.World))
	}
	return rest.OKReply(views)
}

// createRange makes a range. Only administrators can make a dynamic one.
func createRange(c *request.Call) rest.Reply {
	if c.Field("type") == "dynamic" && !c.User.Admin {
		return rest.ErrorReply(http.StatusForbidden, "Unable to create dynamic IP range. You don't have sufficient privileges.")
	}
	r := &world.IPRange{Owner: c.User}
	if bad := readRangeForm(c, r); bad != nil {
		return *bad
	}
	r.ID = c.World.NextID("iprange")
	c.World.IPRanges = append(c.World.IPRanges, r)
	return rest.OKReply(viewRange(r, c.World))
}

// readRangeForm reads the fields of the form, and checks the whole range
// (forms/iprange.py, models/iprange.py).
func readRangeForm(c *request.Call, r *world.IPRange) *rest.Reply {
	errs := rest.FormErrors{}
	if text := c.Field("start_ip"); r.ID == 0 && !c.HasField("subnet") && text != "" && !isAddress(text) {
		bad := rest.InternalErrorReply("failed to detect a valid IP address from '" + text + "'") // MAAS fails while it looks for the subnet
		return &bad
	}
	switch kind := c.Field("type"); {
	case kind == "dynamic" || kind == "reserved":
		r.Kind = kind
	case kind != "":
		errs.Add("type", rest.ChoiceProblem(kind))
	case r.Kind == "":
		errs.Add("type", rest.MsgRequired)
	}
	readRangeEnd(c, "start_ip", &r.Start, errs)
	readRangeEnd(c, "end_ip", &r.End, errs)
	readRangeSubnet(c, r, errs)
	if c.HasField("comment") {
		r.Comment = c.Field("comment")
	}
	switch {
	case len(errs) == 0:
		checkRange(c.World, r, errs)
	case !r.Start.IsValid() && c.Field("start_ip") == "" || !r.End.IsValid() && c.Field("end_ip") == "":
		for _, field := range []string{"start_ip", "end_ip"} { // the model checks, too, and its messages come first
			errs[field] = append([]string{"Start IP address and end IP address are both required."}, errs[field]...)
		}
	}
	if len(errs) == 0 {
		return nil
	}
	bad := rest.BadFormReply(errs)
	return &bad
}

func readRangeEnd(c *request.Call, field string, to *netip.Addr, errs rest.FormErrors) {
	text := c.Field(field)
	ip, err := netip.ParseAddr(text)
	switch {
	case text == "" && !to.IsValid():
		errs.Add(field, rest.MsgRequired)
	case text == "":
	case err != nil:
		errs.Add(field, msgAddress)
	default:
		*to = ip
	}
}

// readRangeSubnet uses the subnet of the first address if none is named.
func readRangeSubnet(c *request.Call, r *world.IPRange, errs rest.FormErrors) {
	text := c.Field("subnet")
	switch {
	case text != "":
		for _, n := range c.World.Subnets {
			if strconv.Itoa(n.ID) == text {
				r.Subnet = n
				return
			}
		}
		errs.Add("subnet", rest.InvalidChoice)
	case r.Subnet == nil && r.Start.IsValid():
		if r.Subnet = c.World.SubnetOf(r.Start); r.Subnet == nil {
			errs.Add("subnet", rest.MsgRequired)
		}
	case r.Subnet == nil:
		errs.Add("subnet", rest.MsgRequired)
	}
}

// checkRange requires that both ends are in the subnet and that no other range overlaps. A
// dynamic range must also contain no used address.
func checkRange(w *world.World, r *world.IPRange, errs rest.FormErrors) {
	both := func(text string) { errs.Add("start_ip", text); errs.Add("end_ip", text) }
	network := r.Subnet.CIDR
	hasStart, hasEnd := network.Contains(r.Start), network.Contains(r.End)
	switch {
	case r.Start.Is4() != r.End.Is4():
		both("Start IP address and end IP address must be in the same address family.")
	case r.End.Less(r.Start):
		errs.Add("end_ip", "End IP address must not be less than Start IP address.")
	case !hasStart && !hasEnd:
		both(fmt.Sprintf("IP addresses must be within subnet: %s.", network))
	case !hasStart:
		errs.Add("start_ip", fmt.Sprintf("Start IP address must be within subnet: %s.", network))
	case !hasEnd:
		errs.Add("end_ip", fmt.Sprintf("End IP address must be within subnet: %s.", network))
	case r.Start == network.Addr():
		errs.Add("start_ip", "Reserved network address cannot be included in IP range.")
	case r.End == world.NthAddress(network, r.Subnet.Size()+1):
		errs.Add("end_ip", "Broadcast address cannot be included in IP range.")
	case r.Kind == "reserved" && overlapsRange(w, r):
		both("Requested reserved range conflicts with an existing range.")
	case r.Kind == "dynamic" && (overlapsRange(w, r) || hasAddressInRange(w, r)):
		both("Requested dynamic range conflicts with an existing IP address or range.")
	}
}

func overlapsRange(w *world.World, r *world.IPRange) bool {
	return slices.ContainsFunc(w.IPRanges, func(other *world.IPRange) bool {
		return other.ID != r.ID && other.Start.Compare(r.End) <= 0 && r.Start.Compare(other.End) <= 0
	})
}

// hasAddressInRange tells whether the range contains a used address or the gateway.
// Addresses that commissioning observed do not count.
func hasAddressInRange(w *world.World, r *world.IPRange) bool {
	return slices.ContainsFunc(world.UsedSpans(w, r.Subnet), func(s world.Span) bool {
		ip := world.NthAddress(r.Subnet.CIDR, s.Start)
		isRange := s.Purpose == "dynamic" || s.Purpose == "reserved"
		return !isRange && r.Start.Compare(ip) <= 0 && ip.Compare(r.End) <= 0
	})
}

func rangeInPath(c *request.Call) (*world.IPRange, *rest.Reply) {
	byID := map[int]*world.IPRange{}
	for _, r := range c.World.IPRanges {
		byID[r.ID] = r
	}
	return request.FindByID(c, byID, "IPRange")
}

func readRange(c *request.Call) rest.Reply {
	r, wrong := rangeInPath(c)
	if wrong != nil {
		return *wrong
	}
	return rest.OKReply(viewRange(r, c.World))
}

// updateRange makes the same checks as for a new range.
func updateRange(c *request.Call, r *world.IPRange) rest.Reply {
	changed := *r
	if bad := readRangeForm(c, &changed); bad != nil {
		return *bad
	}
	*r = changed
	return rest.OKReply(viewRange(r, c.World))
}

func deleteRange(c *request.Call, r *world.IPRange) rest.Reply {
	c.World.IPRanges = slices.DeleteFunc(c.World.IPRanges, func(other *world.IPRange) bool { return other == r })
	return rest.DeletedReply()
}

// onOwnRange looks up the range of the path. Its owner and administrators may change it.
func onOwnRange(f func(*request.Call, *world.IPRange) rest.Reply) func(*request.Call) rest.Reply {
	return func(c *request.Call) rest.Reply {
		r, wrong := rangeInPath(c)
		switch {
		case wrong != nil:
			return *wrong
		case !c.User.Admin && r.Owner != c.User:
			return rest.ErrorReply(http.StatusForbidden, "Unable to modify IP range. You don't own the IP range.")
		}
		return f(c, r)
	}
}
