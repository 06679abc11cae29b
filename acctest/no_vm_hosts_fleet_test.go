package acctest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestAccGoneFleet lets placement choose a VM's host, and lists all objects.
func TestAccGoneFleet(t *testing.T) {
	t.Parallel()
	x := newTargetWithoutVMHosts(t)
	fleet := hostOnNode1(`tags = ["blue"]`) + `
resource "maaslxd_vm" "test" {
  name       = "web"
  placement  = { tags = ["blue"] }
  depends_on = [maaslxd_vm_host.test]
}
data "maaslxd_vms" "all" { depends_on = [maaslxd_vm.test] }
data "maaslxd_vms" "there" {
  filter = { vm_host = maaslxd_vm_host.test.system_id, managed = true, tags = ["blue"] }
  depends_on = [maaslxd_vm.test]
}
data "maaslxd_vm_host" "one" {
  system_id  = maaslxd_vm_host.test.system_id
  depends_on = [maaslxd_vm.test]
}
`
	says := func(address string, value knownvalue.Check, first string, steps ...any) statecheck.StateCheck {
		at := tfjsonpath.New(first)
		for _, step := range steps {
			switch s := step.(type) {
			case int:
				at = at.AtSliceIndex(s)
			case string:
				at = at.AtMapKey(s)
			}
		}
		return statecheck.ExpectKnownValue(address, at, value)
	}
	runStory(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		CheckDestroy:             x.checkNothingLeft("node1"),
		Steps: []resource.TestStep{{
			Config: x.configReachingLXD(fleet),
			ConfigStateChecks: []statecheck.StateCheck{
				says("maaslxd_vm.test", exactText("kvm1"), "vm_host"),
				says("data.maaslxd_vms.all", knownvalue.ListSizeExact(1), "vms"),
				says("data.maaslxd_vms.there", exactText("web"), "vms", 0, "name"),
				says("data.maaslxd_vms.there", exactText("kvm1"), "vms", 0, "vm_host_name"),
				says("data.maaslxd_vms.there", knownvalue.Null(), "vms", 0, "vm_host_id"),
				says("data.maaslxd_vm_host.one", exactText("kvm1"), "name"),
				says("data.maaslxd_vm_host.one", knownvalue.Int64Exact(1), "managed_vm_count"),
				says("data.maaslxd_vm_host.one", knownvalue.Int64Exact(7), "cores", "free"),
				says("data.maaslxd_vm_host.one", knownvalue.SetExact([]knownvalue.Check{exactText("default")}), "profiles"),
			},
		}},
	})
}

// TestAccGoneCertificateNoted: on a host whose LXD certificate is not stored
// yet, the first VM stores it. The plan shows no change for that.
func TestAccGoneCertificateNoted(t *testing.T) {
	t.Parallel()
	x := newTargetWithoutVMHosts(t)
	w := newWorkspace(t, x.config(hostOnNode1()))
	w.run(t, "apply", "-auto-approve", "-no-color")
	const note = "maaslxd-server-fingerprint"
	data := x.findMachine(t, "node1").OwnerData
	noted := data[note]
	delete(data, note)
	x.editMachine(t, "node1", sim.MachineEdit{OwnerData: &data})
	w.configure(t, x.config(hostOnNode1()+vmOnTestHost("web")))
	w.run(t, "apply", "-auto-approve", "-no-color")
	if got := x.findMachine(t, "node1").OwnerData[note]; got == "" || got != noted {
		t.Errorf("noted %q, and %q before", got, noted)
	}
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccGoneForeign does not release a host while its LXD holds another
// owner's instance.
func TestAccGoneForeign(t *testing.T) {
	t.Parallel()
	x := newTargetWithoutVMHosts(t)
	w := newWorkspace(t, x.configReachingLXD(hostOnNode1()))
	w.run(t, "apply", "-auto-approve", "-no-color")
	if err := x.simulatorOrSkip().AddInstance(sim.Instance{Host: "node1", Project: "maas", Name: "precious"}); err != nil {
		t.Fatal(err)
	}
	w.configure(t, x.configReachingLXD(""))
	w.wantRefusedChange(t, x, "", `cannot remove VM host kvm1 of others: precious Delete or move them first`)
	if err := x.simulatorOrSkip().RemoveInstance("node1", "maas", "precious"); err != nil {
		t.Fatal(err)
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	if err := x.checkNothingLeft("node1")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccGoneByAddress makes a running LXD a host, on a machine that MAAS has
// deployed. A destroy leaves it as it was.
func TestAccGoneByAddress(t *testing.T) {
	t.Parallel()
	x := newTargetWithoutVMHosts(t)
	newWorkspace(t, x.configReachingLXD(hostOnNode1())).run(t, "apply", "-auto-approve", "-no-color")
	tags, data := []string{"metal"}, map[string]string{} // of a machine that nobody manages
	x.editMachine(t, "node1", sim.MachineEdit{Tags: &tags, OwnerData: &data})
	before := x.findMachine(t, "node1")
	w := newWorkspace(t, x.configReachingLXD(vmHost("kvm", `address = "`+x.findLXD(t, "node1").Address+`"`)+vmOnTestHost("web")))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	if m := x.findMachine(t, "node1"); m.OwnerData["maaslxd-name"] != "kvm" || !slices.Contains(m.Tags, "maaslxd-host") {
		t.Errorf("the machine says %v, with the tags %v", m.OwnerData, m.Tags)
	}
	if all := x.instances(); len(all) != 1 || all[0].Host != "node1" || all[0].Name != "web" {
		t.Errorf("instances: %+v", all)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkNothingLeft()(nil); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(before, x.findMachine(t, "node1"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the machine (-before +after):\n%s", diff)
	}
}

// TestAccGoneByNoAddress: a host needs a machine in MAAS. The error comes at
// once.
func TestAccGoneByNoAddress(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ reason, address string }{
		"Stray":  {"The LXD answers and trusts our certificate, but MAAS has no machine for it.", strayAddress},
		"Nobody": {"Nothing answers at the address.", "10.200.0.77"},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newTargetWithoutVMHosts(t)
			t.Log(tc.reason)
			x.makeLXDTrustNewKey(t, "stray")
			newWorkspace(t, x.configReachingLXD(vmHost("kvm", `address = "`+strings.ReplaceAll(tc.address, strayAddress, x.strayLXDAddress())+`"`))).
				wantRefusedCreate(t, x, "address", `address: MAAS knows no deployed machine with the address let MAAS deploy the machine first`)
		})
	}
}
