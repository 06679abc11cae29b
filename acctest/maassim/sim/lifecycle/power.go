package lifecycle

import (
	"fmt"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/driver"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// Power starts a power action through the driver. It reports false while
// another one is in flight. MAAS logs it after the call that caused it has
// answered, so callers write their answer first.
func Power(w *world.World, m *world.Machine, action string) bool {
	if m.PowerType != "lxd" {
		return true
	}
	if PowerBusy(m, action) {
		return false
	}
	if m.Power.Pending() && m.PowerAction == action {
		return true
	}
	if problem := powerProblem(w, m); problem != "" {
		powerFailed(m, action, problem)
		return true
	}
	startPower(m, action)
	return true
}

// PowerBusy says whether another action is in flight.
func PowerBusy(m *world.Machine, action string) bool {
	return m.Power.InFlight() && m.PowerAction != action
}

// BusyReply is 503 for an action while another is in flight.
func BusyReply(m *world.Machine, action string) rest.Reply {
	return rest.Unavailable(fmt.Sprintf("Unable to change power state to '%s' for node %s: another action is already in progress for that node.", action, m.Hostname))
}

var powerEvents = map[string]string{"on": "Powering on", "off": "Powering off", "cycle": "Power cycling"}

func startPower(m *world.Machine, action string) {
	m.Log(powerEvents[action], "", "")
	took := m.World.Latency.PowerOn
	if action == "off" {
		took = m.World.Latency.PowerOff
	}
	i := m.LXDInstance()
	if action == "on" && i.Running {
		stallBoot(m)
	}
	m.Power.Cancel()
	m.PowerAction = action
	if took > 0 && action != "off" {
		i.Busy = "start"
	}
	if took <= 0 {
		i.Turn(action != "off")
	}
	m.Power = m.World.Later(took, func() {
		i.Turn(action != "off")
		m.PowerAction = ""
		SetPower(m, driver.PowerState(m))
	})
}

// nodeTimeout is how long MAAS waits for a machine that commissions or deploys
// (its setting node_timeout, 30 minutes).
const nodeTimeout = 30 * time.Minute

// stallBoot is what comes of booting a machine that runs already, which MAAS does
// not know: turning it on does nothing, so the guest never asks for its part.
func stallBoot(m *world.Machine) {
	waiting := m.Progress
	if !waiting.Pending() || !world.OneOf(m.Status, world.StatusCommissioning, world.StatusDeploying) {
		return
	}
	waiting.Hold()
	what := m.Status
	m.World.After(nodeTimeout, func() {
		if m.Progress == waiting && waiting.Pending() {
			Fail(m, fmt.Sprintf("Node operation '%s' timed out after %d minutes.", what, int(nodeTimeout.Minutes())))
		}
	})
}

// EndPower finishes a power action that a later event shows to be over.
func EndPower(m *world.Machine, want string) {
	if m.Power.Pending() {
		m.Power.Finish()
	}
	if m.PowerType != "lxd" {
		return
	}
	m.PowerState = want
	if i := m.LXDInstance(); i != nil {
		i.Turn(want == "on")
	}
}

// powerProblem is what the driver says instead of acting.
func powerProblem(w *world.World, m *world.Machine) string {
	if w.Rack != world.OK {
		return fmt.Sprintf("Unable to connect to any rack controller %s; no connections available.", w.RackID)
	}
	l := w.LXDAt(m.BMC.Address)
	switch {
	case l == nil || l.State() == world.Unreachable || l.State() == world.Hanging:
		return driver.ConnectionProblem(m.BMC)
	case m.LXDInstance() == nil:
		return fmt.Sprintf("%s: LXD VM %s not found.", m.Hostname, m.Instance)
	}
	return driver.Admit(l, m.BMC, m.Hostname+": ")
}

// powerFailed is a power action that could not be done: what waits for it
// fails at once.
func powerFailed(m *world.Machine, action, problem string) {
	m.PowerState = "error"
	kind := "Failed to power " + action + " node"
	if !Fail(m, fmt.Sprintf("Power %s for the node failed: %s", action, problem)) {
		m.Log(kind, problem, "")
	}
}

// RemoveVM deletes a machine with its instance, as far as it can: errors are
// swallowed, and then the instance stays. A power action that is in flight
// goes on without the record.
func RemoveVM(w *world.World, m *world.Machine) {
	i := m.LXDInstance()
	if i != nil && m.Host() != nil && i.Busy == "" && w.Rack == world.OK && driver.Answers(i.Server, m.BMC) && !w.Nasty.Strikes("leak_delete", m.Hostname) {
		i.Server.Remove(i)
	}
	if m.Power.InFlight() && i != nil {
		FinishWithoutRecord(m, i)
	}
	m.Forget()
	if i != nil && i.Server.Lent != nil && !i.Server.Lent.Boots() {
		i.Running = false // only MAAS took it as started
	}
}

// FinishWithoutRecord lets LXD end the start or stop of an instance whose
// machine goes away.
func FinishWithoutRecord(m *world.Machine, i *world.Instance) {
	action := m.PowerAction
	w := m.World
	took := w.Latency.PowerOn
	if action == "off" {
		took = w.Latency.PowerOff
	}
	m.Power.Cancel()
	w.StartOrphan(took, func() { i.Turn(action != "off") })
}
