package lifecycle

import (
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/storage"
)

// IsReleasable tells whether a machine can be released (models/node.py,
// RELEASABLE_STATUSES).
func IsReleasable(m *world.Machine) bool {
	return world.IsStatusIn(m.Status,
		world.StatusAllocated, world.StatusReserved, world.StatusBroken, world.StatusDeploying, world.StatusDeployed,
		world.StatusFailedDeployment, world.StatusFailedDiskErasing, world.StatusFailedReleasing)
}

// ReleaseMachine starts a release (models/node.py, _release). It completes at once if the
// machine is off, or if MAAS cannot query its power. Otherwise the machine keeps its owner
// and addresses until it is off. The caller starts the power action.
func ReleaseMachine(w *world.World, m *world.Machine) {
	setStatus(m, world.StatusReleasing)
	ClearDeployment(m)
	m.AgentName = ""
	storage.ReleaseFilesystems(&m.Storage)
	removeLXD(m)
	m.AddStatusEvent("Releasing", "")
	m.Transition.Cancel()
	if m.PowerState == "off" || m.PowerType == "manual" && !m.Monitored {
		finalizeRelease(m)
		return
	}
	m.Transition = w.StartJob(w.Latency.Release, func() { passRelease(m) })
}

// ClearDeployment removes the record of the installed system.
func ClearDeployment(m *world.Machine) {
	m.Osystem, m.Series, m.Kernel, m.UserData = "", "", "", nil
	m.Netboot, m.Ephemeral, m.InstallationSet = true, false, 0
	m.HardwareSync, m.SyncInterval, m.LastSync = false, 0, time.Time{}
	m.BootJob.Cancel()
	m.BootNeverEnds = false
}

// passRelease ends a release that waited for the power.
func passRelease(m *world.Machine) {
	EndPower(m, "off")
	finalizeRelease(m)
}

// finalizeRelease makes the machine Ready, or New if it never passed commissioning. It
// deletes a VM that allocate composed (models/node.py, _finalize_release).
func finalizeRelease(m *world.Machine) {
	removeAcquiredBridges(m)
	m.ReleaseAddresses()
	if m.Dynamic {
		RemoveVM(m.World, m)
		return
	}
	after := world.StatusNew
	if m.Commissioned && m.CommissioningStatus == ScriptsPassed {
		after = world.StatusReady
	}
	setStatus(m, after)
	m.AddStatusEvent("Released", "")
	m.OwnerData = nil
}
