package sim

import "net/http"

// poolRoutes are in the plural for the collection and in the singular for the
// member, as in MAAS.
var poolRoutes = []route{
	{method: http.MethodGet, path: "resourcepools/", handle: listPools},
	{method: http.MethodPost, path: "resourcepools/", admin: true, handle: createPool},
	{method: http.MethodGet, path: "resourcepool/{id}/", handle: readPool},
	{method: http.MethodPut, path: "resourcepool/{id}/", admin: true, handle: updatePool},
	{method: http.MethodDelete, path: "resourcepool/{id}/", admin: true, handle: deletePool},
}

func listPools(c *call) reply {
	views := []object{}
	for _, p := range sorted(c.w.pools) {
		views = append(views, p.view())
	}
	return ok(views)
}

func createPool(c *call) reply {
	name := c.field("name")
	if problem := checkName(name, "Resource pool", modelName, c.w.poolNamed(name) != nil); problem != "" {
		return badField("name", problem)
	}
	return ok(c.w.addPool(name, c.field("description")).view())
}

func readPool(c *call) reply {
	p, wrong := numbered(c, c.w.pools, "ResourcePool")
	if wrong != nil {
		return *wrong
	}
	return ok(p.view())
}

func updatePool(c *call) reply {
	p, wrong := numbered(c, c.w.pools, "ResourcePool")
	if wrong != nil {
		return *wrong
	}
	if c.has("name") {
		other := c.w.poolNamed(c.field("name"))
		if problem := checkName(c.field("name"), "Resource pool", modelName, other != nil && other != p); problem != "" {
			return badField("name", problem)
		}
		p.name = c.field("name")
	}
	if c.has("description") {
		p.description = c.field("description")
	}
	return ok(p.view())
}

// deletePool refuses a pool with machines. A VM host alone falls back to the
// default pool.
func deletePool(c *call) reply {
	p, wrong := numbered(c, c.w.pools, "ResourcePool")
	if wrong != nil {
		return *wrong
	}
	if p.id == 0 {
		return badText("This is the default pool, it cannot be deleted.")
	}
	for _, m := range c.w.machines {
		if m.pool == p {
			return badText("Pool has machines in it, it cannot be deleted.")
		}
	}
	for _, h := range c.w.hosts {
		if h.pool == p {
			h.pool = c.w.pools[0]
		}
	}
	delete(c.w.pools, p.id)
	return deleted()
}
