package sim

import (
	"errors"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// Upgrade turns a MAAS with VM hosts into one without, while everything runs on:
// what its upgrade to the version does that has removed them. It drops of its
// database (alembic migrations 0036 to 0038):
//
//   - the VM hosts with their over-commit ratios, zones, pools, tags, default
//     storage pools, macvlan modes and inventories, the link to the machine that
//     each runs on among them;
//   - which VM a machine is, and which storage pool its disks lie in;
//   - that a machine was to become a VM host.
//
// Machines stay as they are, with owner data and tags: the VMs with power type
// lxd and its parameters, of which several still share those of the VM host that
// was, and the machines that VM hosts ran on, Deployed. Nothing happens in LXD.
// Calls that are under way on a VM host find it deleted.
func (o *operator) Upgrade() error {
	o.keeper.Lock()
	defer o.keeper.Unlock()
	if o.world.VMHostsRemoved {
		return errors.New("this MAAS has no VM hosts any more")
	}
	dropVMHosts(o.world)
	return nil
}

// dropVMHosts is the upgrade.
func dropVMHosts(w *world.World) {
	w.VMHostsRemoved, w.Version = true, VersionGone
	for id, h := range w.Hosts {
		h.Inventory.Cancel()
		h.BMC.Host = nil
		delete(w.Hosts, id)
	}
	for _, m := range w.Machines {
		m.VMID = 0
		for _, d := range m.Storage.Disks {
			d.StoragePool = ""
		}
	}
	w.NextSync.Cancel()
}
