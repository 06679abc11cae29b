package hosts

import (
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/driver"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// DeployedProject is the LXD project of a VM host that MAAS deployed itself.
const DeployedProject = "maas"

// RegisterDeployedHost makes a machine's LXD a VM host with the machine's name, zone and
// pool. It is the last step of a deployment that asked for one
// (metadataserver/api_twisted.py, _create_vmhost_for_deployment). It returns false where
// MAAS cannot do so.
func RegisterDeployedHost(m *world.Machine, certificate, key string) bool {
	w, addresses := m.World, m.Addresses()
	if len(addresses) == 0 {
		return false
	}
	b := &world.BMC{Address: addresses[0], Project: DeployedProject, Certificate: certificate, Key: key}
	for _, h := range w.Hosts {
		if h.Name == m.Hostname {
			return false
		}
	}
	if w.BMCs[b.RowKey()] != nil {
		return false
	}
	l, problem := driver.ReachLXD(w, b, "")
	if problem != "" {
		return false
	}
	h := NewVMHost(w, m.Hostname, b)
	h.Zone, h.Pool = m.Zone, m.Pool
	DiscoverHost(w, h, l)
	syncInstances(w, h, l, l.ListedInstances(b.Project))
	FindHostMachine(w, h, l)
	startInventory(h, l)
	return true
}
