package network

import (
	"cmp"
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

// Routes are the operations on subnets, addresses and names in the DNS,
// and on a machine's interfaces.
func Routes() []request.Route {
	return slices.Concat(networkRoutes, fabricRoutes, vlanRoutes, spaceRoutes, staticRoutes, domainRoutes, dnsRoutes, dnsRecordRoutes, subnetRoutes, rangeRoutes, addressRoutes)
}

// networkRoutes are the operations on a machine's interfaces.
var networkRoutes = []request.Route{
	{Method: http.MethodGet, Path: "nodes/{id}/interfaces/", Handle: request.OnMachine(request.ViewAll, listInterfaces)},
	{Method: http.MethodPost, Path: "nodes/{id}/interfaces/", Op: "create_bridge", Handle: request.OnMachine(request.Admin, createBridge)},
	{Method: http.MethodPost, Path: "nodes/{id}/interfaces/", Op: "create_physical", Handle: request.OnMachine(request.Admin, createInterface("create", "physical", makePhysical))},
	{Method: http.MethodPost, Path: "nodes/{id}/interfaces/", Op: "create_vlan", Handle: request.OnMachine(request.Admin, createInterface("create VLAN", "vlan", makeVLAN))},
	{Method: http.MethodPost, Path: "nodes/{id}/interfaces/", Op: "create_bond", Handle: request.OnMachine(request.Admin, createInterface("create bond", "bond", makeBond))},
	{Method: http.MethodPut, Path: "nodes/{id}/interfaces/{nic}/", Handle: onInterface(request.Admin, updateInterface)},
	{Method: http.MethodGet, Path: "nodes/{id}/interfaces/{nic}/", Handle: onInterface(request.ViewAll, readInterface)},
	{Method: http.MethodDelete, Path: "nodes/{id}/interfaces/{nic}/", Handle: onInterface(request.Admin, deleteInterface)},
	{Method: http.MethodPost, Path: "nodes/{id}/interfaces/{nic}/", Op: "link_subnet", Handle: onInterface(request.Admin, linkSubnet)},
	{Method: http.MethodPost, Path: "nodes/{id}/interfaces/{nic}/", Op: "unlink_subnet", Handle: onInterface(request.Admin, unlinkSubnet)},
	{Method: http.MethodPost, Path: "nodes/{id}/interfaces/{nic}/", Op: "disconnect", Handle: onInterface(request.Admin, disconnect)},
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
		return rest.NoObject("Interface")
	})
}

func listInterfaces(_ *request.Call, m *world.Machine) rest.Reply { return rest.OK(view.NICViews(m)) }

func readInterface(_ *request.Call, m *world.Machine, n *world.NIC) rest.Reply {
	return rest.OK(view.NICView(m, n))
}

// notChangeable is 409 unless the machine is in a state in which its network
// can be changed.
func notChangeable(m *world.Machine, action string) *rest.Reply {
	if world.OneOf(m.Status, world.StatusNew, world.StatusReady, world.StatusFailedTesting, world.StatusAllocated, world.StatusBroken) {
		return nil
	}
	bad := rest.Conflict(fmt.Sprintf("Cannot %s interface because the machine is not New, Ready, Allocated, or Broken.", action))
	return &bad
}

// createBridge puts a bridge on a NIC, which loses its links. The new bridge
// is only up: it must be linked by a call of its own.
func createBridge(c *request.Call, m *world.Machine) rest.Reply {
	if bad := notChangeable(m, "create bridge"); bad != nil {
		return *bad
	}
	parent, bad := bridgeParent(c, m)
	if bad != nil {
		return *bad
	}
	parent.Links = nil
	b := &world.NIC{ID: c.World.NextID("interface"), Name: c.Field("name"), MAC: parent.MAC, Kind: "bridge", VLAN: parent.VLAN, Parents: []*world.NIC{parent}}
	b.Links = []*world.Link{{ID: c.World.NextID("link"), Mode: "link_up", Subnet: c.World.SubnetOn(parent.VLAN)}}
	b.Params = rest.Object{"bridge_type": cmp.Or(c.Field("bridge_type"), "standard"), "bridge_stp": rest.Truth(c.Field("bridge_stp")), "bridge_fd": c.Number("bridge_fd", 15)}
	m.NICs = append(m.NICs, b)
	return rest.OK(view.NICView(m, b))
}

func bridgeParent(c *request.Call, m *world.Machine) (*world.NIC, *rest.Reply) {
	errs := rest.FormErrors{}
	// The form has parents; parent is copied to it (api/interfaces.py, create_bridge).
	name, id := c.Field("name"), cmp.Or(c.Field("parent"), c.Field("parents"))
	i := slices.IndexFunc(m.NICs, func(n *world.NIC) bool { return strconv.Itoa(n.ID) == id })
	kind := c.Field("bridge_type")
	switch {
	case id == "":
		errs.Add("parent", "This field is required.")
	case i < 0:
		errs.Add("parent", rest.InvalidChoice)
	case len(view.ChildNames(m, m.NICs[i])) > 0:
		errs.Add("parent", "A bridge interface can't have a parent that is already in a bond or a bridge.")
		errs.Add("mac_address", "This field cannot be blank.")
	case name == "":
		errs.Add("name", "This field is required.")
	case strings.ContainsAny(name, " /"):
		errs.Add("name", "Enter a valid value.")
	case slices.ContainsFunc(m.NICs, func(n *world.NIC) bool { return n.Name == name }):
		errs.Add("__all__", "Interface with this Node config and Name already exists.")
	case kind != "" && kind != "standard" && kind != "ovs":
		errs.Add("bridge_type", rest.ChoiceProblem(kind))
	}
	if len(errs) > 0 {
		bad := rest.BadForm(errs)
		return nil, &bad
	}
	return m.NICs[i], nil
}

// deleteInterface removes an interface; a NIC below a bridge does not get its
// links back.
func deleteInterface(_ *request.Call, m *world.Machine, n *world.NIC) rest.Reply {
	if bad := notChangeable(m, "delete interface"); bad != nil {
		return *bad
	}
	m.NICs = slices.DeleteFunc(m.NICs, func(other *world.NIC) bool { return other == n || slices.Contains(other.Parents, n) })
	return rest.Deleted()
}
