package lifecycle

import (
	"fmt"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/driver"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// RequestPower starts a power action through the driver. It reports false while
// another one is in flight. MAAS logs it after the call that caused it has
// answered, so callers write their answer first.
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

// IsPowerBusy says whether another action is in flight.
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

// notePowerChange is what MAAS learns once a power action is over
// (rpc/power.py, power_change_success).
func notePowerChange(m *world.Machine, action, state string) {
	UpdatePowerState(m, state)
	switch {
	case state == "off" && action == "off":
		m.AddEvent("DEBUG", "Node powered off", "", "")
	case state == "on" && action != "off":
		m.AddEvent("DEBUG", "Node powered on", "", "")
	}
}

// nodeTimeout is how long MAAS waits for a machine that commissions or deploys
// (its setting node_timeout, 30 minutes).
const nodeTimeout = 30 * time.Minute

// stallBoot is what comes of booting a machine that runs already, which MAAS does
// not know: turning it on does nothing, so the guest never asks for its part.
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

// EndPower finishes a power action that a later event shows to be over.
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

// PowerRefusal is the answer to a call whose power action MAAS cannot send, nil if it
// can: the rack is away, or another action is in flight.
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

// RevertStart undoes what a call had begun whose power action MAAS could not send
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

// powerProblem is what the driver says instead of acting.
func powerProblem(m *world.Machine) string {
	problem := driver.PowerProblem(m)
	if problem == "" {
		return ""
	}
	return "Failed talking to node's BMC: " + problem
}

// notePowerFailure is a power action that could not be done: what waits for it fails
// at once. Of a machine that waits for nothing MAAS notes nothing, as marking it
// as failed is an error (rpc/power.py, power_change_failure). What it takes for
// the power state stays.
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

// RemoveVM deletes a machine with its instance, as far as it can: errors are
// swallowed, and then the instance stays. A power action that is in flight
// goes on without the record.
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
	m.PowerJob.Cancel()
	w.StartLXDJob(took, func() { i.SetRunning(action != "off") })
}
