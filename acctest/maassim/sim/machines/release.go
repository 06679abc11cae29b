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
	if bad := checkBooleans(c, "erase", "secure_erase", "quick_erase", "force"); bad != nil {
		return *bad
	}
	switch {
	case world.IsStatusIn(m.Status, world.StatusReady, world.StatusReleasing):
		return machineReply(m)
	case !lifecycle.IsReleasable(m):
		return rest.ConflictReply(fmt.Sprintf("Machine cannot be released in its current state ('%s').", m.Status))
	}
	if names := HostedVMHosts(m); names != "" && !rest.ReadBool(c.Field("force")) {
		return hasVMHostsReply(names)
	}
	if removeHosted(w, m); w.Machines[m.SystemID] != m {
		return machineReply(m) // MAAS made it for the VM host
	}
	if rest.ReadBool(c.Field("erase")) {
		return eraseDisks(c, m)
	}
	return startRelease(c, m)
}

// hasVMHostsReply is 400 for a machine on which VM hosts run.
func hasVMHostsReply(names string) rest.Reply {
	return rest.BadTextReply("The following VM hosts must be removed first: " + names)
}

// startRelease releases the machine. If MAAS cannot switch it off, it keeps its status,
// but its record of the installed system is lost.
func startRelease(c *request.Call, m *world.Machine) rest.Reply {
	m.AddRequestEvent(c.User, "User releasing node", "release", c.Field("comment"))
	old := m.Status
	var bad *rest.Reply
	if m.PowerState != "off" {
		bad = lifecycle.PowerRefusal(c.World, m, "off")
	}
	lifecycle.ReleaseMachine(c.World, m)
	if bad != nil {
		m.Transition.Cancel()
		m.SetStatus(old)
		return *bad
	}
	rep := machineReply(m)
	if m.Status == world.StatusReleasing && c.World.Machines[m.SystemID] == m {
		lifecycle.RequestPower(c.World, m, "off")
	}
	return rep
}

// removeHosted applies force=true before a release. It removes the VM hosts on the machine
// with all their machines (models/node.py, maybe_delete_pods). The instances share the
// fate of the host.
func removeHosted(w *world.World, m *world.Machine) {
	for _, h := range world.SortedHosts(w.Hosts) {
		if h.Machine != m {
			continue
		}
		for _, vm := range h.VMs() {
			vm.Forget()
		}
		hosts.RemoveVMHost(w, h)
	}
}

// eraseDisks boots the machine to erase its disks. The release follows (models/node.py,
// start_disk_erasing).
func eraseDisks(c *request.Call, m *world.Machine) rest.Reply {
	w := c.World
	if bad := noEphemeralImageReply(w); bad != nil {
		return *bad
	}
	m.AddRequestEvent(c.User, "User erasing disk", "start disk erasing", c.Field("comment"))
	action := bootAction(m)
	m.SetStatus(world.StatusDiskErasing)
	if bad := lifecycle.PowerRefusal(w, m, action); bad != nil {
		m.SetStatus(world.StatusFailedDiskErasing)
		return *bad
	}
	rep := machineReply(m)
	m.Transition.Cancel()
	m.Transition = w.StartJob(w.Latency.Release, func() {
		lifecycle.EndPower(m, "on")
		m.AddStatusEvent("Disks erased", "")
		m.AddRequestEvent(nil, "User releasing node", "release", "")
		lifecycle.ReleaseMachine(w, m)
		lifecycle.RequestPower(w, m, "off")
	})
	lifecycle.RequestPower(w, m, action)
	return rep
}
