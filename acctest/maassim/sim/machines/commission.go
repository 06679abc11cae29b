package machines

import (
	"fmt"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/hosts"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lifecycle"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// commissionableStatuses are the statuses from which a machine can be commissioned
// (node_action.py, Commission).
var commissionableStatuses = []world.Status{world.StatusNew, world.StatusFailedCommissioning, world.StatusReady, world.StatusBroken}

// testableStatuses are the statuses in which a machine can be tested (node_action.py,
// Test).
var testableStatuses = []world.Status{
	world.StatusFailedCommissioning, world.StatusNew, world.StatusReady, world.StatusReserved, world.StatusAllocated,
	world.StatusFailedDeployment, world.StatusDeployed, world.StatusMissing, world.StatusRetired, world.StatusBroken,
	world.StatusRescueMode, world.StatusFailedReleasing, world.StatusFailedDiskErasing, world.StatusFailedEnteringRescueMode,
	world.StatusFailedExitingRescueMode, world.StatusFailedTesting,
}

// commissionMachine starts commissioning. The power action follows after the answer.
func commissionMachine(c *request.Call, m *world.Machine) rest.Reply {
	w := c.World
	errs := rest.FormErrors{}
	if !world.IsStatusIn(m.Status, commissionableStatuses...) {
		errs.Add("__all__", "Commission is not available because of the current state of the node.")
	}
	checkScripts(c, errs, "commissioning_scripts", append([]string{"none"}, commissioningChoices...))
	checkScripts(c, errs, "testing_scripts", append([]string{"none"}, testingChoices...))
	if len(errs) > 0 {
		return rest.BadFormReply(errs)
	}
	if m.PowerType == "" {
		return unknownPowerTypeReply()
	}
	if bad := noEphemeralImageReply(w); bad != nil {
		return *bad
	}
	action, old, options := bootAction(m), m.Status, commissionOptions(c)
	m.PowerQueryJob.Cancel()
	lifecycle.CommissionMachine(w, m, c.User, options)
	if !options.KeepNetwork {
		m.RemoveLinks()
	}
	return startOrRevert(c, m, action, old)
}

// startOrRevert answers a call that boots the machine, and then boots it. If MAAS cannot
// send the power action, it undoes the beginning of the call.
func startOrRevert(c *request.Call, m *world.Machine, action string, old world.Status) rest.Reply {
	if bad := lifecycle.PowerRefusal(c.World, m, action); bad != nil {
		lifecycle.RevertStart(m, c.User, old)
		return *bad
	}
	rep := machineReply(m)
	lifecycle.RequestPower(c.World, m, action)
	return rep
}

// noEphemeralImageReply is 400 if no image exists that a machine could boot for
// commissioning, testing or disk erasing.
func noEphemeralImageReply(w *world.World) *rest.Reply {
	if w.HasImage("ubuntu", w.DefaultSeries()) && w.RackCondition == world.ConditionOK {
		return nil
	}
	bad := rest.BadTextReply(hosts.NoCommissioningImage(w))
	return &bad
}

// unknownPowerTypeReply is MAAS's answer for a machine without a power type.
func unknownPowerTypeReply() rest.Reply {
	return hosts.InternalErrorReply("Unconfigured power type. Please configure the power type and try again.")
}

// commissionOptions reads the parts of a commissioning to skip.
func commissionOptions(c *request.Call) lifecycle.CommissionOptions {
	return lifecycle.CommissionOptions{
		KeepNetwork: rest.ReadBool(c.Field("skip_networking")),
		KeepStorage: rest.ReadBool(c.Field("skip_storage")),
		SkipTesting: slices.Contains(scriptNames(c, "testing_scripts"), "none"),
	}
}

// The names and tags that select MAAS's built-in scripts (metadataserver/builtin_scripts).
var (
	commissioningChoices = []string{
		"20-maas-01-install-lldpd", "20-maas-02-dhcp-unconfigured-ifaces", "20-maas-03-machine-resources", "30-maas-01-bmc-config",
		"40-maas-01-machine-config-hints", "50-maas-01-commissioning", "maas-capture-lldpd", "maas-get-fruid-api-data",
		"maas-kernel-cmdline", "maas-list-modaliases", "maas-lshw", "maas-serial-ports", "maas-support-info",
		"node", "bmc-config", "commissioning", "update_firmware", "configure_hba",
	}
	testingChoices = []string{
		"smartctl-validate", "smartctl-short", "smartctl-long", "smartctl-conveyance", "memtester", "internet-connectivity",
		"stress-ng-cpu-long", "stress-ng-cpu-short", "stress-ng-memory-long", "stress-ng-memory-short", "ntp", "badblocks",
		"badblocks-destructive", "7z", "fio", "gateway-connectivity", "rack-controller-connectivity",
		"commissioning", "storage", "cpu", "memory", "network", "internet", "ntp", "cpu-short", "memory-short", "destructive", "node",
	}
)

// scriptNames are the scripts that a field names, as repeated values or separated by
// commas.
func scriptNames(c *request.Call, field string) (names []string) {
	if c.Field(field) == "" {
		return nil
	}
	for _, value := range c.Form[field] {
		names = append(names, strings.Split(value, ",")...)
	}
	return names
}

// checkScripts refuses unknown scripts (forms/ephemeral.py).
func checkScripts(c *request.Call, errs rest.FormErrors, field string, choices []string) {
	for _, name := range scriptNames(c, field) {
		if !slices.Contains(choices, name) {
			errs.Add(field, rest.ChoiceProblem(name))
			return
		}
	}
}

// testMachine runs tests without commissioning.
func testMachine(c *request.Call, m *world.Machine) rest.Reply {
	errs := rest.FormErrors{}
	if !world.IsStatusIn(m.Status, testableStatuses...) {
		errs.Add("__all__", "Test is not available because of the current state of the node.")
	}
	checkScripts(c, errs, "testing_scripts", testingChoices)
	if len(errs) > 0 {
		return rest.BadFormReply(errs)
	}
	switch {
	case m.PowerType == "":
		return unknownPowerTypeReply()
	case m.Status == world.StatusNew && m.CommissioningSet == 0:
		return rest.BadFormReply(rest.FormErrors{"__all__": {"Unable to start machine testing; this node has never been commissioned. Please use the 'Commission' action to commission & test this machine."}})
	}
	if bad := noEphemeralImageReply(c.World); bad != nil {
		return *bad
	}
	action, old := bootAction(m), m.Status
	m.PowerQueryJob.Cancel()
	lifecycle.StartTests(c.World, m, c.User)
	return startOrRevert(c, m, action, old)
}

// overrideFailedTesting makes a machine usable again although its tests failed. It is
// Deployed if a system is installed, else Ready.
func overrideFailedTesting(c *request.Call, m *world.Machine) rest.Reply {
	if m.Status != world.StatusFailedTesting {
		return rest.ConflictReply("Unable to override node status. Node is not in 'Failed testing' status.")
	}
	m.AddRequestEvent(c.User, "User overrode 'Failed testing' status", "ignore failed tests", c.Field("comment"))
	if m.Osystem != "" {
		m.SetStatus(world.StatusDeployed)
	} else {
		m.SetStatus(world.StatusReady)
	}
	return machineReply(m)
}

// bootAction is the power action that boots a machine. MAAS cycles a machine that is on as
// far as MAAS knows.
func bootAction(m *world.Machine) string {
	if m.PowerState == "on" {
		return "cycle"
	}
	return "on"
}

// abortEvents are MAAS's event types and messages for an aborted operation.
var abortEvents = map[world.Status]struct{ request, action, message string }{
	world.StatusCommissioning: {"User aborting node commissioning", "abort commissioning", "Aborted commissioning"},
	world.StatusTesting:       {"User aborting node testing", "abort testing", "Aborted testing"},
	world.StatusDeploying:     {"User aborting deployment", "abort deploying", "Aborted deployment"},
	world.StatusDiskErasing:   {"User aborting disk erase", "abort disk erasing", "Aborted disk erasing"},
}

// abortMachine aborts the current operation. The answer shows the old status, and the next
// read shows the new one. While a power action is in flight that it must undo, it fails,
// and the machine keeps its status.
func abortMachine(c *request.Call, m *world.Machine) rest.Reply {
	words, possible := abortEvents[m.Status]
	if !possible {
		return rest.ConflictReply(fmt.Sprintf("Cannot abort in current state: node %s is in state %s.", m.SystemID, m.Status))
	}
	if m.Status == world.StatusCommissioning {
		m.Owner = nil
	}
	m.AddRequestEvent(c.User, words.request, words.action, c.Field("comment"))
	m.AddStatusEvent(words.message, "")
	after := statusAfterAbort(m)
	rep := machineReply(m)
	lifecycle.AbortScripts(m)
	if bad := lifecycle.PowerRefusal(c.World, m, "off"); bad != nil {
		return *bad
	}
	m.Transition.Cancel()
	m.SetStatus(after)
	lifecycle.RequestPower(m.World, m, "off")
	return rep
}

// statusAfterAbort is the status after an abort. A machine whose tests followed a
// commissioning is usable afterwards.
func statusAfterAbort(m *world.Machine) world.Status {
	switch {
	case m.Status == world.StatusCommissioning:
		return world.StatusNew
	case m.Status == world.StatusDeploying:
		return world.StatusAllocated
	case m.Status == world.StatusDiskErasing:
		return world.StatusFailedDiskErasing
	case m.PreviousStatus == world.StatusCommissioning:
		return world.StatusReady
	}
	return m.PreviousStatus
}
