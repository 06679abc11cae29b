package lifecycle

import (
	"cmp"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/script"
)

// failedStatus is the status after a failed transition (node_status.py,
// NODE_FAILURE_STATUS_TRANSITIONS).
var failedStatus = map[world.Status]world.Status{
	world.StatusCommissioning: world.StatusFailedCommissioning, world.StatusTesting: world.StatusFailedTesting,
	world.StatusDeploying: world.StatusFailedDeployment, world.StatusReleasing: world.StatusFailedReleasing,
	world.StatusDiskErasing: world.StatusFailedDiskErasing, world.StatusEnteringRescueMode: world.StatusFailedEnteringRescueMode,
	world.StatusExitingRescueMode: world.StatusFailedExitingRescueMode,
}

// failureMessages are MAAS's messages where the machine itself reports a failure
// (metadataserver/api.py).
var failureMessages = map[world.Status]string{
	world.StatusDeploying:          "Installation failed (refer to the installation log for more information).",
	world.StatusDiskErasing:        "Failed to erase disks.",
	world.StatusEnteringRescueMode: "Failed to enter rescue mode.",
	world.StatusReleasing:          "Node operation 'Releasing' timed out after 5 minutes.",
	world.StatusExitingRescueMode:  "Node operation 'Exiting rescue mode' timed out after 5 minutes.",
}

// FailTransition makes the current transition fail, as if the machine reported it. Failed
// commissioning scripts and tests have no message of their own: their messages are in
// their output.
func FailTransition(m *world.Machine, message string) bool {
	return FailScript(m, message, script.Failure{Output: message})
}

// FailScript is FailTransition with the script that fails and its output. Without a name,
// one of MAAS's built-in scripts fails.
func FailScript(m *world.Machine, message string, f script.Failure) bool {
	switch m.Status {
	case world.StatusCommissioning:
		m.CommissioningStatus = ScriptsFailed
		failScriptIn(m, m.CommissioningSet, "50-maas-01-commissioning", f)
		m.AddStatusEvent("Failed commissioning", "")
	case world.StatusTesting:
		m.TestingStatus = ScriptsFailed
		failScriptIn(m, m.TestingSet, diskTestScript, f)
		m.AddStatusEvent("Failed testing", "")
	default:
		if m.Status == world.StatusDeploying {
			failScriptIn(m, m.InstallationSet, script.InstallLog, f)
		}
		return MarkFailed(m, cmp.Or(strings.TrimSpace(message), failureMessages[m.Status]))
	}
	endPendingScripts(m, ScriptsUnknown)
	m.Transition.Cancel()
	setStatus(m, failedStatus[m.Status])
	return true
}

// failScriptIn makes a script of a set fail. usual is the script that fails if none is
// named.
func failScriptIn(m *world.Machine, set int, usual string, f script.Failure) {
	s := script.FindSet(m.Scripts, set)
	if s == nil {
		return
	}
	f.Script = cmp.Or(f.Script, usual)
	s.Fail(f, m.World.NextID("scriptresult"), time.Now())
	noteScript(m, f.Script, "Failed")
}

// FailWithoutScript is FailTransition where the machine reports a failure and none of its
// scripts failed: MAAS aborts the scripts (metadataserver/api.py, signal).
func FailWithoutScript(m *world.Machine) bool {
	if m.Status != world.StatusCommissioning {
		return false
	}
	endScripts(m, m.CommissioningSet, script.StatusAborted)
	m.AddStatusEvent("Failed commissioning", "")
	endPendingScripts(m, ScriptsUnknown)
	m.Transition.Cancel()
	setStatus(m, world.StatusFailedCommissioning)
	return true
}

// MarkFailed is MAAS's own decision that the current transition failed (models/node.py,
// mark_failed).
func MarkFailed(m *world.Machine, why string) bool {
	failed, passing := failedStatus[m.Status]
	if !passing {
		return false
	}
	m.AddEvent("ERROR", "Marking node failed", why, "mark_failed")
	endPendingScripts(m, ScriptsFailed)
	m.Transition.Cancel()
	setStatus(m, failed)
	return true
}

// isFailedStatus tells whether a status follows a failed transition.
func isFailedStatus(s world.Status) bool {
	for _, failed := range failedStatus {
		if s == failed {
			return true
		}
	}
	return false
}
