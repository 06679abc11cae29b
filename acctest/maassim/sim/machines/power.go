package machines

import (
	"fmt"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/driver"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/hosts"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lifecycle"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

func rescueMode(c *request.Call, m *world.Machine) rest.Reply {
	return startRescue(c, m, world.StatusEnteringRescueMode, world.StatusRescueMode, world.StatusReady, world.StatusBroken, world.StatusDeployed)
}

func exitRescueMode(c *request.Call, m *world.Machine) rest.Reply {
	return startRescue(c, m, world.StatusExitingRescueMode, m.Previous, world.StatusRescueMode)
}

// startRescue boots a machine into rescue mode, or out of it.
func startRescue(c *request.Call, m *world.Machine, passing, after world.Status, from ...world.Status) rest.Reply {
	if !world.OneOf(m.Status, from...) {
		return rest.Conflict(fmt.Sprintf("Invalid transition: %s -> %s.", m.Status, passing))
	}
	action := wakeAction(m)
	if after != world.StatusRescueMode && after != world.StatusDeployed {
		action = "off"
	}
	if lifecycle.PowerBusy(m, action) {
		return lifecycle.BusyReply(m, action)
	}
	if passing == world.StatusEnteringRescueMode {
		m.Previous = m.Status
	}
	m.Status = passing
	m.Log(strings.ToUpper(passing.String()[:1])+passing.String()[1:], "", "")
	rep := machineReply(m)
	m.Progress.Cancel()
	m.Progress = c.World.Later(max(c.World.Latency.PowerOn, c.World.Latency.PowerOff), func() { m.Status = after })
	lifecycle.Power(c.World, m, action)
	return rep
}

// powerOn needs an acquired machine. The answer still shows the old power.
func powerOn(_ *request.Call, m *world.Machine) rest.Reply {
	if m.Owner == nil {
		return rest.Conflict("Can't start node: it hasn't been allocated.")
	}
	return switchPower(m, "on")
}

func powerOff(_ *request.Call, m *world.Machine) rest.Reply { return switchPower(m, "off") }

func switchPower(m *world.Machine, action string) rest.Reply {
	if lifecycle.PowerBusy(m, action) {
		return lifecycle.BusyReply(m, action)
	}
	rep := machineReply(m)
	lifecycle.Power(m.World, m, action)
	return rep
}

// queryPowerState asks the driver and remembers the answer.
func queryPowerState(c *request.Call, m *world.Machine) rest.Reply {
	w := c.World
	if w.Rack != world.OK {
		m.PowerState = "unknown"
		return hosts.NoRack(fmt.Sprintf("Unable to connect to any rack controller %s; no connections available.", w.RackID))
	}
	w.Sleep(driverDelay(m))
	state := driver.PowerState(m)
	if m.PowerType == "lxd" && !m.Power.InFlight() {
		m.Power.Cancel()
		lifecycle.SetPower(m, state)
	}
	return rest.OK(rest.Object{"state": state})
}

// driverDelay is how long the machine's LXD keeps the driver waiting.
func driverDelay(m *world.Machine) time.Duration {
	if m.BMC == nil {
		return 0
	}
	l := m.World.LXDAt(m.BMC.Address)
	switch {
	case l == nil || m.World.Rack != world.OK:
	case l.State() == world.Slow:
		return driver.Slowness
	case l.State() == world.Hanging:
		return driver.RegionTimeout
	}
	return 0
}
