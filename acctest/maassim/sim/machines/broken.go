package machines

import (
	"cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lifecycle"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// markBroken is for the machine's owner only, not even for another administrator. It
// releases the machine, which keeps its addresses until it is off.
func markBroken(c *request.Call, m *world.Machine) rest.Reply {
	if m.Owner == nil || m.Owner != c.User {
		return rest.ForbiddenReply()
	}
	m.AddRequestEvent(c.User, "User marking node broken", "mark broken", cmp.Or(c.Field("comment"), c.Field("error_description")))
	was, releases := m.Status, lifecycle.IsReleasable(m)
	if releases {
		if bad := lifecycle.PowerRefusal(c.World, m, "off"); bad != nil && m.PowerState != "off" {
			return *bad
		}
		lifecycle.ReleaseMachine(c.World, m)
	}
	m.Transition.Cancel()
	m.SetStatus(world.StatusBroken)
	m.Owner, m.PreviousStatus = nil, was
	rep := machineReply(m)
	if releases && m.PowerState != "off" {
		lifecycle.RequestPower(m.World, m, "off")
	}
	return rep
}

// markFixed returns a machine to the status that it had before it was broken. But no
// system is installed on it any more.
func markFixed(c *request.Call, m *world.Machine) rest.Reply {
	if m.Status != world.StatusBroken {
		return rest.ConflictReply("Can't mark a non-broken node as 'Ready'.")
	}
	m.AddRequestEvent(c.User, "User marking node fixed", "mark fixed", c.Field("comment"))
	if m.PreviousStatus == world.StatusDeployed {
		m.SetStatus(world.StatusDeployed)
	} else {
		m.SetStatus(world.StatusReady)
	}
	m.Osystem, m.Series, m.Kernel, m.InstallationSet = "", "", "", 0
	return machineReply(m)
}
