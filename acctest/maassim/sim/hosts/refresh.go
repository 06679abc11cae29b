package hosts

import (
	"fmt"
	"slices"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/driver"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// refreshVMHost lists the instances and makes the machines agree with them. No change can
// come between the two steps, because MAAS repeats both on a conflict.
func refreshVMHost(c *request.Call, h *world.VMHost) rest.Reply {
	w := c.World
	if w.RackCondition != world.ConditionOK {
		return rest.UnavailableReply("Unable to start the VM host discovery process. No rack controllers connected.")
	}
	l, problem := driver.ReachLXD(w, h.BMC, fmt.Sprintf("VM Host %d: ", h.ID))
	if problem != "" {
		return rest.UnavailableReply("Failed talking to pod: " + problem)
	}
	w.Sleep(w.Latency.Refresh)
	if w.Hosts[h.ID] != h {
		return rest.NoObjectReply("Pod")
	}
	DiscoverHost(w, h, l)
	if unknown := adoptableInstances(w, h, l); len(unknown) > 0 && len(w.Images) == 0 {
		return rest.BadTextReply(NoCommissioningImage(w))
	}
	syncInstances(w, h, l, l.ListedInstances(h.BMC.Project))
	FindHostMachine(w, h, l)
	startInventory(h, l)
	return rest.OKReply(view.VMHost(h))
}

// adoptableInstances are the instances that a refresh would adopt.
func adoptableInstances(w *world.World, h *world.VMHost, l *world.LXD) []*world.Instance {
	return slices.DeleteFunc(l.ListedInstances(h.BMC.Project), func(i *world.Instance) bool {
		for _, m := range w.Machines {
			if m.HasInstance(i) {
				return true
			}
		}
		return false
	})
}

// NoCommissioningImage is MAAS's message when it has no image for commissioning.
func NoCommissioningImage(w *world.World) string {
	return "Ephemeral operating system ubuntu " + w.DefaultSeries() + " is unavailable."
}
