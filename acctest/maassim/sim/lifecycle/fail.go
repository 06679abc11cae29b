package lifecycle

import (
	"cmp"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/script"
)

// failedStatus is where a status leads to that ends badly (node_status.py,
// NODE_FAILURE_STATUS_TRANSITIONS).
var failedStatus = map[world.Status]world.Status{
	world.StatusCommissioning: world.StatusFailedCommissioning, world.StatusTesting: world.StatusFailedTesting,
	world.StatusDeploying: world.StatusFailedDeployment, world.StatusReleasing: world.StatusFailedReleasing,
	world.StatusDiskErasing: world.StatusFailedDiskErasing, world.StatusEnteringRescueMode: world.StatusFailedEnteringRescueMode,
	world.StatusExitingRescueMode: world.StatusFailedExitingRescueMode,
}

// failureMessages are MAAS's words where the machine itself reports that it failed
// (metadataserver/api.py).
var failureMessages = map[world.Status]string{
	world.StatusDeploying:          "Installation failed (refer to the installation log for more information).",
	world.StatusDiskErasing:        "Failed to erase disks.",
	world.StatusEnteringRescueMode: "Failed to enter rescue mode.",
	world.StatusReleasing:          "Node operation 'Releasing' timed out after 5 minutes.",
	world.StatusExitingRescueMode:  "Node operation 'Exiting rescue mode' timed out after 5 minutes.",
}

// FailTransition ends the transition that is under way badly, as the machine itself would
// report it. The scripts of a commissioning, and tests, have no other message
// than that they failed: what they say is in their output.
func FailTransition(m *world.Machine, message string) bool {
	return FailScript(m, message, script.Failure{Output: message})
}

// FailScript is Fail with the script that fails, and what it says. Without a name it is
// one that MAAS brings along.
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

// failScriptIn makes a script of a set fail; usual is the one that does where none is named.
func failScriptIn(m *world.Machine, set int, usual string, f script.Failure) {
	s := script.FindSet(m.Scripts, set)
	if s == nil {
		return
	}
	f.Script = cmp.Or(f.Script, usual)
	s.Fail(f, m.World.NextID("scriptresult"), time.Now())
	noteScript(m, f.Script, "Failed")
}

// FailWithoutScript is Fail where the machine says that it failed, and none of its
// scripts did: they are aborted (metadataserver/api.py, signal).
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

// MarkFailed is MAAS's own decision that what is under way has failed
// (models/node.py, mark_failed).
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

// isFailedStatus says whether a status is the bad end of another one.
func isFailedStatus(s world.Status) bool {
	for _, failed := range failedStatus {
		if s == failed {
			return true
		}
	}
	return false
}
