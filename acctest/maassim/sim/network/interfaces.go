package network

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// Routes are the operations on subnets, addresses, DNS names and machines' interfaces.
func Routes() []request.Route {
	return slices.Concat(networkRoutes, fabricRoutes, vlanRoutes, spaceRoutes, staticRoutes, domainRoutes, dnsRoutes, dnsRecordRoutes, subnetRoutes, rangeRoutes, addressRoutes)
}

// networkRoutes are the operations on a machine's interfaces.
var networkRoutes = []request.Route{
	{Method: http.MethodGet, Path: "nodes/{id}/interfaces/", Handle: request.OnMachine(request.ViewAll, listInterfaces)},
	{Method: http.MethodPost, Path: "nodes/{id}/interfaces/", Op: "create_bridge", Handle: request.OnMachine(request.Admin, createInterface("create bridge", "bridge"))},
	{Method: http.MethodPost, Path: "nodes/{id}/interfaces/", Op: "create_physical", Handle: request.OnMachine(request.Admin, createInterface("create", "physical"))},
	{Method: http.MethodPost, Path: "nodes/{id}/interfaces/", Op: "create_vlan", Handle: request.OnMachine(request.Admin, createInterface("create VLAN", "vlan"))},
	{Method: http.MethodPost, Path: "nodes/{id}/interfaces/", Op: "create_bond", Handle: request.OnMachine(request.Admin, createInterface("create bond", "bond"))},
	{Method: http.MethodPut, Path: "nodes/{id}/interfaces/{nic}/", Handle: onInterface(request.Admin, updateInterface)},
	{Method: http.MethodGet, Path: "nodes/{id}/interfaces/{nic}/", Handle: onInterface(request.ViewAll, readInterface)},
	{Method: http.MethodDelete, Path: "nodes/{id}/interfaces/{nic}/", Handle: onInterface(request.Admin, deleteInterface)},
	{Method: http.MethodPost, Path: "nodes/{id}/interfaces/{nic}/", Op: "link_subnet", Handle: onInterface(request.Admin, linkSubnet)},
	{Method: http.MethodPost, Path: "nodes/{id}/interfaces/{nic}/", Op: "unlink_subnet", Handle: onInterface(request.Admin, unlinkSubnet)},
	{Method: http.MethodPost, Path: "nodes/{id}/interfaces/{nic}/", Op: "disconnect", Handle: onInterface(request.Admin, disconnectInterface)},
	{Method: http.MethodPost, Path: "nodes/{id}/interfaces/{nic}/", Op: "set_default_gateway", Handle: onInterface(request.Admin, setDefaultGateway)},
	{Method: http.MethodPost, Path: "nodes/{id}/interfaces/{nic}/", Op: "add_tag", Handle: onInterface(request.Admin, tagInterface)},
	{Method: http.MethodPost, Path: "nodes/{id}/interfaces/{nic}/", Op: "remove_tag", Handle: onInterface(request.Admin, untagInterface)},
}

// onInterface looks up the interface of the path, by its id or its name.
func onInterface(need request.Permission, f func(*request.Call, *world.Machine, *world.NIC) rest.Reply) func(*request.Call) rest.Reply {
	return request.OnMachine(need, func(c *request.Call, m *world.Machine) rest.Reply {
		for _, n := range m.NICs {
			if strconv.Itoa(n.ID) == c.Vars["nic"] || n.Name == c.Vars["nic"] {
				return f(c, m, n)
			}
		}
		return rest.NoObjectReply("Interface")
	})
}

func listInterfaces(_ *request.Call, m *world.Machine) rest.Reply {
	return rest.OKReply(view.NICViews(m))
}

func readInterface(_ *request.Call, m *world.Machine, n *world.NIC) rest.Reply {
	return rest.OKReply(view.NICView(m, n))
}

// notChangeableReply is 409 unless the machine's status allows to change its network.
func notChangeableReply(m *world.Machine, action string) *rest.Reply {
	if world.IsStatusIn(m.Status, world.StatusNew, world.StatusReady, world.StatusFailedTesting, world.StatusAllocated, world.StatusBroken) {
		return nil
	}
	bad := rest.ConflictReply(fmt.Sprintf("Cannot %s interface because the machine is not New, Ready, Allocated, or Broken.", action))
	return &bad
}

// deleteInterface removes an interface. A NIC below a deleted bridge does not get its
// links back.
func deleteInterface(_ *request.Call, m *world.Machine, n *world.NIC) rest.Reply {
	if bad := notChangeableReply(m, "delete interface"); bad != nil {
		return *bad
	}
	world.RemoveNIC(m, n)
	return rest.DeletedReply()
}
