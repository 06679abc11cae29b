package lifecycle

import (
	"slices"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// The states of a set of scripts, as far as they occur here (enum.py of the
// metadata server, SCRIPT_STATUS). Scripts that were aborted do not count.
const (
	ScriptsUnknown = -1
	ScriptsPending = 0
	ScriptsPassed  = 2
	ScriptsFailed  = 3
)

// commissioningScripts are those that MAAS brings along and runs on each machine
// (metadataserver/builtin_scripts).
var commissioningScripts = []string{
	"20-maas-01-install-lldpd", "20-maas-02-dhcp-unconfigured-ifaces", "20-maas-03-machine-resources",
	"30-maas-01-bmc-config", "40-maas-01-machine-config-hints", "50-maas-01-commissioning", "maas-capture-lldpd",
	"maas-get-fruid-api-data", "maas-kernel-cmdline", "maas-list-modaliases", "maas-lshw", "maas-serial-ports", "maas-support-info",
}

// passScripts notes that each commissioning script passed.
func passScripts(m *world.Machine) {
	m.CommissioningStatus = ScriptsPassed
	for _, name := range commissioningScripts {
		noteScript(m, name, "Passed")
	}
}

// passTests notes that the tests of the disks passed: MAAS runs no other ones
// unless it is asked to.
func passTests(m *world.Machine) {
	m.TestingStatus = ScriptsPassed
	for _, d := range slices.Backward(m.Storage.Disks) {
		noteScript(m, "smartctl-validate on "+d.Name, "Passed")
	}
}

// NoteInventory notes the scripts whose results MAAS takes from an LXD for the
// machine that it runs on (models/bmc.py, sync).
func NoteInventory(m *world.Machine) {
	for _, name := range []string{"20-maas-03-machine-resources", "50-maas-01-commissioning"} {
		m.Note("DEBUG", "Script result", name+" changed status from 'Running' to 'Passed'", "")
	}
}

func noteScript(m *world.Machine, name, status string) {
	m.Note("DEBUG", "Script result", name+" changed status from 'Pending' to '"+status+"'", "")
}

// AbortScripts ends the scripts that have not run yet (models/node.py,
// _abort_all_tests).
func AbortScripts(m *world.Machine) { endPending(m, ScriptsUnknown) }

// endPending gives the scripts that have not run yet their end.
func endPending(m *world.Machine, status int) {
	for _, set := range []*int{&m.CommissioningStatus, &m.TestingStatus} {
		if *set == ScriptsPending {
			*set = status
		}
	}
}

// StartTests starts the tests of a machine that is not commissioned for them
// (models/node.py, start_testing).
func StartTests(w *world.World, m *world.Machine, u *world.User) {
	m.NoteRequest(u, "User starting node testing", "start testing", "")
	m.Log("Testing", "")
	m.Testing, m.TestingStatus = w.NextID("scriptset"), ScriptsPending
	setStatus(m, world.StatusTesting)
	if m.Owner == nil {
		m.Owner = u
	}
	m.Progress.Cancel()
	m.Progress = w.Later(w.Latency.Commission/5, func() {
		EndPower(m, "on")
		passTests(m)
		after := afterTests(m)
		switch after {
		case world.StatusReady:
			m.Log("Ready", "")
		case world.StatusNew:
			m.Log("New", "")
		}
		setStatus(m, after)
	})
}

// readyAfterTests are the statuses from which tests that pass lead to Ready
// (node_status.py, NODE_TESTING_RESET_READY_TRANSITIONS).
var readyAfterTests = []world.Status{
	world.StatusNew, world.StatusCommissioning, world.StatusFailedDeployment, world.StatusMissing, world.StatusRetired,
	world.StatusBroken, world.StatusFailedReleasing, world.StatusFailedDiskErasing, world.StatusFailedEnteringRescueMode,
	world.StatusFailedExitingRescueMode, world.StatusFailedTesting,
}

// afterTests is where tests that pass lead to (metadataserver/api.py,
// _process_testing).
func afterTests(m *world.Machine) world.Status {
	switch {
	case world.OneOf(m.Previous, readyAfterTests...):
		return world.StatusReady
	case m.Previous == world.StatusFailedCommissioning:
		return world.StatusNew
	}
	return m.Previous
}
