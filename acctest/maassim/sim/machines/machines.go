package machines

import (
	"net/http"
	"slices"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lifecycle"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// Routes are the operations on machines and on their events and results.
func Routes() []request.Route {
	return slices.Concat(machineRoutes, machineOpRoutes, bulkRoutes, eventRoutes, resultRoutes)
}

var machineRoutes = []request.Route{
	{Method: http.MethodGet, Path: "machines/", Handle: listMachines},
	{Method: http.MethodPost, Path: "machines/", Handle: CreateMachine},
	{Method: http.MethodPost, Path: "machines/", Op: "allocate", Handle: allocateMachine},
	{Method: http.MethodGet, Path: "machines/", Op: "list_allocated", Handle: listAllocated},
	{Method: http.MethodGet, Path: "machines/", Op: "power_parameters", Admin: true, Handle: listPowerParameters},
	{Method: http.MethodGet, Path: "machines/{id}/", Handle: request.OnMachine(request.ViewAll, readMachine)},
	{Method: http.MethodPut, Path: "machines/{id}/", Handle: request.OnMachine(request.Admin, updateMachine)},
	{Method: http.MethodDelete, Path: "machines/{id}/", Handle: request.OnMachine(request.Admin, deleteMachine)},
	{Method: http.MethodGet, Path: "machines/{id}/", Op: "power_parameters", Admin: true, Handle: request.OnMachine(request.ViewAll, showPowerParameters)},
	{Method: http.MethodGet, Path: "machines/{id}/", Op: "query_power_state", Handle: request.OnMachine(request.ViewAll, queryPowerState)},
	{Method: http.MethodGet, Path: "machines/{id}/", Op: "details", Handle: request.OnMachine(request.ViewAll, showMachineDetails)},
}

// machineReply is the machine after a change, as an answer.
func machineReply(m *world.Machine) rest.Reply {
	rep := rest.OKReply(view.Machine(m))
	rep.MachineObjects = 1
	return rep
}

// readMachine shows the machine. A transition that takes no time ends after this read.
func readMachine(_ *request.Call, m *world.Machine) rest.Reply {
	rep := machineReply(m)
	m.EndSeenJobs()
	return rep
}

func listMachines(c *request.Call) rest.Reply {
	found, bad := c.FilterMachines()
	if bad != nil {
		return *bad
	}
	views := []rest.Object{}
	for _, m := range found {
		views = append(views, view.Machine(m))
		m.EndSeenJobs()
	}
	rep := rest.OKReply(views)
	rep.MachineObjects = len(views)
	return rep
}

// listAllocated lists the caller's machines.
func listAllocated(c *request.Call) rest.Reply {
	views, wanted := []rest.Object{}, c.Query["id"]
	for _, m := range world.SortedMachines(c.World.Machines) {
		if m.Owner == c.User && m.Status == world.StatusAllocated && (len(wanted) == 0 || slices.Contains(wanted, m.SystemID)) {
			views = append(views, view.Machine(m))
		}
	}
	rep := rest.OKReply(views)
	rep.MachineObjects = len(views)
	return rep
}

// showMachineDetails answers in BSON with lldp and lshw. Both are empty, as for a VM that
// was never commissioned, or contain an empty list.
func showMachineDetails(_ *request.Call, m *world.Machine) rest.Reply {
	binary := func(name, text string) []byte {
		b := append([]byte{5}, name...)
		b = append(b, 0, byte(len(text)), 0, 0, 0, 0)
		return append(b, text...)
	}
	lshw := ""
	if m.Commissioned {
		lshw = "<list/>"
	}
	doc := append(binary("lldp", ""), binary("lshw", lshw)...)
	body := append([]byte{byte(len(doc) + 5), 0, 0, 0}, doc...)
	rep := rest.OKReply(nil)
	rep.Kind, rep.Body = "application/bson", append(body, 0)
	return rep
}

func listPowerParameters(c *request.Call) rest.Reply {
	all, wanted := rest.Object{}, c.Query["id"]
	for _, m := range world.SortedMachines(c.World.Machines) {
		if len(wanted) == 0 || rest.HasAny(wanted, m.SystemID) {
			all[m.SystemID] = view.PowerParameters(m)
		}
	}
	return rest.OKReply(all)
}

func showPowerParameters(_ *request.Call, m *world.Machine) rest.Reply {
	return rest.OKReply(view.PowerParameters(m))
}

// deleteMachine removes a machine. For a VM it always answers 204, whether or not it could
// remove the instance.
func deleteMachine(c *request.Call, m *world.Machine) rest.Reply {
	if names := HostedVMHosts(m); names != "" {
		return rest.BadTextReply("The following VM hosts must be removed first: " + names)
	}
	c.World.Sleep(c.World.Latency.Delete + driverDelay(m))
	if c.World.Machines[m.SystemID] == m {
		lifecycle.RemoveVM(c.World, m)
	}
	return rest.DeletedReply()
}

// HostedVMHosts names the VM hosts that run on the machine.
func HostedVMHosts(m *world.Machine) string {
	names := ""
	for _, h := range world.SortedHosts(m.World.Hosts) {
		if h.Machine != m {
			continue
		}
		if names != "" {
			names += ", "
		}
		names += h.Name
	}
	return names
}
