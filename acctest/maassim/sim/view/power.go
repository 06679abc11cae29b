package view

import (
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// PowerParameters are the power parameters with all credentials, because administrators
// may see them.
func PowerParameters(m *world.Machine) rest.Object {
	p := rest.Object{}
	for name, value := range m.PowerParams {
		p[name] = value
	}
	if m.BMC != nil {
		for name, value := range BMCParameters(m.BMC) {
			p[name] = value
		}
		p["instance_name"] = m.Instance
	}
	return p
}

// BMCParameters are the power parameters of type lxd.
func BMCParameters(b *world.BMC) rest.Object {
	p := rest.Object{"power_address": b.Address, "project": b.Project, "certificate": b.Certificate, "key": b.Key}
	if b.HasPassword {
		p["password"] = b.Password
	}
	return p
}
