package acctest_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	"github.com/hashicorp/terraform-plugin-testing/tfversion"
)

const vmAddress = "maaslxd_vm.test"

// inPlace checks that the step changes the VM without replacing it.
var inPlace = resource.ConfigPlanChecks{
	PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(vmAddress, plancheck.ResourceActionUpdate)},
}

var replaces = resource.ConfigPlanChecks{
	PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(vmAddress, plancheck.ResourceActionReplace)},
}

func is(attribute string, value knownvalue.Check) statecheck.StateCheck {
	return statecheck.ExpectKnownValue(vmAddress, tfjsonpath.New(attribute), value)
}

func text(s string) knownvalue.Check { return knownvalue.StringExact(s) }

// TestAccVMLife takes one VM through everything that a user does to it.
func TestAccVMLife(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	name := x.name()
	deployed := x.deploy(`user_data_wo = "#cloud-config\n"`, `user_data_wo_version = 1`)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		CheckDestroy:             x.checkEmpty(name),
		Steps: []resource.TestStep{
			{ // create; the framework also checks that a second plan is empty
				Config: x.config(x.vm(name, `cores = 2`, `memory_mib = 2048`, `disks = { root = { size_gb = 10 } }`, deployed)),
				ConfigStateChecks: []statecheck.StateCheck{
					is("status", text("Deployed")), is("name", text(name)),
					is("cores", knownvalue.Int64Exact(2)), is("memory_mib", knownvalue.Int64Exact(2048)),
					is("id", knownvalue.StringRegexp(regexp.MustCompile(`^[a-z0-9]{6}$`))),
					is("ip_addresses", knownvalue.ListSizeExact(1)),
				},
			},
			{ // what MAAS changes in place
				Config: x.config(x.vm(name, `cores = 2`, `memory_mib = 2048`, `disks = { root = { size_gb = 10 } }`, deployed,
					fmt.Sprintf("zone = %q", x.zone), fmt.Sprintf("pool = %q", x.pool), `tags = ["tf-acc-a", "tf-acc-b"]`)),
				ConfigPlanChecks: inPlace,
				ConfigStateChecks: []statecheck.StateCheck{
					is("status", text("Deployed")), is("zone", text(x.zone)), is("pool", text(x.pool)),
					is("tags", knownvalue.SetSizeExact(2)),
				},
			},
			{ // a tag less
				Config: x.config(x.vm(name, `cores = 2`, `memory_mib = 2048`, `disks = { root = { size_gb = 10 } }`, deployed,
					fmt.Sprintf("zone = %q", x.zone), fmt.Sprintf("pool = %q", x.pool), `tags = ["tf-acc-b"]`)),
				ConfigPlanChecks:  inPlace,
				ConfigStateChecks: []statecheck.StateCheck{is("tags", knownvalue.SetExact([]knownvalue.Check{text("tf-acc-b")}))},
			},
			{
				ResourceName: vmAddress, ImportState: true, ImportStateVerify: true,
				ImportStateVerifyIgnore: unreadable,
			},
			{
				ResourceName: vmAddress, ImportState: true, ImportStateId: name, ImportStateVerify: true,
				ImportStateVerifyIgnore: unreadable,
			},
			{ // a reinstall is a replacement
				Config: x.config(x.vm(name, `cores = 2`, `memory_mib = 2048`, `disks = { root = { size_gb = 10 } }`,
					x.deploy(`user_data_wo = "#cloud-config\nx: y\n"`, `user_data_wo_version = 2`))),
				ConfigPlanChecks:  replaces,
				ConfigStateChecks: []statecheck.StateCheck{is("status", text("Deployed"))},
			},
		},
	})
}

// unreadable lists what an import cannot know: MAAS does not tell which tags
// are meant, how vm_host was written, or user-data.
var unreadable = []string{"tags", "vm_host", "deploy", "timeouts", "hugepages"}

// TestAccVMReadyThenDeployed leaves a VM Ready, and installs it later in place.
func TestAccVMReadyThenDeployed(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	name := x.name()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		CheckDestroy:             x.checkEmpty(name),
		Steps: []resource.TestStep{
			{
				Config:            x.config(x.vm(name)),
				ConfigStateChecks: []statecheck.StateCheck{is("status", text("Ready"))},
			},
			{
				Config:            x.config(x.vm(name, x.deploy())),
				ConfigPlanChecks:  inPlace,
				ConfigStateChecks: []statecheck.StateCheck{is("status", text("Deployed"))},
			},
			{
				Config:            x.config(x.vm(name, `memory_mib = 3072`, x.deploy())),
				ConfigPlanChecks:  replaces,
				ConfigStateChecks: []statecheck.StateCheck{is("status", text("Deployed")), is("memory_mib", knownvalue.Int64Exact(3072))},
			},
		},
	})
}

// TestAccVMImportByIdentity needs a CLI that has resource identity.
func TestAccVMImportByIdentity(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	name := x.name()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		TerraformVersionChecks:   []tfversion.TerraformVersionCheck{tfversion.SkipBelow(tfversion.Version1_12_0)},
		Steps: []resource.TestStep{
			{Config: x.config(x.vm(name))},
			{ResourceName: vmAddress, ImportState: true, ImportStateKind: resource.ImportBlockWithResourceIdentity},
		},
	})
}

// TestAccVMDisksAndInterfaces checks order, pools and a fixed address.
func TestAccVMDisksAndInterfaces(t *testing.T) {
	t.Parallel()
	x := simulated(t)
	name := x.name()
	at := func(path tfjsonpath.Path, value knownvalue.Check) statecheck.StateCheck {
		return statecheck.ExpectKnownValue(vmAddress, path, value)
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		CheckDestroy:             x.checkEmpty(name),
		Steps: []resource.TestStep{{
			Config: x.config(x.vm(name, x.deploy(),
				`disks = { root = { size_gb = 8 }, data = { size_gb = 20, pool = "fast" } }`,
				`interfaces = { eth0 = { subnet = "lan", ip = "10.77.0.42" }, eth1 = { subnet = "10.78.0.0/24" } }`,
				`domain = "example.org"`)),
			ConfigStateChecks: []statecheck.StateCheck{
				at(tfjsonpath.New("disks").AtMapKey("root").AtMapKey("pool"), text("default")),
				at(tfjsonpath.New("disks").AtMapKey("data").AtMapKey("pool"), text("fast")),
				at(tfjsonpath.New("interfaces").AtMapKey("eth0").AtMapKey("mac_address"), knownvalue.StringRegexp(regexp.MustCompile(`^([0-9a-f]{2}:){5}[0-9a-f]{2}$`))),
				at(tfjsonpath.New("interfaces").AtMapKey("eth0").AtMapKey("ip_addresses"), knownvalue.ListExact([]knownvalue.Check{text("10.77.0.42")})),
				is("fqdn", text(name+".example.org")),
			},
		}},
	})
}

// checkEmpty checks that no VM of this name is left, in MAAS or in LXD.
func (x *target) checkEmpty(name string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		if x.sim == nil {
			return x.checkAbsent(name)
		}
		for _, i := range x.sim.Instances() {
			if i.Name == name {
				return fmt.Errorf("LXD still has the instance %+v", i)
			}
		}
		for _, m := range x.sim.Machines() {
			if m.Hostname == name {
				return fmt.Errorf("MAAS still has the machine %+v", m)
			}
		}
		return nil
	}
}
