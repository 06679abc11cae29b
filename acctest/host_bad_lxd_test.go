package acctest_test

import (
	"fmt"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// withLXDOfVersion adds a running LXD of a version, which the test can reach.
func withLXDOfVersion(version string) func(*sim.Model) {
	return func(m *sim.Model) {
		listenOnLoopback(m)
		m.Hosts[0].LXDVersion = version
	}
}

// TestAccHostBadLXD: running LXDs that cannot be registered in their state.
// MAAS never learns of them.
func TestAccHostBadLXD(t *testing.T) {
	t.Parallel()
	trusting := func(t *testing.T, x *metalTarget) { x.makeLXDTrustNewKey(t, "stray") }
	here := vmHost("kvm", fmt.Sprintf("address = %q", strayAddress))
	testRefusedHosts(t, map[string]badHost{
		"ProjectInUse": {
			reason: "The provider cannot reach the LXD, and so cannot see whether its project has VMs.", before: func(t *testing.T, x *metalTarget) { x.makeLXDTrustNewKey(t, "stray") },
			body: vmHost("kvm", `address = "10.200.0.9"`), want: `cannot check whether project "maas" holds VMs adopt_existing_vms`,
		},
		"RegisteredAlready": {
			reason: "A machine can be only one VM host of this program.",
			before: func(t *testing.T, x *metalTarget) {
				x.makeLXDTrustNewKey(t, "stray")
				w := newWorkspace(t, x.config(vmHost("first", `address = "10.200.0.9"`, `adopt_existing_vms = true`)))
				w.run(t, "apply", "-auto-approve", "-no-color")
			},
			body: vmHost("second", `address = "10.200.0.9"`, `adopt_existing_vms = true`), at: "address", want: `address: the LXD of runs on machine first whose VM host belongs to vm-hosts/first import it: terraform import ADDRESS`,
		},
		"ProjectHoldsVMs": {
			reason: "MAAS would adopt the existing VMs and power-cycle them.", world: withLXDOfVersion("5.21.3"), probe: "direct",
			before: func(t *testing.T, x *metalTarget) {
				trusting(t, x)
				if err := x.simulatorOrSkip().AddInstance(sim.Instance{Host: "stray", Name: "precious"}); err != nil {
					t.Fatal(err)
				}
			},
			body: here, want: `project "maas" of the LXD at holds instances already: precious. delete them or move them composer = "lxd" set adopt_existing_vms`,
		},
		"TooOld": {
			reason: "This LXD lacks features that MAAS needs to make VMs.", world: withLXDOfVersion("4.0.9"), probe: "direct", before: trusting,
			body: here, at: "address", want: `LXD 4.0.9 at is too old Install LXD 5.0 or newer on the host`,
		},
		"Untrusted": {
			reason: "Only the operator of the LXD can make it trust our certificate.", world: withLXDOfVersion("5.21.3"), probe: "direct",
			body: here, at: "address", want: `the LXD at does not trust the client certificate lxc config trust add`,
		},
	})
}

// TestAccVMOnLXDTooNew: MAAS is not asked to make a VM where it cannot, and
// placement skips such a host.
func TestAccVMOnLXDTooNew(t *testing.T) {
	t.Parallel()
	x := &metalTarget{target: newSimulatedTarget(t, func(m *sim.Model) { m.Hosts[0].LXDVersion = "6.7" }), folder: t.TempDir()}
	w := newWorkspace(t, x.config(x.vm("web")))
	w.wantRefusedCreate(t, x, "vm_host", `vm_host: VM host lxd1: MAAS cannot make VMs on LXD 6.7 Choose another VM host, or install LXD from 5.21/stable`)
	w.configure(t, x.config("resource \"maaslxd_vm\" \"test\" {\n  name = \"web\"\n  placement = {}\n}\n"))
	w.run(t, "apply", "-auto-approve", "-no-color")
	if i := x.instances(); len(i) != 1 || i[0].Host != "lxd2" {
		t.Errorf("want one VM on lxd2, got %+v", i)
	}
	w.configure(t, x.config("resource \"maaslxd_vm\" \"test\" {\n  name = \"web\"\n  placement = { zone = \"az1\" }\n}\n"))
	w.run(t, "destroy", "-auto-approve", "-no-color")
	w.wantRefusedCreate(t, x, "", `no VM host fits web unusable lxd1 MAAS cannot make VMs on LXD 6.7`)
}
