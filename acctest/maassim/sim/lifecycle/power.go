package lifecycle

import (
	"fmt"
	"strings"
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
	if problem := powerProblem(m); problem != "" {
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
	m.Log(powerEvents[action], "")
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
		powerChanged(m, action, driver.PowerState(m))
	})
}

// powerChanged is what MAAS learns once a power action is over
// (rpc/power.py, power_change_success).
func powerChanged(m *world.Machine, action, state string) {
	SetPower(m, state)
	switch {
	case state == "off" && action == "off":
		m.Note("DEBUG", "Node powered off", "", "")
	case state == "on" && action != "off":
		m.Note("DEBUG", "Node powered on", "", "")
	}
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
			MarkFailed(m, fmt.Sprintf("Node operation '%s' timed out after %d minutes.", what, int(nodeTimeout.Minutes())))
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

// Refusal is the answer to a call whose power action MAAS cannot send, nil if it
// can: the rack is away, or another action is in flight.
func Refusal(w *world.World, m *world.Machine, action string) *rest.Reply {
	var bad rest.Reply
	switch {
	case m.PowerType != "lxd":
		return nil
	case w.Rack != world.OK:
		SetPower(m, "unknown")
		bad = rest.Unavailable(fmt.Sprintf("Unable to connect to any rack controller %s; no connections available.", w.RackID))
		bad.Header.Set("Retry-After", "10")
	case PowerBusy(m, action):
		bad = BusyReply(m, action)
	default:
		return nil
	}
	return &bad
}

// RevertStart undoes what a call had begun whose power action MAAS could not send
// (models/node.py, _start_bmc_unavailable).
func RevertStart(m *world.Machine, u *world.User, to world.Status) {
	text := fmt.Sprintf("(%s) - Aborting %s and reverting to %s. Unable to power control the node. Please check power credentials.",
		u.Name, constantName(m.Status), constantName(to))
	m.Note("WARNING", "Failed to query node's BMC", text, "")
	m.Progress.Cancel()
	AbortScripts(m)
	setStatus(m, to)
}

// constantName is the name of a status in MAAS's source.
func constantName(s world.Status) string {
	return strings.ToUpper(world.StatusWords[s].Filter)
}

// powerProblem is what the driver says instead of acting.
func powerProblem(m *world.Machine) string {
	problem := driver.PowerProblem(m)
	if problem == "" {
		return ""
	}
	return "Failed talking to node's BMC: " + problem
}

// powerFailed is a power action that could not be done: what waits for it fails
// at once. Of a machine that waits for nothing MAAS notes nothing, as marking it
// as failed is an error (rpc/power.py, power_change_failure). What it takes for
// the power state stays.
func powerFailed(m *world.Machine, action, problem string) {
	why := fmt.Sprintf("Power %s for the node failed: %s", action, problem)
	m.Log(powerEvents[action], "")
	if !MarkFailed(m, why) {
		if m.Status != world.StatusNew && !hasFailed(m.Status) {
			return
		}
		m.Note("ERROR", "Marking node failed", why, "mark_failed")
	}
	m.Note("ERROR", "Failed to power "+action+" node", why, "")
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
