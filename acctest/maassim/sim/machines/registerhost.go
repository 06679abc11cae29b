package machines

import (
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/hosts"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lifecycle"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// prepareVMHost makes the machine a VM host at the end of its deployment, if the call asks
// for it. MAAS's vendor data sets up LXD (metadataserver/vendor_data.py,
// generate_kvm_pod_configuration). MAAS puts a bridge on each NIC for it (models/node.py,
// _create_acquired_bridges).
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

// bridgeVMHost puts MAAS's bridges of either kind on a machine that becomes a VM host,
// unless the call did so already.
func bridgeVMHost(c *request.Call, m *world.Machine) {
	if (m.RegisterHost != nil || rest.ReadBool(c.Field("install_kvm"))) && !rest.ReadBool(c.Field("bridge_all")) {
		lifecycle.BridgeAll(m, bridgeParams(c))
	}
}
