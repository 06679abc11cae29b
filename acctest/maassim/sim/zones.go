package sim

import (
	"cmp"
	"maps"
	"net/http"
	"regexp"
	"slices"
)

var zoneRoutes = []route{
	{method: http.MethodGet, path: "zones/", handle: listZones},
	{method: http.MethodPost, path: "zones/", admin: true, handle: createZone},
	{method: http.MethodGet, path: "zones/{name}/", handle: readZone},
	{method: http.MethodPut, path: "zones/{name}/", admin: true, handle: updateZone},
	{method: http.MethodDelete, path: "zones/{name}/", admin: true, handle: deleteZone},
}

// modelName is what MAAS takes as the name of a zone or a pool.
var modelName = regexp.MustCompile(`^\w[ \w-]*$`)

func listZones(c *call) reply {
	views := []object{}
	for _, z := range slices.SortedFunc(maps.Values(c.w.zones), func(a, b *zone) int { return cmp.Compare(a.name, b.name) }) {
		views = append(views, z.view())
	}
	return ok(views)
}

// checkName is the complaint about a name, empty if there is none. taken says
// whether another object has it.
func checkName(name, kind string, valid *regexp.Regexp, taken bool) string {
	switch {
	case name == "":
		return msgRequired
	case !valid.MatchString(name):
		return msgInvalid
	case taken:
		return kind + " with this Name already exists."
	}
	return ""
}

func createZone(c *call) reply {
	name := c.field("name")
	if problem := checkName(name, "Physical zone", modelName, c.w.zoneNamed(name) != nil); problem != "" {
		return badField("name", problem)
	}
	return ok(c.w.addZone(name, c.field("description")).view())
}

func readZone(c *call) reply {
	z := c.w.zoneNamed(c.vars["name"])
	if z == nil {
		return noObject("Zone")
	}
	return ok(z.view())
}

func updateZone(c *call) reply {
	z := c.w.zoneNamed(c.vars["name"])
	if z == nil {
		return noObject("Zone")
	}
	if c.has("name") {
		other := c.w.zoneNamed(c.field("name"))
		if problem := checkName(c.field("name"), "Physical zone", modelName, other != nil && other != z); problem != "" {
			return badField("name", problem)
		}
		z.name = c.field("name")
	}
	if c.has("description") {
		z.description = c.field("description")
	}
	return ok(z.view())
}

// deleteZone answers 204 for a zone that never was, too. What was in the zone
// falls back to the default one.
func deleteZone(c *call) reply {
	z := c.w.zoneNamed(c.vars["name"])
	if z == nil {
		return deleted()
	}
	fallback := c.w.defaultZone()
	if z == fallback {
		return badText("This zone is the default zone, it cannot be deleted.")
	}
	for _, m := range c.w.machines {
		if m.zone == z {
			m.zone = fallback
		}
	}
	for _, h := range c.w.hosts {
		if h.zone == z {
			h.zone = fallback
		}
	}
	delete(c.w.zones, z.id)
	return deleted()
}
