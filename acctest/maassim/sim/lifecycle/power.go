package lifecycle

import (
	"fmt"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/driver"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// RequestPower starts a power action through the driver. It returns false while another
// one is in flight. MAAS logs the action after it answered the call that caused it, so
// callers write their answer first.
func RequestPower(w *world.World, m *world.Machine, action string) bool {
	if m.PowerType != "lxd" {
		return true
	}
	if IsPowerBusy(m, action) {
		return false
	}
	if m.PowerJob.IsPending() && m.PowerAction == action {
		return true
	}
	if problem := powerProblem(m); problem != "" {
		notePowerFailure(m, action, problem)
		return true
	}
	startPower(m, action)
	return true
}

// IsPowerBusy tells whether another action is in flight.
func IsPowerBusy(m *world.Machine, action string) bool {
	return m.PowerJob.IsInFlight() && m.PowerAction != action
}

// BusyReply is 503 for an action while another is in flight.
func BusyReply(m *world.Machine, action string) rest.Reply {
	return rest.UnavailableReply(fmt.Sprintf("Unable to change power state to '%s' for node %s: another action is already in progress for that node.", action, m.Hostname))
}

var powerEvents = map[string]string{"on": "Powering on", "off": "Powering off", "cycle": "Power cycling"}

func startPower(m *world.Machine, action string) {
	m.AddStatusEvent(powerEvents[action], "")
	took := m.World.Latency.PowerOn
	if action == "off" {
		took = m.World.Latency.PowerOff
	}
	i := m.LXDInstance()
	if action == "on" && i.Running {
		stallBoot(m)
	}
	m.PowerJob.Cancel()
	m.PowerAction = action
	if took > 0 && action != "off" {
		i.Busy = "start"
	}
	if took <= 0 {
		i.SetRunning(action != "off")
	}
	m.PowerJob = m.World.StartJob(took, func() {
		i.SetRunning(action != "off")
		m.PowerAction = ""
		notePowerChange(m, action, driver.PowerState(m))
	})
}

// notePowerChange records the new power state after a power action (rpc/power.py,
// power_change_success).
func notePowerChange(m *world.Machine, action, state string) {
	UpdatePowerState(m, state)
	switch {
	case state == "off" && action == "off":
		m.AddEvent("DEBUG", "Node powered off", "", "")
	case state == "on" && action != "off":
		m.AddEvent("DEBUG", "Node powered on", "", "")
	}
}

// nodeTimeout is how long MAAS waits for a commissioning or deploying machine (its setting
// node_timeout, 30 minutes).
const nodeTimeout = 30 * time.Minute

// stallBoot boots a machine that already runs without MAAS knowing. Power-on does nothing
// then, so the guest never contacts MAAS.
func stallBoot(m *world.Machine) {
	waiting := m.Transition
	if !waiting.IsPending() || !world.IsStatusIn(m.Status, world.StatusCommissioning, world.StatusDeploying) {
		return
	}
	waiting.Hold()
	what := m.Status
	m.World.AfterFunc(nodeTimeout, func() {
		if m.Transition == waiting && waiting.IsPending() {
			MarkFailed(m, fmt.Sprintf("Node operation '%s' timed out after %d minutes.", what, int(nodeTimeout.Minutes())))
		}
	})
}

// EndPower finishes a power action, because a later event proves that it is over.
func EndPower(m *world.Machine, want string) {
	if m.PowerJob.IsPending() {
		m.PowerJob.Finish()
	}
	if m.PowerType != "lxd" {
		return
	}
	m.PowerState = want
	if i := m.LXDInstance(); i != nil {
		i.SetRunning(want == "on")
	}
}

// PowerRefusal is the error answer to a call whose power action MAAS cannot send, or nil.
// The reason is a missing rack controller, or another action in flight.
func PowerRefusal(w *world.World, m *world.Machine, action string) *rest.Reply {
	var bad rest.Reply
	switch {
	case m.PowerType != "lxd":
		return nil
	case w.RackCondition != world.ConditionOK:
		UpdatePowerState(m, "unknown")
		bad = rest.UnavailableReply(fmt.Sprintf("Unable to connect to any rack controller %s; no connections available.", w.RackID))
		bad.Header.Set("Retry-After", "10")
	case IsPowerBusy(m, action):
		bad = BusyReply(m, action)
	default:
		return nil
	}
	return &bad
}

// RevertStart undoes the beginning of a call whose power action MAAS could not send
// (models/node.py, _start_bmc_unavailable).
func RevertStart(m *world.Machine, u *world.User, to world.Status) {
	text := fmt.Sprintf("(%s) - Aborting %s and reverting to %s. Unable to power control the node. Please check power credentials.",
		u.Name, constantName(m.Status), constantName(to))
	m.AddEvent("WARNING", "Failed to query node's BMC", text, "")
	m.Transition.Cancel()
	AbortScripts(m)
	setStatus(m, to)
}

// constantName is the name of a status in MAAS's source.
func constantName(s world.Status) string {
	return strings.ToUpper(world.StatusWords[s].Filter)
}

// powerProblem is the driver's message if it cannot act.
func powerProblem(m *world.Machine) string {
	problem := driver.PowerProblem(m)
	if problem == "" {
		return ""
	}
	return "Failed talking to node's BMC: " + problem
}

// notePowerFailure records a failed power action. A transition that waits for it fails at
// once. Without one MAAS records nothing, because it cannot mark the machine as failed
// (rpc/power.py, power_change_failure). MAAS's power state stays as it was.
func notePowerFailure(m *world.Machine, action, problem string) {
	why := fmt.Sprintf("Power %s for the node failed: %s", action, problem)
	m.AddStatusEvent(powerEvents[action], "")
	if !MarkFailed(m, why) {
		if m.Status != world.StatusNew && !isFailedStatus(m.Status) {
			return
		}
		m.AddEvent("ERROR", "Marking node failed", why, "mark_failed")
	}
	m.AddEvent("ERROR", "Failed to power "+action+" node", why, "")
}

// RemoveVM deletes a machine and, if it can, its instance. Errors are ignored, and then
// the instance stays. A power action in flight continues without the record.
func RemoveVM(w *world.World, m *world.Machine) {
	i := m.LXDInstance()
	if i != nil && m.Host() != nil && i.Busy == "" && w.RackCondition == world.ConditionOK && driver.AnswersMAAS(i.Server, m.BMC) && !w.FaultSource.DrawFault("leak_delete", m.Hostname) {
		i.Server.Remove(i)
	}
	if m.PowerJob.IsInFlight() && i != nil {
		FinishWithoutRecord(m, i)
	}
	m.Forget()
	if i != nil && i.Server.Lent != nil && !i.Server.Lent.CanBoot() {
		i.Running = false // only MAAS recorded it as started
	}
}

// FinishWithoutRecord lets LXD finish the start or stop of an instance whose machine is
// deleted.
func FinishWithoutRecord(m *world.Machine, i *world.Instance) {
	action := m.PowerAction
	w := m.World
	took := w.Latency.PowerOn
	if action == "off" {
		took = w.Latency.PowerOff
	}
	m.PowerJob.Cancel()
	w.StartLXDJob(took, func() { i.SetRunning(action != "off") })
}
