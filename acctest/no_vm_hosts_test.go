package acctest_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/compare"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
)

// TestAccGoneLife does everything to a host and its VM that a user does, on a
// MAAS without VM hosts.
func TestAccGoneLife(t *testing.T) {
	t.Parallel()
	x := newTargetWithoutVMHosts(t)
	host := hostOnNode1(`zone = "az1"`, `pool = "kvm"`, `tags = ["blue"]`, `cpu_overcommit = 2`)
	vmIs := func(attribute string, value knownvalue.Check) statecheck.StateCheck {
		return statecheck.ExpectKnownValue("maaslxd_vm.test", tfjsonpath.New(attribute), value)
	}
	runStory(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		CheckDestroy:             x.checkNothingLeft("node1"),
		Steps: []resource.TestStep{
			{
				Config: x.configReachingLXD(host + vmOnTestHost("web", `cores = 2`, x.deploy())),
				Check:  x.checkRunning("web"),
				ConfigStateChecks: []statecheck.StateCheck{
					expectHostValue("status", exactText("Deployed")), expectHostValue("name", exactText("kvm1")), expectHostValue("zone", exactText("az1")), expectHostValue("pool", exactText("kvm")),
					expectHostValue("vm_host_id", knownvalue.Null()), expectHostValue("lxd_version", checkLXDVersion()), expectHostValue("default_storage_pool", exactText("default")),
					vmIs("status", exactText("Deployed")), vmIs("vm_host_name", exactText("kvm1")), vmIs("vm_host_id", knownvalue.Null()),
					vmIs("zone", exactText("az1")), vmIs("pool", exactText("kvm")),
					statecheck.CompareValuePairs("maaslxd_vm.test", tfjsonpath.New("vm_host"), hostAddress, tfjsonpath.New("id"), compare.ValuesSame()),
				},
			},
			{
				Config: x.configReachingLXD(host + vmOnTestHost("web", `cores = 2`, `tags = ["a"]`, `zone = "az2"`, x.deploy())),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction("maaslxd_vm.test", plancheck.ResourceActionUpdate),
					plancheck.ExpectResourceAction(hostAddress, plancheck.ResourceActionNoop),
				}},
			},
			{ // an import names the host by its name
				ResourceName: "maaslxd_vm.test", ImportState: true, ImportStateVerify: true, ImportStateId: "web", ImportStateVerifyIgnore: []string{"vm_host"},
			},
			{ResourceName: hostAddress, ImportState: true, ImportStateVerify: true, ImportStateVerifyIgnore: []string{"cores", "memory_mib"}},
		},
	})
}
