package hosts

import (
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lifecycle"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// deleteVMHost removes the VM host and its machines from MAAS. It removes the instances
// only with decompose=true in the query, and only if it can reach LXD.
func deleteVMHost(c *request.Call, h *world.VMHost) rest.Reply {
	decompose := rest.ReadBool(c.Query.Get("decompose"))
	for _, m := range h.VMs() {
		if decompose {
			lifecycle.RemoveVM(c.World, m)
		} else {
			m.Forget()
		}
	}
	RemoveVMHost(c.World, h)
	return rest.DeletedReply()
}

// RemoveVMHost deletes a VM host. Other VM hosts on the same server lose their machine
// until the next refresh.
//
// It also deletes the host's machine if MAAS made that for the VM host, and with it the
// records of all VMs there. That machine is their parent, and the database deletes
// children with their parent (models/bmc.py, create_machine: parent=self.host). The
// instances stay. A host machine that MAAS knew before stays, too.
func RemoveVMHost(w *world.World, h *world.VMHost) {
	h.Inventory.Cancel()
	delete(w.Hosts, h.ID)
	delete(w.BMCs, h.BMC.RowKey())
	h.BMC.Host = nil
	m := h.Machine
	if m == nil || m.PowerType != "" {
		return
	}
	for _, other := range w.Hosts {
		if other.Machine == m {
			for _, vm := range other.VMs() {
				vm.Forget()
			}
		}
	}
	m.Forget()
}
