package hosts

import (
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/driver"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// DeployedProject is the LXD project of the VM hosts that MAAS deploys itself.
const DeployedProject = "maas"

// RegisterDeployed makes a machine's LXD a VM host, as the last step of a deployment
// that asked for one (metadataserver/api_twisted.py, _create_vmhost_for_deployment):
// with the machine's name, zone and pool. It is false where MAAS cannot do so.
func RegisterDeployed(m *world.Machine, certificate, key string) bool {
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
	if w.BMCs[b.ID()] != nil {
		return false
	}
	l, problem := driver.Reach(w, b, "")
	if problem != "" {
		return false
	}
	h := NewHost(w, m.Hostname, b)
	h.Zone, h.Pool = m.Zone, m.Pool
	Discover(w, h, l)
	syncInstances(w, h, l, l.Listed(b.Project))
	FindHost(w, h, l)
	startInventory(h, l)
	return true
}
