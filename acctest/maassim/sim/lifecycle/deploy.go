package lifecycle

import (
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/script"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/storage"
)

// AcquireMachine allocates a machine to a user (models/node.py, acquire). From then on its
// file systems are copies, which a release removes.
func AcquireMachine(m *world.Machine, u *world.User, agentName, comment string) {
	m.AddRequestEvent(u, "User acquiring node", "acquire", comment)
	storage.AcquireFilesystems(&m.Storage)
	m.Owner, m.AgentName = u, agentName
	setStatus(m, world.StatusAllocated)
}

// DeployMachine starts a checked deployment of an Allocated machine.
func DeployMachine(w *world.World, m *world.Machine, u *world.User, comment string) {
	m.AddRequestEvent(u, "User starting deployment", "start", comment)
	setStatus(m, world.StatusDeploying)
	if !m.Ephemeral {
		m.InstallationSet = BeginScripts(w, m, script.Installation)
	}
	m.AddStatusEvent("Deploying", "")
	m.Transition.Cancel()
	if m.FirstBoot == world.BootReal && m.BMC == nil {
		return // it goes on when the machine asks for its user-data
	}
	m.Transition = w.StartJob(w.Latency.Deploy, func() { PassDeployment(m) })
}

// PassDeployment ends a deployment with success (models/node.py, end_deployment).
func PassDeployment(m *world.Machine) {
	EndPower(m, "on")
	if !m.Ephemeral {
		m.AddEvent("DEBUG", "Node installation", "'curtin' curtin command install", "cmd-install")
		m.AddEvent("DEBUG", "Script result", "/tmp/install.log changed status from 'Pending' to 'Running'", "")
	}
	m.Netboot = m.Ephemeral
	m.SwapOn = hasSwap(m)
	if m.RegisterHost != nil {
		startVMHostBoot(m)
		return
	}
	finishDeployment(m)
	StartFirstBoot(m)
}

// SetHardwareSync sets whether an agent on the machine reports its hardware to MAAS, and
// how often (models/node.py, Node.save). An existing interval stays.
func SetHardwareSync(m *world.Machine, on bool) {
	if m.HardwareSync = on; !on || m.SyncInterval > 0 {
		return
	}
	interval, _ := m.World.Site.Settings["hardware_sync_interval"].(string)
	every, err := time.ParseDuration(interval)
	if err != nil {
		every = 15 * time.Minute // MAAS's default
	}
	m.SyncInterval = int(every.Seconds())
}

// finishDeployment makes the machine Deployed.
func finishDeployment(m *world.Machine) {
	endScripts(m, m.InstallationSet, script.StatusPassed)
	m.AddStatusEvent("Image Deployed", "deployed "+m.Osystem+"/"+m.Series+"/"+m.Architecture)
	m.World.LastDeployed[m.Osystem+"/"+m.Series] = time.Now()
	setStatus(m, world.StatusDeployed)
	if m.HardwareSync {
		m.LastSync = time.Now()
	}
	m.AddStatusEvent("Deployed", "")
}
