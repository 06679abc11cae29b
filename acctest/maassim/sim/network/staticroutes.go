package network

import (
	"fmt"
	"net/http"
	"net/netip"
	"strconv"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

var staticRoutes = []request.Route{
	{Method: http.MethodGet, Path: "static-routes/", Handle: listStaticRoutes},
	{Method: http.MethodPost, Path: "static-routes/", Admin: true, Handle: createStaticRoute},
	{Method: http.MethodGet, Path: "static-routes/{id}/", Handle: onStaticRoute(readStaticRoute)},
	{Method: http.MethodPut, Path: "static-routes/{id}/", Handle: onStaticRoute(updateStaticRoute)},
	{Method: http.MethodDelete, Path: "static-routes/{id}/", Handle: onStaticRoute(deleteStaticRoute)},
}

func onStaticRoute(f func(*request.Call, *world.StaticRoute) rest.Reply) func(*request.Call) rest.Reply {
	return func(c *request.Call) rest.Reply {
		r, wrong := request.FindByID(c, c.World.StaticRoutes, "StaticRoute")
		switch {
		case wrong != nil:
			return *wrong
		case c.Method != http.MethodGet && !c.User.Admin:
			return rest.ForbiddenReply()
		}
		return f(c, r)
	}
}

func viewStaticRoute(r *world.StaticRoute, w *world.World) rest.Object {
	return rest.Object{
		"id": r.ID, "source": view.Subnet(r.Source, w), "destination": view.Subnet(r.Destination, w),
		"gateway_ip": r.Gateway.String(), "metric": r.Metric, "resource_uri": rest.URI("static-routes", r.ID),
	}
}

func listStaticRoutes(c *request.Call) rest.Reply {
	views := []rest.Object{}
	for _, r := range rest.SortedValues(c.World.StaticRoutes) {
		views = append(views, viewStaticRoute(r, c.World))
	}
	return rest.OKReply(views)
}

func readStaticRoute(c *request.Call, r *world.StaticRoute) rest.Reply {
	return rest.OKReply(viewStaticRoute(r, c.World))
}

func createStaticRoute(c *request.Call) rest.Reply {
	r := &world.StaticRoute{}
	if bad := readStaticRouteForm(c, r); bad != nil {
		return *bad
	}
	r.ID = c.World.NextID("staticroute")
	c.World.StaticRoutes[r.ID] = r
	return rest.OKReply(viewStaticRoute(r, c.World))
}

func updateStaticRoute(c *request.Call, r *world.StaticRoute) rest.Reply {
	changed := *r
	if bad := readStaticRouteForm(c, &changed); bad != nil {
		return *bad
	}
	*r = changed
	return rest.OKReply(viewStaticRoute(r, c.World))
}

func deleteStaticRoute(c *request.Call, r *world.StaticRoute) rest.Reply {
	delete(c.World.StaticRoutes, r.ID)
	return rest.DeletedReply()
}

// readStaticRouteForm reads the fields of the form (forms/staticroute.py).
func readStaticRouteForm(c *request.Call, r *world.StaticRoute) *rest.Reply {
	errs := rest.FormErrors{}
	readRouteEnd(c, "source", &r.Source, errs)
	readRouteEnd(c, "destination", &r.Destination, errs)
	text := c.Field("gateway_ip")
	ip, err := netip.ParseAddr(text)
	switch {
	case text == "" && !r.Gateway.IsValid():
		errs.Add("gateway_ip", rest.MsgRequired)
	case text != "" && err != nil:
		errs.Add("gateway_ip", msgAddress)
	case text != "":
		r.Gateway = ip
	}
	if text := c.Field("metric"); text != "" {
		if r.Metric, err = strconv.Atoi(text); err != nil {
			errs.Add("metric", rest.MsgWhole)
		} else if r.Metric < 0 {
			errs.Add("metric", "Ensure this value is greater than or equal to 0.")
		}
	}
	checkRoute(c.World, r, errs)
	if len(errs) == 0 {
		return nil
	}
	bad := rest.BadFormReply(errs)
	return &bad
}

func readRouteEnd(c *request.Call, field string, to **world.Subnet, errs rest.FormErrors) {
	text := c.Field(field)
	n := world.FindSubnet(c.World, text)
	switch {
	case text == "" && *to == nil:
		errs.Add(field, rest.MsgRequired)
	case text == "":
	case n != nil:
		*to = n
	default:
		problem := rest.InvalidChoice
		if _, err := strconv.Atoi(text); err == nil {
			problem = fmt.Sprintf("None found with id=%s.", text)
		}
		errs.Add(field, problem)
	}
}

func checkRoute(w *world.World, r *world.StaticRoute, errs rest.FormErrors) {
	if len(errs) > 0 {
		return
	}
	switch {
	case !r.Source.CIDR.Contains(r.Gateway):
		errs.Add("gateway_ip", fmt.Sprintf("Enter an IP address in %s.", r.Source.CIDR))
		errs.Add("__all__", "gateway_ip must be with in the source subnet.")
	case r.Source == r.Destination:
		errs.Add("__all__", "source and destination cannot be the same subnet.")
	}
	for _, other := range w.StaticRoutes {
		if other.ID != r.ID && other.Source == r.Source && other.Destination == r.Destination && other.Gateway == r.Gateway {
			errs.Add("__all__", "Static route with this Source, Destination and Gateway IP already exists.")
		}
	}
}
