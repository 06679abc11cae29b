package machines

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lifecycle"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// bulkRoutes are the operations on several machines at once (api/machines.py,
// MachinesHandler; api/nodes.py, NodesHandler).
var bulkRoutes = []request.Route{
	{Method: http.MethodPost, Path: "machines/", Op: "release", Handle: releaseMachines},
	{Method: http.MethodPost, Path: "machines/", Op: "accept", Handle: acceptMachines},
	{Method: http.MethodPost, Path: "machines/", Op: "accept_all", Handle: acceptAll},
	{Method: http.MethodPost, Path: "machines/", Op: "set_zone", Handle: setZone},
	{Method: http.MethodGet, Path: "machines/", Op: "is_registered", Handle: queryRegistered},
	{Method: http.MethodPost, Path: "nodes/", Op: "set_zone", Handle: setZone},
	{Method: http.MethodGet, Path: "nodes/", Op: "is_registered", Handle: queryRegistered},
	{Method: http.MethodGet, Path: "nodes/{id}/", Handle: request.OnMachine(request.ViewAll, readMachine)},
	{Method: http.MethodDelete, Path: "nodes/{id}/", Handle: request.OnMachine(request.Admin, deleteMachine)},
	{Method: http.MethodGet, Path: "nodes/{id}/", Op: "details", Handle: request.OnMachine(request.ViewAll, showMachineDetails)},
	{Method: http.MethodGet, Path: "nodes/{id}/", Op: "power_parameters", Admin: true, Handle: request.OnMachine(request.ViewAll, showPowerParameters)},
}

// machinesNamed finds the machines that a field names by system id, in the order of their
// creation. It returns an error unless all exist and the caller has the permission on
// each.
func machinesNamed(c *request.Call, verb string, need request.Permission) ([]*world.Machine, *rest.Reply) {
	ids := slices.Compact(slices.Sorted(slices.Values(c.Form["machines"])))
	var unknown, denied []string
	var found []*world.Machine
	for _, id := range ids {
		switch m := c.World.Machines[id]; {
		case m == nil:
			unknown = append(unknown, id)
		case !c.HasPermission(need, m):
			denied = append(denied, id)
		}
	}
	for _, m := range world.SortedMachines(c.World.Machines) {
		if slices.Contains(ids, m.SystemID) {
			found = append(found, m)
		}
	}
	var bad rest.Reply
	switch {
	case len(unknown) > 0:
		bad = rest.BadTextReply("Unknown machine(s): " + strings.Join(unknown, ", ") + ".")
	case len(denied) > 0:
		bad = rest.ErrorReply(http.StatusForbidden, fmt.Sprintf("You don't have the required permission to %s the following machine(s): %s.", verb, strings.Join(denied, ", ")))
	default:
		return found, nil
	}
	return nil, &bad
}

// releaseMachines releases all machines or none. It answers with the ids of those that
// were not Ready already.
func releaseMachines(c *request.Call) rest.Reply {
	found, bad := machinesNamed(c, "release", request.Edit)
	if bad != nil {
		return *bad
	}
	var failed []string
	for _, m := range found {
		if m.Status != world.StatusReady && !lifecycle.IsReleasable(m) {
			failed = append(failed, fmt.Sprintf("%s ('%s')", m.SystemID, m.Status))
		}
		if names := HostedVMHosts(m); names != "" && lifecycle.IsReleasable(m) {
			return hasVMHostsReply(names)
		}
	}
	if len(failed) > 0 {
		return rest.ConflictReply("Machine(s) cannot be released in their current state: " + strings.Join(failed, ", ") + ".")
	}
	released := []string{}
	for _, m := range found {
		if m.Status == world.StatusReady {
			continue
		}
		if rep := startRelease(c, m); rep.Status != http.StatusOK {
			return rep
		}
		released = append(released, m.SystemID)
	}
	return rest.OKReply(released)
}

// acceptMachines commissions the New ones among the machines (models/node.py,
// accept_enlistment).
func acceptMachines(c *request.Call) rest.Reply {
	found, bad := machinesNamed(c, "accept", request.Admin)
	if bad != nil {
		return *bad
	}
	return acceptEach(c, found)
}

func acceptAll(c *request.Call) rest.Reply {
	var found []*world.Machine
	for _, m := range world.SortedMachines(c.World.Machines) {
		if m.Status == world.StatusNew && c.HasPermission(request.Admin, m) {
			found = append(found, m)
		}
	}
	return acceptEach(c, found)
}

func acceptEach(c *request.Call, found []*world.Machine) rest.Reply {
	for _, m := range found {
		if !world.IsStatusIn(m.Status, world.StatusNew, world.StatusReady, world.StatusCommissioning) {
			return rest.ConflictReply(fmt.Sprintf("Cannot accept node enlistment: node %s is in state %s.", m.SystemID, m.Status))
		}
	}
	views := []rest.Object{}
	for _, m := range found {
		if m.Status != world.StatusNew {
			continue
		}
		if rep := commissionMachine(c, m); rep.Status != http.StatusOK {
			return rep
		}
		views = append(views, view.Machine(m))
	}
	rep := rest.OKReply(views)
	rep.MachineObjects = len(views)
	return rep
}

// setZone moves machines to a zone (forms/__init__.py, BulkNodeSetZoneForm).
func setZone(c *request.Call) rest.Reply {
	errs := rest.FormErrors{}
	z := c.World.ZoneNamed(c.Field("zone"))
	switch {
	case c.Field("zone") == "":
		errs.Add("zone", rest.MsgRequired)
	case z == nil:
		errs.Add("zone", rest.InvalidChoice)
	}
	ids := c.Form["nodes"]
	switch {
	case len(ids) == 0:
		errs.Add("system_id", rest.MsgRequired)
	case slices.ContainsFunc(ids, func(id string) bool { m := c.World.Machines[id]; return m == nil || !c.HasPermission(request.Admin, m) }):
		errs.Add("system_id", "Some of the given system ids are invalid system ids.")
	}
	if len(errs) > 0 {
		return rest.BadFormReply(errs)
	}
	for _, id := range ids {
		c.World.Machines[id].Zone = z
	}
	return rest.OKReply(nil)
}

// queryRegistered tells whether a machine that is not Retired has the MAC.
func queryRegistered(c *request.Call) rest.Reply {
	if !c.Query.Has("mac_address") {
		return rest.BadTextReply("No provided mac_address!")
	}
	mac := strings.ToLower(c.Query.Get("mac_address"))
	if hardware, err := net.ParseMAC(mac); err == nil {
		mac = hardware.String()
	}
	for _, m := range c.World.Machines {
		if m.Status != world.StatusRetired && slices.ContainsFunc(m.NICs, func(n *world.NIC) bool { return n.MAC == mac }) {
			return rest.OKReply(true)
		}
	}
	return rest.OKReply(false)
}
