package network

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

var spaceRoutes = []request.Route{
	{Method: http.MethodGet, Path: "spaces/", Handle: listSpaces},
	{Method: http.MethodPost, Path: "spaces/", Admin: true, Handle: createSpace},
	{Method: http.MethodGet, Path: "spaces/{id}/", Handle: readSpace},
	{Method: http.MethodPut, Path: "spaces/{id}/", Handle: onSpace("modified", updateSpace)},
	{Method: http.MethodDelete, Path: "spaces/{id}/", Handle: onSpace("deleted", deleteSpace)},
}

const undefinedSpace = "undefined"

// findSpace finds a space by id, by name, or by "name:…".
func findSpace(w *world.World, text string) *world.Space {
	name := strings.TrimPrefix(text, "name:")
	for _, s := range rest.SortedValues(w.Spaces) {
		if s.Name == name || strconv.Itoa(s.ID) == text {
			return s
		}
	}
	return nil
}

// onSpace looks up the space of the path for an administrator. The undefined space cannot
// be changed.
func onSpace(done string, f func(*request.Call, *world.Space) rest.Reply) func(*request.Call) rest.Reply {
	return func(c *request.Call) rest.Reply {
		id := c.Vars["id"]
		s := findSpace(c.World, id)
		switch {
		case id == "-1" || id == undefinedSpace:
			return rest.BadTextReply(fmt.Sprintf("Space cannot be %s: %s", done, undefinedSpace))
		case s == nil:
			return rest.NoObjectReply("Space")
		case !c.User.Admin:
			return rest.ForbiddenReply()
		}
		return f(c, s)
	}
}

// viewSpace shows a space. nil is the undefined space, for VLANs without one.
func viewSpace(s *world.Space, w *world.World) rest.Object {
	vlans, subnets := []rest.Object{}, []rest.Object{}
	for _, v := range w.VLANs {
		if v.Space == s {
			vlans = append(vlans, view.VLAN(v, w))
		}
	}
	for _, n := range w.Subnets {
		if n.VLAN.Space == s {
			subnets = append(subnets, view.Subnet(n, w))
		}
	}
	v := rest.Object{"vlans": vlans, "subnets": subnets}
	if s == nil {
		v["id"], v["name"], v["resource_uri"] = -1, undefinedSpace, rest.URI("spaces", undefinedSpace)
		v["description"] = "Backward compatibility object to ensure objects not associated with a space can be found."
		return v
	}
	v["id"], v["name"], v["resource_uri"], v["description"] = s.ID, s.Name, rest.URI("spaces", s.ID), s.Description
	return v
}

func hasUndefinedSpace(w *world.World) bool {
	return slices.ContainsFunc(w.VLANs, func(v *world.VLAN) bool { return v.Space == nil })
}

// listSpaces lists the undefined space last, if a VLAN is in it.
func listSpaces(c *request.Call) rest.Reply {
	views := []rest.Object{}
	for _, s := range rest.SortedValues(c.World.Spaces) {
		views = append(views, viewSpace(s, c.World))
	}
	if hasUndefinedSpace(c.World) {
		views = append(views, viewSpace(nil, c.World))
	}
	return rest.OKReply(views)
}

func readSpace(c *request.Call) rest.Reply {
	id := c.Vars["id"]
	if id == "-1" || id == undefinedSpace && hasUndefinedSpace(c.World) {
		return rest.OKReply(viewSpace(nil, c.World))
	}
	s := findSpace(c.World, id)
	if s == nil {
		return rest.NoObjectReply("Space")
	}
	return rest.OKReply(viewSpace(s, c.World))
}

func spaceNameProblem(w *world.World, name string, self *world.Space) string {
	id := -1
	if self != nil {
		id = self.ID
	}
	other := findSpace(w, "name:"+name)
	return groupNameProblem("space", name, id, other != nil && other != self && other.Name == name)
}

func createSpace(c *request.Call) rest.Reply {
	name := c.Field("name")
	if problem := spaceNameProblem(c.World, name, nil); problem != "" {
		return rest.BadFieldReply("name", problem)
	}
	s := &world.Space{ID: c.World.NextID("space"), Name: name, Description: c.Field("description")}
	if s.Name == "" {
		s.Name = fmt.Sprintf("space-%d", s.ID)
	}
	c.World.Spaces[s.ID] = s
	return rest.OKReply(viewSpace(s, c.World))
}

func updateSpace(c *request.Call, s *world.Space) rest.Reply {
	if problem := spaceNameProblem(c.World, c.Field("name"), s); problem != "" {
		return rest.BadFieldReply("name", problem)
	}
	if c.HasField("name") {
		s.Name = c.Field("name")
		if s.Name == "" {
			s.Name = fmt.Sprintf("space-%d", s.ID)
		}
	}
	if c.HasField("description") {
		s.Description = c.Field("description")
	}
	return rest.OKReply(viewSpace(s, c.World))
}

// deleteSpace deletes a space. Its VLANs have no space then.
func deleteSpace(c *request.Call, s *world.Space) rest.Reply {
	for _, v := range c.World.VLANs {
		if v.Space == s {
			v.Space = nil
		}
	}
	delete(c.World.Spaces, s.ID)
	return rest.DeletedReply()
}
