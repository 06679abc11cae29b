package machines

import (
	"fmt"
	"net/http"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/hosts"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lifecycle"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// machineOpRoutes are the operations that move a machine through its life.
var machineOpRoutes = []request.Route{
	opRoute("commission", request.Use, commissionMachine),
	opRoute("deploy", request.Use, deployMachine),
	opRoute("release", request.Edit, releaseMachine),
	opRoute("abort", request.Edit, abortMachine),
	opRoute("lock", request.Use, lockMachine),
	opRoute("unlock", request.Use, unlockMachine),
	opRoute("mark_broken", request.Use, markBroken),
	opRoute("mark_fixed", request.Use, markFixed),
	opRoute("power_on", request.Edit, powerOn),
	opRoute("power_off", request.Edit, powerOff),
	opRoute("rescue_mode", request.Edit, rescueMode),
	opRoute("exit_rescue_mode", request.Edit, exitRescueMode),
	opRoute("set_owner_data", request.Use, setOwnerData),
	opRoute("set_workload_annotations", request.Use, setOwnerData),
	opRoute("override_failed_testing", request.Use, overrideFailedTesting),
}

func opRoute(op string, need request.Permission, f func(*request.Call, *world.Machine) rest.Reply) request.Route {
	return request.Route{Method: http.MethodPost, Path: "machines/{id}/", Op: op, Handle: request.OnMachine(need, f)}
}

// commissionMachine starts commissioning; power follows once the call has
// answered.
func commissionMachine(c *request.Call, m *world.Machine) rest.Reply {
	w := c.World
	if !world.OneOf(m.Status, world.StatusNew, world.StatusFailedCommissioning, world.StatusReady, world.StatusBroken, world.StatusFailedTesting) {
		return rest.BadField("__all__", "Commission is not available because of the current state of the node.")
	}
	if !w.HasImage("ubuntu", w.DefaultSeries()) || w.Rack != world.OK {
		return rest.BadText(hosts.NoCommissioningImage(w))
	}
	action := wakeAction(m)
	if lifecycle.PowerBusy(m, action) {
		return lifecycle.BusyReply(m, action)
	}
	m.Query.Cancel()
	o := commissionOptions(c)
	lifecycle.Commission(w, m, c.User, o)
	if !o.KeepNetwork {
		m.Unlink()
	}
	rep := machineReply(m)
	lifecycle.Power(w, m, action)
	return rep
}

// commissionOptions reads what a commissioning leaves out.
func commissionOptions(c *request.Call) lifecycle.CommissionOptions {
	return lifecycle.CommissionOptions{KeepNetwork: rest.Truth(c.Field("skip_networking")), Untested: c.Field("testing_scripts") == "none"}
}

// wakeAction is how MAAS boots a machine: one that is on, as far as it knows,
// is cycled.
func wakeAction(m *world.Machine) string {
	if m.PowerState == "on" {
		return "cycle"
	}
	return "on"
}

// abortMachine answers with the old status; the new one shows with the next
// read. While the power action that it must undo is in flight it fails, and
// the machine stays as it was.
func abortMachine(_ *request.Call, m *world.Machine) rest.Reply {
	after, possible := map[world.Status]world.Status{
		world.StatusCommissioning: world.StatusNew, world.StatusTesting: m.Previous, world.StatusDeploying: world.StatusAllocated,
		world.StatusDiskErasing: world.StatusFailedDiskErasing,
	}[m.Status]
	if !possible {
		return rest.Conflict(fmt.Sprintf("Cannot abort in current state: node %s is in state %s.", m.SystemID, m.Status))
	}
	m.Log(map[world.Status]string{
		world.StatusCommissioning: "Aborted commissioning", world.StatusTesting: "Aborted testing",
		world.StatusDeploying: "Aborted deployment", world.StatusDiskErasing: "Aborted disk erasing",
	}[m.Status], "", "")
	if lifecycle.PowerBusy(m, "off") {
		return lifecycle.BusyReply(m, "off")
	}
	if world.OneOf(m.Status, world.StatusCommissioning, world.StatusTesting) {
		m.Owner = nil
	}
	rep := machineReply(m)
	m.Progress.Cancel()
	if m.Status == world.StatusTesting && m.Previous == world.StatusNew {
		after = world.StatusNew
	}
	if world.OneOf(m.Status, world.StatusCommissioning, world.StatusTesting) {
		m.CommissioningStatus, m.TestingStatus = -1, -1
	}
	m.Status = after
	lifecycle.Power(m.World, m, "off")
	return rep
}

func lockMachine(_ *request.Call, m *world.Machine) rest.Reply {
	switch {
	case m.Locked:
		return rest.Conflict("Machine is already locked")
	case !world.OneOf(m.Status, world.StatusDeployed, world.StatusDeploying):
		return rest.Conflict("Can't lock, node is not deployed or deploying")
	}
	m.Locked = true
	return machineReply(m)
}

func unlockMachine(_ *request.Call, m *world.Machine) rest.Reply {
	if !m.Locked {
		return rest.Conflict("Machine is not locked")
	}
	m.Locked = false
	return machineReply(m)
}

// markBroken needs an owner, even from an admin.
func markBroken(c *request.Call, m *world.Machine) rest.Reply {
	if m.Owner == nil || !c.User.Admin && m.Owner != c.User {
		return rest.Forbidden()
	}
	m.Progress.Cancel()
	m.Previous, m.Status, m.Owner = m.Status, world.StatusBroken, nil
	lifecycle.ClearDeployment(m)
	m.ReleaseAddresses()
	m.Log("Released", "", "")
	rep := machineReply(m)
	if m.PowerState == "on" {
		lifecycle.Power(m.World, m, "off")
	}
	return rep
}

// markFixed puts a machine back to where it was broken, for what that is
// worth.
func markFixed(_ *request.Call, m *world.Machine) rest.Reply {
	if m.Status != world.StatusBroken {
		return rest.Conflict("Can't mark a non-broken node as 'Ready'.")
	}
	m.Status = world.StatusReady
	if m.Previous == world.StatusDeployed {
		m.Status = world.StatusDeployed
	} else if !m.Commissioned {
		m.Status = world.StatusNew
	}
	return machineReply(m)
}

func overrideFailedTesting(_ *request.Call, m *world.Machine) rest.Reply {
	if m.Status != world.StatusFailedTesting {
		return rest.Conflict(fmt.Sprintf("Unable to override failed testing: node %s is in state %s.", m.SystemID, m.Status))
	}
	m.Status = world.StatusReady
	return machineReply(m)
}

// setOwnerData changes the annotations of an acquired machine; an empty value
// deletes its key.
func setOwnerData(c *request.Call, m *world.Machine) rest.Reply {
	if m.Owner == nil {
		return rest.Conflict("Cannot set workload annotation: it hasn't been acquired.")
	}
	if m.OwnerData == nil {
		m.OwnerData = map[string]string{}
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
