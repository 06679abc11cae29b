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

// failures are MAAS's words where the machine itself reports that it failed
// (metadataserver/api.py).
var failures = map[world.Status]string{
	world.StatusDeploying:          "Installation failed (refer to the installation log for more information).",
	world.StatusDiskErasing:        "Failed to erase disks.",
	world.StatusEnteringRescueMode: "Failed to enter rescue mode.",
	world.StatusReleasing:          "Node operation 'Releasing' timed out after 5 minutes.",
	world.StatusExitingRescueMode:  "Node operation 'Exiting rescue mode' timed out after 5 minutes.",
}

// Fail ends the transition that is under way badly, as the machine itself would
// report it. The scripts of a commissioning, and tests, have no other message
// than that they failed: what they say is in their output.
func Fail(m *world.Machine, message string) bool {
	return FailScript(m, message, script.Failure{Output: message})
}

// FailScript is Fail with the script that fails, and what it says. Without a name it is
// one that MAAS brings along.
func FailScript(m *world.Machine, message string, f script.Failure) bool {
	switch m.Status {
	case world.StatusCommissioning:
		m.CommissioningStatus = ScriptsFailed
		failIn(m, m.Commissioning, "50-maas-01-commissioning", f)
		m.Log("Failed commissioning", "")
	case world.StatusTesting:
		m.TestingStatus = ScriptsFailed
		failIn(m, m.Testing, diskTest, f)
		m.Log("Failed testing", "")
	default:
		if m.Status == world.StatusDeploying {
			failIn(m, m.Installing, script.InstallLog, f)
		}
		return MarkFailed(m, cmp.Or(strings.TrimSpace(message), failures[m.Status]))
	}
	endPending(m, ScriptsUnknown)
	m.Progress.Cancel()
	setStatus(m, failedStatus[m.Status])
	return true
}

// failIn makes a script of a set fail; usual is the one that does where none is named.
func failIn(m *world.Machine, set int, usual string, f script.Failure) {
	s := script.Find(m.Scripts, set)
	if s == nil {
		return
	}
	f.Script = cmp.Or(f.Script, usual)
	s.Fail(f, m.World.NextID("scriptresult"), time.Now())
	noteScript(m, f.Script, "Failed")
}

// FailUnscripted is Fail where the machine says that it failed, and none of its
// scripts did: they are aborted (metadataserver/api.py, signal).
func FailUnscripted(m *world.Machine) bool {
	if m.Status != world.StatusCommissioning {
		return false
	}
	endScripts(m, m.Commissioning, script.Aborted)
	m.Log("Failed commissioning", "")
	endPending(m, ScriptsUnknown)
	m.Progress.Cancel()
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
	m.Note("ERROR", "Marking node failed", why, "mark_failed")
	endPending(m, ScriptsFailed)
	m.Progress.Cancel()
	setStatus(m, failed)
	return true
}

// hasFailed says whether a status is the bad end of another one.
func hasFailed(s world.Status) bool {
	for _, failed := range failedStatus {
		if s == failed {
			return true
		}
	}
	return false
}
