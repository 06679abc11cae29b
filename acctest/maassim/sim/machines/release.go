package machines

import (
	"fmt"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/hosts"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lifecycle"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

func releaseMachine(c *request.Call, m *world.Machine) rest.Reply {
	w := c.World
	if names := HostedBy(m); names != "" && !rest.Truth(c.Field("force")) {
		return rest.BadText("The following VM hosts must be removed first: " + names)
	}
	if removeHosted(w, m); w.Machines[m.SystemID] != m {
		return machineReply(m) // MAAS had made it for the VM host
	}
	switch {
	case world.OneOf(m.Status, world.StatusReady, world.StatusReleasing):
		return machineReply(m)
	case !lifecycle.IsReleasable(m):
		return rest.Conflict(fmt.Sprintf("Machine cannot be released in its current state ('%s').", m.Status))
	}
	if rest.Truth(c.Field("erase")) && m.Status == world.StatusDeployed {
		return eraseDisks(w, m)
	}
	if lifecycle.PowerBusy(m, "off") {
		return lifecycle.BusyReply(m, "off")
	}
	lifecycle.Release(w, m)
	rep := machineReply(m)
	if m.PowerState == "off" {
		m.Progress.Finish()
	} else {
		lifecycle.Power(w, m, "off")
	}
	return rep
}

// removeHosted is what force=true does before a release: the VM hosts on the
// machine go with every machine on them (api/machines.py, release). Their
// instances are left to what happens to the host.
func removeHosted(w *world.World, m *world.Machine) {
	for _, h := range world.SortedHosts(w.Hosts) {
		if h.Machine != m {
			continue
		}
		for _, vm := range h.VMs() {
			vm.Forget()
		}
		hosts.RemoveHost(w, h)
	}
}

// eraseDisks boots the machine to wipe its disks; the release follows.
func eraseDisks(w *world.World, m *world.Machine) rest.Reply {
	if lifecycle.PowerBusy(m, "cycle") {
		return lifecycle.BusyReply(m, "cycle")
	}
	m.Previous, m.Status = m.Status, world.StatusDiskErasing
	rep := machineReply(m)
	m.Progress.Cancel()
	m.Progress = w.Later(w.Latency.Release, func() {
		lifecycle.EndPower(m, "on")
		lifecycle.Release(w, m)
		lifecycle.Power(w, m, "off")
	})
	lifecycle.Power(w, m, wakeAction(m))
	return rep
}
