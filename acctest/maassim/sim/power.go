package sim

import (
	"fmt"
	"time"
)

// power starts a power action through the driver. It reports false while
// another one is in flight. MAAS logs it after the call that caused it has
// answered, so callers write their answer first.
func (w *world) power(m *machine, action string) bool {
	if m.powerType != "lxd" {
		return true
	}
	if m.powerBusy(action) {
		return false
	}
	if m.power.pending() && m.powerAction == action {
		return true
	}
	if problem := w.powerProblem(m); problem != "" {
		m.powerFailed(action, problem)
		return true
	}
	m.startPower(action)
	return true
}

// powerBusy says whether another action is in flight.
func (m *machine) powerBusy(action string) bool {
	return m.power.inFlight() && m.powerAction != action
}

// busyReply is 503 for an action while another is in flight.
func (m *machine) busyReply(action string) reply {
	return unavailable(fmt.Sprintf("Unable to change power state to '%s' for node %s: another action is already in progress for that node.", action, m.hostname))
}

var powerEvents = map[string]string{"on": "Powering on", "off": "Powering off", "cycle": "Power cycling"}

func (m *machine) startPower(action string) {
	m.log(powerEvents[action], "", "")
	took := m.w.model.Latency.PowerOn
	if action == "off" {
		took = m.w.model.Latency.PowerOff
	}
	i := m.lxdInstance()
	if action == "on" && i.running {
		m.stall()
	}
	m.power.cancel()
	m.powerAction = action
	if took > 0 && action != "off" {
		i.busy = "start"
	}
	if took <= 0 {
		i.turn(action != "off")
	}
	m.power = m.w.later(took, func() {
		i.turn(action != "off")
		m.powerAction = ""
		m.setPower(m.driverState())
	})
}

// nodeTimeout is how long MAAS waits for a machine that commissions or deploys
// (its setting node_timeout, 30 minutes).
const nodeTimeout = 30 * time.Minute

// stall is what comes of booting a machine that runs already, which MAAS does
// not know: turning it on does nothing, so the guest never asks for its part.
func (m *machine) stall() {
	waiting := m.progress
	if !waiting.pending() || !in(m.status, StatusCommissioning, StatusDeploying) {
		return
	}
	waiting.hold()
	what := m.status
	m.w.after(nodeTimeout, func() {
		if m.progress == waiting && waiting.pending() {
			m.fail(fmt.Sprintf("Node operation '%s' timed out after %d minutes.", what, int(nodeTimeout.Minutes())))
		}
	})
}

// endPower finishes a power action that a later event shows to be over.
func (m *machine) endPower(want string) {
	if m.power.pending() {
		m.power.finish()
	}
	if m.powerType != "lxd" {
		return
	}
	m.powerState = want
	if i := m.lxdInstance(); i != nil {
		i.turn(want == "on")
	}
}

// powerProblem is what the driver says instead of acting.
func (w *world) powerProblem(m *machine) string {
	if w.rack != OK {
		return fmt.Sprintf("Unable to connect to any rack controller %s; no connections available.", w.rackID)
	}
	l := w.lxdAt(m.bmc.address)
	switch {
	case l == nil || l.state() == Unreachable || l.state() == Hanging:
		return connectionProblem(m.bmc)
	case m.lxdInstance() == nil:
		return fmt.Sprintf("%s: LXD VM %s not found.", m.hostname, m.instance)
	}
	return l.admit(m.bmc, m.hostname+": ")
}

// powerFailed is a power action that could not be done: what waits for it
// fails at once.
func (m *machine) powerFailed(action, problem string) {
	m.powerState = "error"
	kind := "Failed to power " + action + " node"
	if !m.fail(fmt.Sprintf("Power %s for the node failed: %s", action, problem)) {
		m.log(kind, problem, "")
	}
}

// driverState is what power type lxd says now: on, off or error.
func (m *machine) driverState() string {
	if m.powerType != "lxd" {
		return "unknown"
	}
	i := m.lxdInstance()
	l := m.w.lxdAt(m.bmc.address)
	switch {
	case i == nil || l.state() == Unreachable || l.state() == Hanging || l.admit(m.bmc, "") != "":
		return "error"
	case i.running:
		return "on"
	}
	return "off"
}

// removeVM deletes a machine with its instance, as far as it can: errors are
// swallowed, and then the instance stays. A power action that is in flight
// goes on without the record.
func (w *world) removeVM(m *machine) {
	i := m.lxdInstance()
	if i != nil && m.host() != nil && i.busy == "" && w.rack == OK && i.server.answers(m.bmc) && !w.nasty.strikes("leak_delete", m.hostname) {
		i.server.remove(i)
	}
	if m.power.inFlight() && i != nil {
		m.finishWithoutRecord(i)
	}
	m.forget()
	if i != nil && i.server.lent != nil && !i.server.lent.Boots() {
		i.running = false // only MAAS took it as started
	}
}

// finishWithoutRecord lets LXD end the start or stop of an instance whose
// machine goes away.
func (m *machine) finishWithoutRecord(i *instance) {
	action := m.powerAction
	w := m.w
	took := w.model.Latency.PowerOn
	if action == "off" {
		took = w.model.Latency.PowerOff
	}
	m.power.cancel()
	w.orphan(took, func() { i.turn(action != "off") })
}

// answers says whether the LXD answers MAAS at once or after a while.
func (l *lxdServer) answers(b *bmc) bool {
	return (l.state() == OK || l.state() == Slow) && l.admit(b, "") == ""
}
