package lifecycle

import (
	"slices"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/script"
)

// The states of a set of scripts that occur in the simulator (enum.py of the metadata
// server, SCRIPT_STATUS). Aborted scripts do not count.
const (
	ScriptsUnknown = -1
	ScriptsPending = 0
	ScriptsPassed  = 2
	ScriptsFailed  = 3
)

// commissioningScripts are the built-in scripts that MAAS runs on each machine
// (metadataserver/builtin_scripts).
var commissioningScripts = []string{
	"20-maas-01-install-lldpd", "20-maas-02-dhcp-unconfigured-ifaces", "20-maas-03-machine-resources",
	"30-maas-01-bmc-config", "40-maas-01-machine-config-hints", "50-maas-01-commissioning", "maas-capture-lldpd",
	"maas-get-fruid-api-data", "maas-kernel-cmdline", "maas-list-modaliases", "maas-lshw", "maas-serial-ports", "maas-support-info",
}

// diskTestScript is the test that MAAS runs on each disk unless the caller names others.
const diskTestScript = "smartctl-validate"

// BeginScripts gives a machine a set of pending scripts and returns the set's id.
func BeginScripts(w *world.World, m *world.Machine, kind script.Kind) int {
	s := &script.Set{ID: w.NextID("scriptset"), Kind: kind}
	addScripts(w, m, s)
	m.Scripts = script.AddSet(m.Scripts, s, time.Now())
	return s.ID
}

// addScripts fills a set. While MAAS knows no disks, one test represents all of them.
func addScripts(w *world.World, m *world.Machine, s *script.Set) {
	add := func(name, disk string) { s.Add(w.NextID("scriptresult"), name, disk, time.Now()) }
	switch s.Kind {
	case script.Commissioning:
		for _, name := range commissioningScripts {
			add(name, "")
		}
	case script.Installation:
		add(script.InstallLog, "")
	case script.Testing:
		for _, d := range m.Storage.Disks {
			add(diskTestScript, d.Name)
		}
		if len(s.Results) == 0 {
			add(diskTestScript, "")
		}
	case script.Release:
	}
}

// endScripts ends the scripts of a set that have not ended yet.
func endScripts(m *world.Machine, set int, as script.Status) {
	if s := script.FindSet(m.Scripts, set); s != nil {
		s.End(as, time.Now())
	}
}

// passScripts records that each commissioning script passed.
func passScripts(m *world.Machine) {
	m.CommissioningStatus = ScriptsPassed
	endScripts(m, m.CommissioningSet, script.StatusPassed)
	for _, name := range commissioningScripts {
		noteScript(m, name, "Passed")
	}
}

// passTests records that the disk tests passed. MAAS runs no other tests unless the caller
// names them.
func passTests(m *world.Machine) {
	m.TestingStatus = ScriptsPassed
	if s := script.FindSet(m.Scripts, m.TestingSet); s != nil { // the disks that were found meanwhile
		s.Results = nil
		addScripts(m.World, m, s)
		s.End(script.StatusPassed, time.Now())
	}
	for _, d := range slices.Backward(m.Storage.Disks) {
		noteScript(m, diskTestScript+" on "+d.Name, "Passed")
	}
}

// NoteInventory records the scripts whose results MAAS takes from an LXD for its host
// machine (models/bmc.py, sync).
func NoteInventory(m *world.Machine) {
	for _, name := range []string{"20-maas-03-machine-resources", "50-maas-01-commissioning"} {
		m.AddEvent("DEBUG", "Script result", name+" changed status from 'Running' to 'Passed'", "")
	}
}

func noteScript(m *world.Machine, name, status string) {
	m.AddEvent("DEBUG", "Script result", name+" changed status from 'Pending' to '"+status+"'", "")
}

// AbortScripts aborts the scripts that have not run yet (models/node.py,
// _abort_all_tests).
func AbortScripts(m *world.Machine) { endPendingScripts(m, ScriptsUnknown) }

// endPendingScripts ends the scripts that have not run yet.
func endPendingScripts(m *world.Machine, status int) {
	for _, set := range []*int{&m.CommissioningStatus, &m.TestingStatus} {
		if *set == ScriptsPending {
			*set = status
		}
	}
	as := script.StatusAborted
	if status == ScriptsFailed {
		as = script.StatusFailed
	}
	for _, set := range []int{m.CommissioningSet, m.TestingSet, m.InstallationSet} {
		endScripts(m, set, as)
	}
}

// StartTests starts tests without commissioning the machine (models/node.py,
// start_testing).
func StartTests(w *world.World, m *world.Machine, u *world.User) {
	m.AddRequestEvent(u, "User starting node testing", "start testing", "")
	m.AddStatusEvent("Testing", "")
	m.TestingSet, m.TestingStatus = BeginScripts(w, m, script.Testing), ScriptsPending
	setStatus(m, world.StatusTesting)
	if m.Owner == nil {
		m.Owner = u
	}
	m.Transition.Cancel()
	m.Transition = w.StartJob(w.Latency.Commission/5, func() {
		EndPower(m, "on")
		passTests(m)
		after := statusAfterTests(m)
		switch after {
		case world.StatusReady:
			m.AddStatusEvent("Ready", "")
		case world.StatusNew:
			m.AddStatusEvent("New", "")
		}
		setStatus(m, after)
	})
}

// readyAfterTests are the statuses from which passed tests lead to Ready (node_status.py,
// NODE_TESTING_RESET_READY_TRANSITIONS).
var readyAfterTests = []world.Status{
	world.StatusNew, world.StatusCommissioning, world.StatusFailedDeployment, world.StatusMissing, world.StatusRetired,
	world.StatusBroken, world.StatusFailedReleasing, world.StatusFailedDiskErasing, world.StatusFailedEnteringRescueMode,
	world.StatusFailedExitingRescueMode, world.StatusFailedTesting,
}

// statusAfterTests is the status after passed tests (metadataserver/api.py,
// _process_testing).
func statusAfterTests(m *world.Machine) world.Status {
	switch {
	case world.IsStatusIn(m.PreviousStatus, readyAfterTests...):
		return world.StatusReady
	case m.PreviousStatus == world.StatusFailedCommissioning:
		return world.StatusNew
	}
	return m.PreviousStatus
}
