package catalog

import (
	"net/http"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
)

// poolRoutes are in the plural for the collection and in the singular for the
// member, as in MAAS.
var poolRoutes = []request.Route{
	{Method: http.MethodGet, Path: "resourcepools/", Handle: listPools},
	{Method: http.MethodPost, Path: "resourcepools/", Admin: true, Handle: createPool},
	{Method: http.MethodGet, Path: "resourcepool/{id}/", Handle: readPool},
	{Method: http.MethodPut, Path: "resourcepool/{id}/", Admin: true, Handle: updatePool},
	{Method: http.MethodDelete, Path: "resourcepool/{id}/", Admin: true, Handle: deletePool},
}

func listPools(c *request.Call) rest.Reply {
	views := []rest.Object{}
	for _, p := range rest.Sorted(c.World.Pools) {
		views = append(views, view.Pool(p))
	}
	return rest.OK(views)
}

func createPool(c *request.Call) rest.Reply {
	name := c.Field("name")
	if problem := checkName(name, "Resource pool", modelName, c.World.PoolNamed(name) != nil); problem != "" {
		return rest.BadField("name", problem)
	}
	return rest.OK(view.Pool(c.World.AddPool(name, c.Field("description"))))
}

func readPool(c *request.Call) rest.Reply {
	p, wrong := request.PoolCalled(c.World, c.Vars["id"])
	if wrong != nil {
		return *wrong
	}
	return rest.OK(view.Pool(p))
}

func updatePool(c *request.Call) rest.Reply {
	p, wrong := request.PoolCalled(c.World, c.Vars["id"])
	if wrong != nil {
		return *wrong
	}
	if c.Has("name") {
		other := c.World.PoolNamed(c.Field("name"))
		if problem := checkName(c.Field("name"), "Resource pool", modelName, other != nil && other != p); problem != "" {
			return rest.BadField("name", problem)
		}
		p.Name = c.Field("name")
	}
	if c.Has("description") {
		p.Description = c.Field("description")
	}
	return rest.OK(view.Pool(p))
}

// deletePool refuses a pool with machines. A VM host alone falls back to the
// default pool.
func deletePool(c *request.Call) rest.Reply {
	p, wrong := request.PoolCalled(c.World, c.Vars["id"])
	if wrong != nil {
		return *wrong
	}
	if p.ID == 0 {
		return rest.BadText("This is the default pool, it cannot be deleted.")
	}
	for _, m := range c.World.Machines {
		if m.Pool == p {
			return rest.BadText("Pool has machines in it, it cannot be deleted.")
		}
	}
	for _, h := range c.World.Hosts {
		if h.Pool == p {
			h.Pool = c.World.Pools[0]
		}
	}
	delete(c.World.Pools, p.ID)
	return rest.Deleted()
}
