package hosts

import (
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lifecycle"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// deleteVMHost removes the record and those of its machines. The instances go
// only with decompose=true in the query, and only where LXD can be reached.
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

// RemoveVMHost deletes a VM host, and the machine that MAAS made for it; other
// VM hosts of that server lose it until they are refreshed. What MAAS knows of their
// VMs goes as well: that machine is the parent of all of them, and the database
// deletes children with it (models/bmc.py, create_machine: parent=self.host). The
// instances stay. A machine that MAAS knew before stays.
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
