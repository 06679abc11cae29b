package acctest_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
)

// TestAccGoneProfile makes a VM with a profile of the host's project. Another
// profile replaces the VM. It stays when the line is removed.
func TestAccGoneProfile(t *testing.T) {
	t.Parallel()
	x := newTargetWithoutVMHosts(t)
	const address = "maaslxd_vm.test"
	plans := func(action plancheck.ResourceActionType) resource.ConfigPlanChecks {
		return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(address, action)}}
	}
	profile := func(want knownvalue.Check) []statecheck.StateCheck {
		return []statecheck.StateCheck{statecheck.ExpectKnownValue(address, tfjsonpath.New("profile"), want)}
	}
	vm := func(attributes ...string) string {
		return x.configReachingLXD(hostOnNode1(`lxd = { profile = { name = "gold" } }`) + vmOnTestHost("web", attributes...))
	}
	runStory(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		CheckDestroy:             x.checkNothingLeft("node1"),
		Steps: []resource.TestStep{
			{Config: vm(), ConfigStateChecks: profile(knownvalue.Null())},
			{Config: vm(`profile = "gold"`), ConfigPlanChecks: plans(plancheck.ResourceActionReplace), ConfigStateChecks: profile(knownvalue.StringExact("gold"))},
			{ResourceName: address, ImportState: true, ImportStateVerify: true, ImportStateId: "web", ImportStateVerifyIgnore: []string{"vm_host"}},
			{Config: vm(), ConfigPlanChecks: plans(plancheck.ResourceActionNoop), ConfigStateChecks: profile(knownvalue.StringExact("gold"))},
			{Config: vm(`profile = "default"`), ConfigPlanChecks: plans(plancheck.ResourceActionReplace), ConfigStateChecks: profile(knownvalue.StringExact("default"))},
		},
	})
}

// TestAccProfileOnMAAS: a VM that MAAS makes cannot have a profile. The plan
// says so, and no VM is destroyed.
func TestAccProfileOnMAAS(t *testing.T) {
	t.Parallel()
	x := newSimulatedTarget(t)
	w := newWorkspace(t, x.config(x.vm("web", `profile = "gold"`)))
	refused := func(doing string, instances int) {
		t.Helper()
		cmd, out := w.command(t.Context(), "apply", "-auto-approve", "-no-color")
		if err := cmd.Run(); err == nil {
			t.Fatalf("it was done:\n%s", out)
		}
		text := unwrapMessage(out.String())
		if want := "Cannot " + doing + ` profile "gold" MAAS always uses its own composer = "lxd"`; !wordsPattern(want).MatchString(text) || strings.Count(text, "Error: ") != 1 {
			t.Errorf("want one error, with the words %q, in:\n%s", want, out)
		}
		if !strings.Contains(shownConfigLines(out.String()), "profile =") {
			t.Errorf("want the CLI to point at profile:\n%s", out)
		}
		if n := len(x.instances()); n != instances {
			t.Errorf("there are %d instances, and not %d", n, instances)
		}
	}
	refused("create VM web", 0)
	w.configure(t, x.config(x.vm("web")))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.configure(t, x.config(x.vm("web", `profile = "gold"`)))
	refused("change the profile of VM web", 1)
	w.configure(t, x.config(x.vm("web", `profile = "maas"`)))
	if out := w.run(t, "apply", "-auto-approve", "-no-color"); strings.Contains(out, "destroyed.") && !strings.Contains(out, "0 destroyed.") {
		t.Errorf("it was made anew for what it has:\n%s", out)
	}
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	w.run(t, "destroy", "-auto-approve", "-no-color")
}
