package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

var zoneRoutes = []request.Route{
	{Method: http.MethodGet, Path: "zones/", Handle: listZones},
	{Method: http.MethodPost, Path: "zones/", Admin: true, Handle: createZone},
	{Method: http.MethodGet, Path: "zones/{name}/", Handle: readZone},
	{Method: http.MethodPut, Path: "zones/{name}/", Admin: true, Handle: updateZone},
	{Method: http.MethodDelete, Path: "zones/{name}/", Admin: true, Handle: deleteZone},
}

// maxNameLength is the max_length of names in MAAS's models of zones, pools and tags.
const maxNameLength = 256

// modelNamePattern is the form that MAAS requires of the name of a zone or a pool.
var modelNamePattern = regexp.MustCompile(`^\w[ \w-]*$`)

func listZones(c *request.Call) rest.Reply {
	views := []rest.Object{}
	for _, z := range slices.SortedFunc(maps.Values(c.World.Zones), func(a, b *world.Zone) int { return cmp.Compare(a.Name, b.Name) }) {
		views = append(views, view.Zone(z))
	}
	return rest.OKReply(views)
}

// nameProblem is MAAS's error about a name, or empty. taken tells whether another object
// has the name.
func nameProblem(name, kind string, valid *regexp.Regexp, taken bool) string {
	switch {
	case name == "":
		return rest.MsgRequired
	case utf8.RuneCountInString(name) > maxNameLength:
		return fmt.Sprintf("Ensure this value has at most %d characters (it has %d).", maxNameLength, utf8.RuneCountInString(name))
	case !valid.MatchString(name):
		return rest.MsgInvalid
	case taken:
		return kind + " with this Name already exists."
	}
	return ""
}

func createZone(c *request.Call) rest.Reply {
	name := c.Field("name")
	if problem := nameProblem(name, "Physical zone", modelNamePattern, c.World.ZoneNamed(name) != nil); problem != "" {
		return rest.BadFieldReply("name", problem)
	}
	return rest.OKReply(view.Zone(c.World.AddZone(name, c.Field("description"))))
}

func readZone(c *request.Call) rest.Reply {
	z := c.World.ZoneNamed(c.Vars["name"])
	if z == nil {
		return rest.NoObjectReply("Zone")
	}
	return rest.OKReply(view.Zone(z))
}

func updateZone(c *request.Call) rest.Reply {
	z := c.World.ZoneNamed(c.Vars["name"])
	if z == nil {
		return rest.NoObjectReply("Zone")
	}
	if c.HasField("name") {
		other := c.World.ZoneNamed(c.Field("name"))
		if problem := nameProblem(c.Field("name"), "Physical zone", modelNamePattern, other != nil && other != z); problem != "" {
			return rest.BadFieldReply("name", problem)
		}
		z.Name = c.Field("name")
	}
	if c.HasField("description") {
		z.Description = c.Field("description")
	}
	return rest.OKReply(view.Zone(z))
}

// deleteZone answers 204 for an unknown zone, too. The zone's machines and VM hosts move
// to the default zone.
func deleteZone(c *request.Call) rest.Reply {
	z := c.World.ZoneNamed(c.Vars["name"])
	if z == nil {
		return rest.DeletedReply()
	}
	fallback := c.World.DefaultZone()
	if z == fallback {
		return rest.BadTextReply("This zone is the default zone, it cannot be deleted.")
	}
	for _, m := range c.World.Machines {
		if m.Zone == z {
			m.Zone = fallback
		}
	}
	for _, h := range c.World.Hosts {
		if h.Zone == z {
			h.Zone = fallback
		}
	}
	delete(c.World.Zones, z.ID)
	return rest.DeletedReply()
}
