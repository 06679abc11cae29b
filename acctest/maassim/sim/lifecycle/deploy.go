package lifecycle

import (
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/script"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/storage"
)

// AcquireMachine gives a machine to a user (models/node.py, acquire). From then on the
// file systems that it shows are copies, which a release removes.
func AcquireMachine(m *world.Machine, u *world.User, agentName, comment string) {
	m.AddRequestEvent(u, "User acquiring node", "acquire", comment)
	storage.AcquireFilesystems(&m.Storage)
	m.Owner, m.AgentName = u, agentName
	setStatus(m, world.StatusAllocated)
}

// DeployMachine starts a deployment that was checked, of a machine that is Allocated.
func DeployMachine(w *world.World, m *world.Machine, u *world.User, comment string) {
	m.AddRequestEvent(u, "User starting deployment", "start", comment)
	setStatus(m, world.StatusDeploying)
	if !m.Ephemeral {
		m.InstallationSet = BeginScripts(w, m, script.Installation)
	}
	m.AddStatusEvent("Deploying", "")
	m.Transition.Cancel()
	if m.FirstBoot == world.BootReal && m.BMC == nil {
		return // until it asks for its user-data
	}
	m.Transition = w.StartJob(w.Latency.Deploy, func() { PassDeployment(m) })
}

// PassDeployment is the good end of a deployment (models/node.py,
// end_deployment).
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

// SetHardwareSync says whether an agent on the machine tells MAAS of its hardware, and how
// often (models/node.py, Node.save). The interval stays where there is one.
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

// finishDeployment calls a machine deployed.
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
