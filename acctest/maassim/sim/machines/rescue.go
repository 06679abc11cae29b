package machines

import (
	"fmt"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lifecycle"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// invalidTransition is 409 for a change of status that MAAS does not know
// (models/node.py, _validate_status_transition).
func invalidTransition(m *world.Machine, to world.Status) rest.Reply {
	return rest.Conflict(fmt.Sprintf("Invalid transition: %s -> %s.", m.Status, to))
}

// rescueMode boots a machine into rescue mode, whatever its power is now
// (models/node.py, start_rescue_mode).
func rescueMode(c *request.Call, m *world.Machine) rest.Reply {
	if m.PowerType == "" {
		return unknownPowerType()
	}
	if !lifecycle.MayEnterRescueMode(m.Status) {
		return invalidTransition(m, world.StatusEnteringRescueMode)
	}
	m.NoteRequest(c.User, "User starting rescue mode", "start rescue mode", "")
	old := m.Status
	m.Query.Cancel()
	m.SetStatus(world.StatusEnteringRescueMode)
	m.Owner = c.User
	m.Log("Entering rescue mode", "")
	if bad := lifecycle.Refusal(c.World, m, "cycle"); bad != nil {
		m.SetStatus(old)
		return *bad
	}
	rep := machineReply(m)
	m.Progress.Cancel()
	m.Progress = c.World.Later(c.World.Latency.PowerOn, func() {
		lifecycle.EndPower(m, "on")
		m.Log("Rescue mode", "")
		m.SetStatus(world.StatusRescueMode)
	})
	lifecycle.Power(c.World, m, "cycle")
	return rep
}

// exitRescueMode turns a machine off that was Ready or Broken, and boots one that
// was Deployed; with any other one MAAS does nothing (models/node.py,
// stop_rescue_mode). What the power becomes decides how that ends.
func exitRescueMode(c *request.Call, m *world.Machine) rest.Reply {
	if !lifecycle.MayExitRescueMode(m.Status) {
		return invalidTransition(m, world.StatusExitingRescueMode)
	}
	m.NoteRequest(c.User, "User stopping rescue mode", "stop rescue mode", "")
	m.Progress.Cancel()
	m.SetStatus(world.StatusExitingRescueMode)
	action := map[world.Status]string{world.StatusReady: "off", world.StatusBroken: "off", world.StatusDeployed: "cycle"}[m.Previous]
	if m.PowerType == "manual" {
		leaveManually(m)
	}
	if action == "" {
		lifecycle.MonitorPower(m)
		return machineReply(m)
	}
	return switchPower(m, action)
}

// leaveManually ends rescue mode where nobody can ask for the power.
func leaveManually(m *world.Machine) {
	if m.Previous != world.StatusDeployed {
		m.Owner = nil
	}
	m.SetStatus(m.Previous)
}
