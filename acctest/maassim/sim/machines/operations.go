package machines

import (
	"net/http"
	"regexp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/hosts"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// machineOpRoutes are the operations that change a machine's status or power, and those on
// its annotations.
var machineOpRoutes = []request.Route{
	opRoute("commission", request.Admin, commissionMachine),
	{Method: http.MethodGet, Path: "machines/{id}/", Op: "get_token", Handle: request.OnMachine(request.ViewAll, showMachineToken)},
	{Method: http.MethodGet, Path: "machines/{id}/", Op: "get_curtin_config", Handle: request.OnMachine(request.ViewAll, showCurtinConfig)},
	opRoute("test", request.Admin, testMachine),
	opRoute("override_failed_testing", request.Admin, overrideFailedTesting),
	opRoute("deploy", request.Edit, deployMachine),
	opRoute("release", request.Edit, releaseMachine),
	opRoute("abort", request.Edit, abortMachine),
	opRoute("lock", request.Use, lockMachine),
	opRoute("unlock", request.Use, unlockMachine),
	opRoute("mark_broken", request.Edit, markBroken),
	opRoute("mark_fixed", request.Admin, markFixed),
	opRoute("power_on", request.Edit, powerOn),
	opRoute("power_off", request.Edit, powerOff),
	opRoute("rescue_mode", request.Admin, enterRescueMode),
	opRoute("exit_rescue_mode", request.Admin, exitRescueMode),
	opRoute("set_owner_data", request.Edit, setOwnerData),
	opRoute("set_workload_annotations", request.Edit, setOwnerData),
	opRoute("clear_default_gateways", request.Admin, clearGateways),
	opRoute("restore_default_configuration", request.Admin, restoreAll),
	opRoute("restore_networking_configuration", request.Admin, restoreNetwork),
	opRoute("restore_storage_configuration", request.Admin, restoreStorage),
}

func opRoute(op string, need request.Permission, f func(*request.Call, *world.Machine) rest.Reply) request.Route {
	return request.Route{Method: http.MethodPost, Path: "machines/{id}/", Op: op, Handle: request.OnMachine(need, f)}
}

func lockMachine(c *request.Call, m *world.Machine) rest.Reply {
	switch {
	case m.Locked:
		return rest.ConflictReply("Machine is already locked")
	case !world.IsStatusIn(m.Status, world.StatusDeployed, world.StatusDeploying):
		return rest.ConflictReply("Can't lock, node is not deployed or deploying")
	}
	m.AddRequestEvent(c.User, "User locking node", "lock", c.Field("comment"))
	m.Locked = true
	return machineReply(m)
}

func unlockMachine(c *request.Call, m *world.Machine) rest.Reply {
	if !m.Locked {
		return rest.ConflictReply("Machine is not locked")
	}
	m.AddRequestEvent(c.User, "User unlocking node", "unlock", c.Field("comment"))
	m.Locked = false
	return machineReply(m)
}

// ownerDataKey is the form of an annotation's name (models/ownerdata.py).
var ownerDataKey = regexp.MustCompile(`^[\w.-]+$`)

// setOwnerData changes the annotations of a machine that the caller has acquired. An empty
// value deletes its key.
func setOwnerData(c *request.Call, m *world.Machine) rest.Reply {
	if m.Owner == nil || m.Owner != c.User {
		return rest.ConflictReply("Cannot set workload annotation: it hasn't been acquired.")
	}
	if m.OwnerData == nil {
		m.OwnerData = map[string]string{}
	}
	for name := range c.Form {
		if !ownerDataKey.MatchString(name) && c.Field(name) != "" {
			return hosts.InternalErrorReply("Invalid character in key name")
		}
	}
	for name := range c.Form {
		if value := c.Field(name); value != "" {
			m.OwnerData[name] = value
		} else {
			delete(m.OwnerData, name)
		}
	}
	return machineReply(m)
}
