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

// refreshVMHost lists the instances and makes the machines agree with them.
// Listing and sync see one moment, because MAAS repeats both on a conflict.
func refreshVMHost(c *request.Call, h *world.VMHost) rest.Reply {
	w := c.World
	if w.Rack != world.OK {
		return rest.Unavailable("Unable to start the VM host discovery process. No rack controllers connected.")
	}
	l, problem := driver.Reach(w, h.BMC, fmt.Sprintf("VM Host %d: ", h.ID))
	if problem != "" {
		return rest.Unavailable("Failed talking to pod: " + problem)
	}
	w.Sleep(w.Latency.Refresh)
	if w.Hosts[h.ID] != h {
		return rest.NoObject("Pod")
	}
	Discover(w, h, l)
	if unknown := unknownInstances(w, h, l); len(unknown) > 0 && len(w.Images) == 0 {
		return rest.BadText(NoCommissioningImage(w))
	}
	syncInstances(w, h, l, l.Listed(h.BMC.Project))
	FindHost(w, h, l)
	startInventory(h, l)
	return rest.OK(view.VMHost(h))
}

// unknownInstances are those that a sync would adopt.
func unknownInstances(w *world.World, h *world.VMHost, l *world.LXD) []*world.Instance {
	return slices.DeleteFunc(l.Listed(h.BMC.Project), func(i *world.Instance) bool {
		for _, m := range w.Machines {
			if m.Has(i) {
				return true
			}
		}
		return false
	})
}

// NoCommissioningImage is MAAS's sentence when nothing can be booted.
func NoCommissioningImage(w *world.World) string {
	return "Ephemeral operating system ubuntu " + w.DefaultSeries() + " is unavailable."
}
