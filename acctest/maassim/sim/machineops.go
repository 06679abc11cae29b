package sim

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// machineOpRoutes are the operations that move a machine through its life.
var machineOpRoutes = []route{
	opRoute("commission", use, commissionMachine),
	opRoute("deploy", use, deployMachine),
	opRoute("release", edit, releaseMachine),
	opRoute("abort", edit, abortMachine),
	opRoute("lock", use, lockMachine),
	opRoute("unlock", use, unlockMachine),
	opRoute("mark_broken", use, markBroken),
	opRoute("mark_fixed", use, markFixed),
	opRoute("power_on", edit, powerOn),
	opRoute("power_off", edit, powerOff),
	opRoute("rescue_mode", edit, rescueMode),
	opRoute("exit_rescue_mode", edit, exitRescueMode),
	opRoute("set_owner_data", use, setOwnerData),
	opRoute("set_workload_annotations", use, setOwnerData),
	opRoute("override_failed_testing", use, overrideFailedTesting),
}

func opRoute(op string, need permission, f func(*call, *machine) reply) route {
	return route{method: http.MethodPost, path: "machines/{id}/", op: op, handle: onMachine(need, f)}
}

func in(s Status, those ...Status) bool { return slices.Contains(those, s) }

// commissionMachine starts commissioning; power follows once the call has
// answered.
func commissionMachine(c *call, m *machine) reply {
	w := c.w
	if !in(m.status, StatusNew, StatusFailedCommissioning, StatusReady, StatusBroken, StatusFailedTesting) {
		return badField("__all__", "Commission is not available because of the current state of the node.")
	}
	if !w.hasImage("ubuntu", w.defaultSeries()) || w.rack != OK {
		return badText(w.noCommissioningImage())
	}
	action := m.wakeAction()
	if m.powerBusy(action) {
		return m.busyReply(action)
	}
	m.query.cancel()
	o := c.commissionOptions()
	w.commission(m, c.user, o)
	if !o.keepNetwork {
		m.unlink()
	}
	rep := machineReply(m)
	w.power(m, action)
	return rep
}

// commissionOptions reads what a commissioning leaves out.
func (c *call) commissionOptions() commissionOptions {
	return commissionOptions{keepNetwork: truth(c.field("skip_networking")), untested: c.field("testing_scripts") == "none"}
}

// wakeAction is how MAAS boots a machine: one that is on, as far as it knows,
// is cycled.
func (m *machine) wakeAction() string {
	if m.powerState == "on" {
		return "cycle"
	}
	return "on"
}

func releaseMachine(c *call, m *machine) reply {
	w := c.w
	if names := m.hostedBy(); names != "" && !truth(c.field("force")) {
		return badText("The following VM hosts must be removed first: " + names)
	}
	if w.removeHosted(m); w.machines[m.systemID] != m {
		return machineReply(m) // MAAS had made it for the VM host
	}
	switch {
	case in(m.status, StatusReady, StatusReleasing):
		return machineReply(m)
	case !in(m.status, StatusAllocated, StatusDeploying, StatusDeployed, StatusReserved, StatusBroken,
		StatusFailedDeployment, StatusFailedDiskErasing, StatusFailedReleasing, StatusRescueMode,
		StatusFailedEnteringRescueMode, StatusFailedExitingRescueMode):
		return conflict(fmt.Sprintf("Machine cannot be released in its current state ('%s').", m.status))
	}
	if truth(c.field("erase")) && m.status == StatusDeployed {
		return w.erase(m)
	}
	if m.powerBusy("off") {
		return m.busyReply("off")
	}
	w.release(m)
	rep := machineReply(m)
	if m.powerState == "off" {
		m.progress.finish()
	} else {
		w.power(m, "off")
	}
	return rep
}

// removeHosted is what force=true does before a release: the VM hosts on the
// machine go with every machine on them (api/machines.py, release). Their
// instances are left to what happens to the host.
func (w *world) removeHosted(m *machine) {
	for _, h := range sortedHosts(w.hosts) {
		if h.machine != m {
			continue
		}
		for _, vm := range h.vms() {
			vm.forget()
		}
		w.removeHost(h)
	}
}

// erase boots the machine to wipe its disks; the release follows.
func (w *world) erase(m *machine) reply {
	if m.powerBusy("cycle") {
		return m.busyReply("cycle")
	}
	m.previous, m.status = m.status, StatusDiskErasing
	rep := machineReply(m)
	m.progress.cancel()
	m.progress = w.later(w.model.Latency.Release, func() {
		m.endPower("on")
		w.release(m)
		w.power(m, "off")
	})
	w.power(m, m.wakeAction())
	return rep
}

// abortMachine answers with the old status; the new one shows with the next
// read. While the power action that it must undo is in flight it fails, and
// the machine stays as it was.
func abortMachine(_ *call, m *machine) reply {
	after, possible := map[Status]Status{
		StatusCommissioning: StatusNew, StatusTesting: m.previous, StatusDeploying: StatusAllocated,
		StatusDiskErasing: StatusFailedDiskErasing,
	}[m.status]
	if !possible {
		return conflict(fmt.Sprintf("Cannot abort in current state: node %s is in state %s.", m.systemID, m.status))
	}
	m.log(map[Status]string{
		StatusCommissioning: "Aborted commissioning", StatusTesting: "Aborted testing",
		StatusDeploying: "Aborted deployment", StatusDiskErasing: "Aborted disk erasing",
	}[m.status], "", "")
	if m.powerBusy("off") {
		return m.busyReply("off")
	}
	if in(m.status, StatusCommissioning, StatusTesting) {
		m.owner = nil
	}
	rep := machineReply(m)
	m.progress.cancel()
	if m.status == StatusTesting && m.previous == StatusNew {
		after = StatusNew
	}
	if in(m.status, StatusCommissioning, StatusTesting) {
		m.commissioningStatus, m.testingStatus = -1, -1
	}
	m.status = after
	m.w.power(m, "off")
	return rep
}

