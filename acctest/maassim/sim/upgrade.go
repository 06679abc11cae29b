package sim

import "errors"

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
func (s *Sim) Upgrade() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.world.gone {
		return errors.New("this MAAS has no VM hosts any more")
	}
	s.world.dropVMHosts()
	return nil
}

// dropVMHosts is the upgrade.
func (w *world) dropVMHosts() {
	w.gone, w.model.MAASVersion = true, VersionGone
	for id, h := range w.hosts {
		h.inventory.cancel()
		h.bmc.host = nil
		delete(w.hosts, id)
	}
	for _, m := range w.machines {
		m.vmID = 0
		for _, d := range m.disks {
			d.storagePool = ""
		}
	}
	w.nextSync.cancel()
}
