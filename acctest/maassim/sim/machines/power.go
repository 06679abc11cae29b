package machines

import (
	"fmt"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/driver"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/hosts"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lifecycle"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// powerOn needs a machine with an owner. It deploys an Allocated machine (models/node.py,
// start). The answer still shows the old power.
func powerOn(c *request.Call, m *world.Machine) rest.Reply {
	switch {
	case m.Owner == nil:
		return rest.ConflictReply("Can't start node: it hasn't been allocated.")
	case m.Status == world.StatusAllocated:
		return startDeployment(c, m)
	}
	m.AddRequestEvent(c.User, "User powering up node", "start", c.Field("comment"))
	if c.HasField("user_data") {
		m.UserData = readUserData(c.Field("user_data"))
	}
	if m.Status == world.StatusDeployed && m.Ephemeral {
		m.AddStatusEvent("Deploying", "")
	}
	return switchPower(m, "on")
}

// powerOff answers null if MAAS cannot switch the machine off.
func powerOff(c *request.Call, m *world.Machine) rest.Reply {
	m.AddRequestEvent(c.User, "User powering down node", "stop", c.Field("comment"))
	if m.PowerType == "manual" {
		return rest.OKReply(nil)
	}
	return switchPower(m, "off")
}

func switchPower(m *world.Machine, action string) rest.Reply {
	if bad := lifecycle.PowerRefusal(m.World, m, action); bad != nil {
		return *bad
	}
	rep := machineReply(m)
	lifecycle.RequestPower(m.World, m, action)
	return rep
}

// queryPowerState asks the driver and stores the state, or the reason why there is none.
func queryPowerState(c *request.Call, m *world.Machine) rest.Reply {
	w := c.World
	if w.RackCondition != world.ConditionOK {
		lifecycle.UpdatePowerState(m, "unknown")
		return hosts.NoRackReply(fmt.Sprintf("Unable to connect to any rack controller %s; no connections available.", w.RackID))
	}
	w.Sleep(driverDelay(m))
	state := driver.PowerState(m)
	if m.PowerType != "lxd" {
		return rest.OKReply(rest.Object{"state": state})
	}
	if state == "error" {
		m.AddEvent("WARNING", "Failed to query node's BMC", driver.PowerProblem(m), "")
	}
	if !m.PowerJob.IsInFlight() {
		m.PowerJob.Cancel()
		if state != m.PowerState {
			lifecycle.UpdatePowerState(m, state)
		}
	}
	return rest.OKReply(rest.Object{"state": state})
}

// driverDelay is how long the driver waits for the machine's LXD.
func driverDelay(m *world.Machine) time.Duration {
	if m.BMC == nil {
		return 0
	}
	l := m.World.LXDAt(m.BMC.Address)
	switch {
	case l == nil || m.World.RackCondition != world.ConditionOK:
	case l.EffectiveCondition() == world.ConditionSlow:
		return driver.SlowDelay
	case l.EffectiveCondition() == world.ConditionHanging:
		return driver.RegionTimeout
	}
	return 0
}
