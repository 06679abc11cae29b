package lifecycle

import (
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// VMHostVendorData is the cloud-config that MAAS gives to a machine that becomes a VM
// host: LXD from the snap, MAAS's project, and trust for MAAS's certificate
// (metadataserver/vendor_data.py, generate_kvm_pod_configuration).
func VMHostVendorData(certificate string) []byte {
	return []byte(strings.Join([]string{
		"#cloud-config",
		"write_files:",
		"- path: /root/lxd.crt",
		"  content: " + strconv.Quote(certificate),
		"runcmd:",
		"- snap install lxd --channel=5.21/stable",
		"- snap refresh lxd --channel=5.21/stable",
		"- lxd init --auto --network-address=[::]",
		"- lxc project create maas",
		"- lxc config trust add /root/lxd.crt --restricted --projects maas",
		"- rm /root/lxd.crt",
		"",
	}, "\n"))
}

// startVMHostBoot starts the first boot of a machine that becomes a VM host. The machine
// is Deploying until the boot ends, also if the boot fails or never ends.
func startVMHostBoot(m *world.Machine) {
	removeLXD(m)
	if m.BootNeverEnds = m.FirstBoot == world.BootNever; m.BootNeverEnds {
		return
	}
	m.Transition = m.StartBoot(func() {
		if !passFirstBoot(m) {
			return
		}
		if !m.RegisterHost() {
			FailTransition(m, "Internal error while creating VM host. (See regiond.log for details.)")
			return
		}
		finishDeployment(m)
	})
}
