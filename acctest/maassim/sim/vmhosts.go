package sim

import (
	"net/http"
	"strconv"
)

const goneText = "VM host (KVM) support has been removed from MAAS."

// vmHostRoutes are the operations on VM hosts below their path or its old
// name.
func vmHostRoutes(root string) []route {
	one := root + "{id}/"
	routes := []route{
		{method: http.MethodGet, path: root, handle: listVMHosts},
		{method: http.MethodPost, path: root, admin: true, handle: createVMHost},
		{method: http.MethodGet, path: one, handle: onVMHost(readVMHost)},
		{method: http.MethodPut, path: one, admin: true, handle: onVMHost(updateVMHost)},
		{method: http.MethodDelete, path: one, admin: true, handle: onVMHost(deleteVMHost)},
		{method: http.MethodGet, path: one, op: "parameters", admin: true, handle: onVMHost(vmHostParameters)},
		{method: http.MethodPost, path: one, op: "refresh", admin: true, handle: onVMHost(refreshVMHost)},
		{method: http.MethodPost, path: one, op: "compose", admin: true, handle: onVMHost(compose)},
		{method: http.MethodPost, path: one, op: "add_tag", admin: true, handle: onVMHost(addVMHostTag)},
		{method: http.MethodPost, path: one, op: "remove_tag", admin: true, handle: onVMHost(removeVMHostTag)},
	}
	for i := range routes {
		routes[i].handle = unlessGone(routes[i].handle)
	}
	return routes
}

// unlessGone answers 410 where VM hosts were removed.
func unlessGone(f func(*call) reply) func(*call) reply {
	return func(c *call) reply {
		if c.w.gone {
			return refused(http.StatusGone, goneText)
		}
		return f(c)
	}
}

// onVMHost looks up the VM host of the path. MAAS has its own words for a GET,
// and trips over what is no number.
func onVMHost(f func(*call, *vmHost) reply) func(*call) reply {
	return func(c *call) reply {
		id, err := strconv.Atoi(c.vars["id"])
		if err != nil {
			return internalError("Field 'id' expected a number but got '" + c.vars["id"] + "'.")
		}
		h := c.w.hosts[id]
		if h == nil && c.method == http.MethodGet && c.op == "" {
			rep := noObject("Pod")
			rep.body = []byte("Not Found")
			return rep
		}
		if h == nil {
			return noObject("Pod")
		}
		return f(c, h)
	}
}

func listVMHosts(c *call) reply {
	views := []object{}
	for _, h := range sortedHosts(c.w.hosts) {
		views = append(views, h.view())
		h.seen()
	}
	return ok(views)
}

func readVMHost(_ *call, h *vmHost) reply {
	rep := ok(h.view())
	h.seen()
	return rep
}

// seen ends an inventory that takes no time once a read has shown the empty
// host.
func (h *vmHost) seen() {
	if h.inventory.pending() && h.inventory.onSeen {
		h.inventory.finish()
	}
}

func vmHostParameters(_ *call, h *vmHost) reply { return ok(h.bmc.parameters()) }
