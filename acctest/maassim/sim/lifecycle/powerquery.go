package lifecycle

import (
	"slices"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/driver"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// powerQueryDelay is how long after a change of status MAAS queries the power
// (signals/power.py, WAIT_TO_QUERY). Until then MAAS shows a machine that commissioning
// switched off as on.
const powerQueryDelay = 20 * time.Second

// powerMonitorInterval is how often MAAS queries the power of each machine
// (rackdservices/node_power_monitor_service.py).
const powerMonitorInterval = 5 * time.Minute

// powerQueryTransitions are the changes of status after which MAAS queries the power
// (node_status.py, QUERY_TRANSITIONS).
var powerQueryTransitions = map[world.Status][]world.Status{
	world.StatusCommissioning: {world.StatusFailedCommissioning, world.StatusReady},
	world.StatusDeploying:     {world.StatusFailedDeployment, world.StatusDeployed},
	world.StatusDiskErasing:   {world.StatusFailedDiskErasing},
	world.StatusTesting: {
		world.StatusFailedTesting, world.StatusReady, world.StatusReserved, world.StatusAllocated, world.StatusDeployed,
	},
}

// setStatus changes the machine's status. MAAS queries the power after some changes.
func setStatus(m *world.Machine, s world.Status) {
	old := m.Status
	m.SetStatus(s)
	if slices.Contains(powerQueryTransitions[old], s) {
		schedulePowerQuery(m, powerQueryDelay)
	}
}

// MonitorPower schedules the next query of MAAS's power monitor. If MAAS does not control
// a machine's power, this query decides how its exit from rescue mode ends.
func MonitorPower(m *world.Machine) { schedulePowerQuery(m, powerMonitorInterval) }

// schedulePowerQuery schedules a query of the power by MAAS.
func schedulePowerQuery(m *world.Machine, after time.Duration) {
	m.PowerQueryJob.Cancel()
	m.PowerQueryJob = &world.Job{World: m.World, Run: func() { queryPower(m) }}
	m.PowerQueryJob.Timer = m.World.AfterFunc(after, m.PowerQueryJob.Finish)
}

// queryPower copies the power state from the driver.
func queryPower(m *world.Machine) {
	if m.PowerType != "lxd" || m.PowerJob.IsPending() {
		return
	}
	if state := driver.PowerState(m); state != m.PowerState || m.Status == world.StatusExitingRescueMode {
		UpdatePowerState(m, state)
	}
}

// UpdatePowerState records the power state that MAAS found (models/node.py,
// update_power_state). A machine that is off and has no transition releases its auto
// addresses (models/signals/nodes.py, release_auto_ips).
func UpdatePowerState(m *world.Machine, state string) {
	changed := m.PowerState != state
	m.PowerState = state
	if m.Status == world.StatusExitingRescueMode {
		leaveRescueMode(m, state)
	}
	if changed && state == "off" && isIdle(m) {
		m.ReleaseAddresses()
	}
}

// leaveRescueMode ends rescue mode by the power alone: a machine that was Deployed must be
// on, any other one off.
func leaveRescueMode(m *world.Machine, state string) {
	wanted := "off"
	if m.PreviousStatus == world.StatusDeployed {
		wanted = "on"
	}
	if state != wanted {
		m.AddStatusEvent("Failed exiting rescue mode", "")
		setStatus(m, world.StatusFailedExitingRescueMode)
		return
	}
	if wanted == "off" {
		m.Owner = nil
	}
	m.AddStatusEvent("Exited rescue mode", "")
	setStatus(m, m.PreviousStatus)
}

// isIdle tells whether the machine releases its auto addresses once it is off.
func isIdle(m *world.Machine) bool {
	return !world.IsStatusIn(m.Status,
		world.StatusCommissioning, world.StatusTesting, world.StatusDeploying, world.StatusDeployed,
		world.StatusDiskErasing, world.StatusRescueMode, world.StatusEnteringRescueMode)
}
