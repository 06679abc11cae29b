package machines

import (
	"fmt"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lifecycle"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// invalidTransitionReply is 409 for a change of status that MAAS does not allow
// (models/node.py, _validate_status_transition).
func invalidTransitionReply(m *world.Machine, to world.Status) rest.Reply {
	return rest.ConflictReply(fmt.Sprintf("Invalid transition: %s -> %s.", m.Status, to))
}

// enterRescueMode boots a machine into rescue mode, whatever its power state
// (models/node.py, start_rescue_mode).
func enterRescueMode(c *request.Call, m *world.Machine) rest.Reply {
	if m.PowerType == "" {
		return unknownPowerTypeReply()
	}
	if !lifecycle.CanEnterRescueMode(m.Status) {
		return invalidTransitionReply(m, world.StatusEnteringRescueMode)
	}
	m.AddRequestEvent(c.User, "User starting rescue mode", "start rescue mode", "")
	old := m.Status
	m.PowerQueryJob.Cancel()
	m.SetStatus(world.StatusEnteringRescueMode)
	m.Owner = c.User
	m.AddStatusEvent("Entering rescue mode", "")
	if bad := lifecycle.PowerRefusal(c.World, m, "cycle"); bad != nil {
		m.SetStatus(old)
		return *bad
	}
	rep := machineReply(m)
	m.Transition.Cancel()
	m.Transition = c.World.StartJob(c.World.Latency.PowerOn, func() {
		lifecycle.EndPower(m, "on")
		m.AddStatusEvent("Rescue mode", "")
		m.SetStatus(world.StatusRescueMode)
	})
	lifecycle.RequestPower(c.World, m, "cycle")
	return rep
}

// exitRescueMode switches a machine off that was Ready or Broken, and boots one that was
// Deployed. For any other machine MAAS does nothing (models/node.py, stop_rescue_mode).
// The result depends on the later power state.
func exitRescueMode(c *request.Call, m *world.Machine) rest.Reply {
	if !lifecycle.CanExitRescueMode(m.Status) {
		return invalidTransitionReply(m, world.StatusExitingRescueMode)
	}
	m.AddRequestEvent(c.User, "User stopping rescue mode", "stop rescue mode", "")
	m.Transition.Cancel()
	m.SetStatus(world.StatusExitingRescueMode)
	action := map[world.Status]string{world.StatusReady: "off", world.StatusBroken: "off", world.StatusDeployed: "cycle"}[m.PreviousStatus]
	if m.PowerType == "manual" {
		endRescueManually(m)
	}
	if action == "" {
		lifecycle.MonitorPower(m)
		return machineReply(m)
	}
	return switchPower(m, action)
}

// endRescueManually ends rescue mode if MAAS cannot query the power.
func endRescueManually(m *world.Machine) {
	if m.PreviousStatus != world.StatusDeployed {
		m.Owner = nil
	}
	m.SetStatus(m.PreviousStatus)
}
