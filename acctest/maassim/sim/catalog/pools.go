package catalog

import (
	"net/http"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
)

// poolRoutes have the plural in the path of the collection and the singular in that of a
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
	for _, p := range rest.SortedValues(c.World.Pools) {
		views = append(views, view.Pool(p))
	}
	return rest.OKReply(views)
}

func createPool(c *request.Call) rest.Reply {
	name := c.Field("name")
	if problem := nameProblem(name, "Resource pool", modelNamePattern, c.World.PoolNamed(name) != nil); problem != "" {
		return rest.BadFieldReply("name", problem)
	}
	return rest.OKReply(view.Pool(c.World.AddPool(name, c.Field("description"))))
}

func readPool(c *request.Call) rest.Reply {
	p, wrong := request.PoolBySpecifier(c.World, c.Vars["id"])
	if wrong != nil {
		return *wrong
	}
	return rest.OKReply(view.Pool(p))
}

func updatePool(c *request.Call) rest.Reply {
	p, wrong := request.PoolBySpecifier(c.World, c.Vars["id"])
	if wrong != nil {
		return *wrong
	}
	if c.HasField("name") {
		other := c.World.PoolNamed(c.Field("name"))
		if problem := nameProblem(c.Field("name"), "Resource pool", modelNamePattern, other != nil && other != p); problem != "" {
			return rest.BadFieldReply("name", problem)
		}
		p.Name = c.Field("name")
	}
	if c.HasField("description") {
		p.Description = c.Field("description")
	}
	return rest.OKReply(view.Pool(p))
}

// deletePool refuses to delete a pool with machines. VM hosts do not prevent it: they move
// to the default pool.
func deletePool(c *request.Call) rest.Reply {
	p, wrong := request.PoolBySpecifier(c.World, c.Vars["id"])
	if wrong != nil {
		return *wrong
	}
	if p.ID == 0 {
		return rest.BadTextReply("This is the default pool, it cannot be deleted.")
	}
	for _, m := range c.World.Machines {
		if m.Pool == p {
			return rest.BadTextReply("Pool has machines in it, it cannot be deleted.")
		}
	}
	for _, h := range c.World.Hosts {
		if h.Pool == p {
			h.Pool = c.World.Pools[0]
		}
	}
	delete(c.World.Pools, p.ID)
	return rest.DeletedReply()
}
