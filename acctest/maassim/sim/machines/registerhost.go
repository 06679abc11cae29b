package machines

import (
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/hosts"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lifecycle"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// prepareVMHost has a deployment end as a VM host, if it was asked to: MAAS's vendor
// data sets LXD up (metadataserver/vendor_data.py, generate_kvm_pod_configuration),
// on bridges that MAAS puts on each NIC (models/node.py, _create_acquired_bridges).
func prepareVMHost(c *request.Call, m *world.Machine) *rest.Reply {
	m.HostData, m.RegisterHost = nil, nil
	if !rest.ReadBool(c.Field("register_vmhost")) {
		return nil
	}
	certificate, key, err := hosts.NewCertificatePair("maas")
	if err != nil {
		bad := hosts.InternalErrorReply(err.Error())
		return &bad
	}
	m.HostData = lifecycle.VMHostVendorData(certificate)
	m.RegisterHost = func() bool { return hosts.RegisterDeployedHost(m, certificate, key) }
	return nil
}

// bridgeVMHost puts MAAS's bridges on a machine that becomes a VM host, of one kind or
// the other, unless the call did so.
func bridgeVMHost(c *request.Call, m *world.Machine) {
	if (m.RegisterHost != nil || rest.ReadBool(c.Field("install_kvm"))) && !rest.ReadBool(c.Field("bridge_all")) {
		lifecycle.BridgeAll(m, bridgeParams(c))
	}
}
