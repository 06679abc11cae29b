package hosts

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// Routes are the operations on VM hosts. "pods" is the old name of VM hosts.
func Routes() []request.Route { return slices.Concat(vmHostRoutes("vm-hosts/"), vmHostRoutes("pods/")) }

// vmHostRoutes are the operations on VM hosts below one of the two paths.
func vmHostRoutes(root string) []request.Route {
	one := root + "{id}/"
	routes := []request.Route{
		{Method: http.MethodGet, Path: root, Handle: listVMHosts},
		{Method: http.MethodPost, Path: root, Admin: true, Handle: createVMHost},
		{Method: http.MethodGet, Path: one, Handle: onVMHost(readVMHost)},
		{Method: http.MethodPut, Path: one, Admin: true, Handle: onVMHost(updateVMHost)},
		{Method: http.MethodDelete, Path: one, Admin: true, Handle: onVMHost(deleteVMHost)},
		{Method: http.MethodGet, Path: one, Op: "parameters", Admin: true, Handle: onVMHost(vmHostParameters)},
		{Method: http.MethodPost, Path: one, Op: "refresh", Admin: true, Handle: onVMHost(refreshVMHost)},
		{Method: http.MethodPost, Path: one, Op: "compose", Admin: true, Handle: onVMHost(composeOnVMHost)},
		{Method: http.MethodPost, Path: one, Op: "add_tag", Admin: true, Handle: onVMHost(addVMHostTag)},
		{Method: http.MethodPost, Path: one, Op: "remove_tag", Admin: true, Handle: onVMHost(removeVMHostTag)},
	}
	for i := range routes {
		routes[i].Handle = refuseIfRemoved(routes[i].Handle)
	}
	return routes
}

// refuseIfRemoved answers 410 if the MAAS has no VM hosts any more.
func refuseIfRemoved(f func(*request.Call) rest.Reply) func(*request.Call) rest.Reply {
	return func(c *request.Call) rest.Reply {
		if c.World.VMHostsRemoved {
			return request.GoneReply()
		}
		return f(c)
	}
}

// onVMHost looks up the VM host of the path. As in MAAS, GET has its own message, and an
// id that is not a number is an internal error.
func onVMHost(f func(*request.Call, *world.VMHost) rest.Reply) func(*request.Call) rest.Reply {
	return func(c *request.Call) rest.Reply {
		id, err := strconv.Atoi(c.Vars["id"])
		if err != nil {
			return InternalErrorReply("Field 'id' expected a number but got '" + c.Vars["id"] + "'.")
		}
		h := c.World.Hosts[id]
		if h == nil && c.Method == http.MethodGet && c.Op == "" {
			rep := rest.NoObjectReply("Pod")
			rep.Body = []byte("Not Found")
			return rep
		}
		if h == nil {
			return rest.NoObjectReply("Pod")
		}
		return f(c, h)
	}
}

func listVMHosts(c *request.Call) rest.Reply {
	views := []rest.Object{}
	for _, h := range world.SortedHosts(c.World.Hosts) {
		views = append(views, view.VMHost(h))
		endSeenInventory(h)
	}
	return rest.OKReply(views)
}

func readVMHost(_ *request.Call, h *world.VMHost) rest.Reply {
	rep := rest.OKReply(view.VMHost(h))
	endSeenInventory(h)
	return rep
}

// endSeenInventory ends an inventory that takes no time, after one read has shown the
// empty host.
func endSeenInventory(h *world.VMHost) {
	if h.Inventory.IsPending() && h.Inventory.EndsWhenSeen {
		h.Inventory.Finish()
	}
}

func vmHostParameters(_ *request.Call, h *world.VMHost) rest.Reply {
	return rest.OKReply(view.BMCParameters(h.BMC))
}
