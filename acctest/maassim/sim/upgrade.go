package sim

import (
	"errors"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// Upgrade turns a MAAS with VM hosts into one without them while clients run, as the
// upgrade to such a version does. It deletes from MAAS's database (alembic migrations 0036
// to 0038):
//
//   - the VM hosts with their over-commit ratios, zones, pools, tags, default storage
//     pools, macvlan modes, inventories, and links to their machines;
//   - the links from machines to their VMs and from disks to storage pools;
//   - the requests to make a machine a VM host.
//
// Machines keep their owner data and tags. VMs keep power type lxd and its parameters,
// which VMs of one former VM host still share. The machines of VM hosts stay Deployed.
// Nothing changes in LXD. Calls on a VM host that are under way find it deleted.
func (o *operator) Upgrade() error {
	o.keeper.Lock()
	defer o.keeper.Unlock()
	if o.world.VMHostsRemoved {
		return errors.New("this MAAS has no VM hosts any more")
	}
	dropVMHosts(o.world)
	return nil
}

// dropVMHosts applies the upgrade.
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