func lockMachine(_ *call, m *machine) reply {
	switch {
	case m.locked:
		return conflict("Machine is already locked")
	case !in(m.status, StatusDeployed, StatusDeploying):
		return conflict("Can't lock, node is not deployed or deploying")
	}
	m.locked = true
	return machineReply(m)
}

func unlockMachine(_ *call, m *machine) reply {
	if !m.locked {
		return conflict("Machine is not locked")
	}
	m.locked = false
	return machineReply(m)
}

// markBroken needs an owner, even from an admin.
func markBroken(c *call, m *machine) reply {
	if m.owner == nil || !c.user.admin && m.owner != c.user {
		return forbidden()
	}
	m.progress.cancel()
	m.previous, m.status, m.owner = m.status, StatusBroken, nil
	m.clearDeployment()
	m.releaseAddresses()
	m.log("Released", "", "")
	rep := machineReply(m)
	if m.powerState == "on" {
		m.w.power(m, "off")
	}
	return rep
}

// markFixed puts a machine back to where it was broken, for what that is
// worth.
func markFixed(_ *call, m *machine) reply {
	if m.status != StatusBroken {
		return conflict("Can't mark a non-broken node as 'Ready'.")
	}
	m.status = StatusReady
	if m.previous == StatusDeployed {
		m.status = StatusDeployed
	} else if !m.commissioned {
		m.status = StatusNew
	}
	return machineReply(m)
}

func overrideFailedTesting(_ *call, m *machine) reply {
	if m.status != StatusFailedTesting {
		return conflict(fmt.Sprintf("Unable to override failed testing: node %s is in state %s.", m.systemID, m.status))
	}
	m.status = StatusReady
	return machineReply(m)
}

// setOwnerData changes the annotations of an acquired machine; an empty value
// deletes its key.
func setOwnerData(c *call, m *machine) reply {
	if m.owner == nil {
		return conflict("Cannot set workload annotation: it hasn't been acquired.")
	}
	if m.ownerData == nil {
		m.ownerData = map[string]string{}
	}
	for name := range c.form {
		if value := c.field(name); value != "" {
			m.ownerData[name] = value
		} else {
			delete(m.ownerData, name)
		}
	}
	return machineReply(m)
}

func rescueMode(c *call, m *machine) reply {
	return c.rescue(m, StatusEnteringRescueMode, StatusRescueMode, StatusReady, StatusBroken, StatusDeployed)
}

func exitRescueMode(c *call, m *machine) reply {
	return c.rescue(m, StatusExitingRescueMode, m.previous, StatusRescueMode)
}

// rescue boots a machine into rescue mode, or out of it.
func (c *call) rescue(m *machine, passing, after Status, from ...Status) reply {
	if !in(m.status, from...) {
		return conflict(fmt.Sprintf("Invalid transition: %s -> %s.", m.status, passing))
	}
	action := m.wakeAction()
	if after != StatusRescueMode && after != StatusDeployed {
		action = "off"
	}
	if m.powerBusy(action) {
		return m.busyReply(action)
	}
	if passing == StatusEnteringRescueMode {
		m.previous = m.status
	}
	m.status = passing
	m.log(strings.ToUpper(passing.String()[:1])+passing.String()[1:], "", "")
	rep := machineReply(m)
	m.progress.cancel()
	m.progress = c.w.later(max(c.w.model.Latency.PowerOn, c.w.model.Latency.PowerOff), func() { m.status = after })
	c.w.power(m, action)
	return rep
}

// powerOn needs an acquired machine. The answer still shows the old power.
func powerOn(_ *call, m *machine) reply {
	if m.owner == nil {
		return conflict("Can't start node: it hasn't been allocated.")
	}
	return m.switchPower("on")
}

func powerOff(_ *call, m *machine) reply { return m.switchPower("off") }

func (m *machine) switchPower(action string) reply {
	if m.powerBusy(action) {
		return m.busyReply(action)
	}
	rep := machineReply(m)
	m.w.power(m, action)
	return rep
}

// queryPowerState asks the driver and remembers the answer.
func queryPowerState(c *call, m *machine) reply {
	w := c.w
	if w.rack != OK {
		m.powerState = "unknown"
		return noRack(fmt.Sprintf("Unable to connect to any rack controller %s; no connections available.", w.rackID))
	}
	w.sleep(m.driverDelay())
	state := m.driverState()
	if m.powerType == "lxd" && !m.power.inFlight() {
		m.power.cancel()
		m.setPower(state)
	}
	return ok(object{"state": state})
}

// driverDelay is how long the machine's LXD keeps the driver waiting.
func (m *machine) driverDelay() time.Duration {
	if m.bmc == nil {
		return 0
	}
	l := m.w.lxdAt(m.bmc.address)
	switch {
	case l == nil || m.w.rack != OK:
	case l.state() == Slow:
		return slowness
	case l.state() == Hanging:
		return regionTimeout
	}
	return 0
}
