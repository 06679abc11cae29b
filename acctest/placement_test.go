package acctest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
)

// placedVM is a resource maaslxd_vm.test whose host placement chooses.
func (x *target) placedVM(name, placement string, attributes ...string) string {
	return fmt.Sprintf("resource \"maaslxd_vm\" \"test\" {\n  name = %q\n  placement = %s\n  %s\n}\n",
		name, placement, strings.Join(attributes, "\n  "))
}

// TestAccPlacementLife follows a VM whose host placement chose. It stays there
// whatever its placement says later, until it is replaced.
func TestAccPlacementLife(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	name := x.name()
	on := func(host string) []statecheck.StateCheck {
		return []statecheck.StateCheck{expectVMValue("vm_host", exactText(host)), expectVMValue("vm_host_name", exactText(host))}
	}
	runStory(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		CheckDestroy:             x.checkVMGone(name),
		Steps: []resource.TestStep{
			{ // create; the framework also checks that a second plan is empty
				Config:            x.config(x.placedVM(name, `{ zone = "az2" }`)),
				ConfigStateChecks: append(on("lxd2"), expectVMValue("zone", exactText("az2"))),
			},
			{ // an import knows the host, and no placement
				ResourceName: vmAddress, ImportState: true, ImportStateVerify: true, ImportStateVerifyIgnore: []string{"placement"},
			},
			{ // another placement that its host fits
				Config:            x.config(x.placedVM(name, `{ strategy = "pack", group = "web" }`)),
				ConfigPlanChecks:  expectUpdate,
				ConfigStateChecks: on("lxd2"),
			},
			{ // one that its host does not fit
				Config:            x.config(x.placedVM(name, `{ zone = "az1", tags = ["rack1"] }`)),
				ConfigPlanChecks:  expectUpdate,
				ConfigStateChecks: on("lxd2"),
			},
			{ // its host by name
				Config:            x.config(x.onOtherHost("lxd2", x.vm(name))),
				ConfigPlanChecks:  expectUpdate,
				ConfigStateChecks: on("lxd2"),
			},
			{ // placement chooses again
				Config:            x.config(x.placedVM(name, `{ zone = "az1" }`)),
				ConfigPlanChecks:  expectUpdate,
				ConfigStateChecks: on("lxd2"),
			},
			{ // a replacement goes where the placement wants it
				Config:            x.config(x.placedVM(name, `{ zone = "az1" }`, `hugepages = true`)),
				ConfigPlanChecks:  expectReplace,
				ConfigStateChecks: on("lxd1"),
			},
			{ // another host by name
				Config:            x.config(x.onOtherHost("lxd2", x.vm(name, `hugepages = true`))),
				ConfigPlanChecks:  expectReplace,
				ConfigStateChecks: on("lxd2"),
			},
		},
	})
}

// TestAccPlacementImport imports a VM into a configuration without a host.
// Nothing is replaced.
func TestAccPlacementImport(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	name := x.name()
	w := newWorkspace(t, x.config(x.placedVM(name, `{ zone = "az2", group = "web" }`)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	made := x.findMachine(t, name).SystemID
	w.run(t, "state", "rm", vmAddress)
	w.run(t, "import", "-no-color", vmAddress, name)
	if got := strings.Join(w.planActions(t), ","); got != "update" {
		t.Errorf("the plan after the import wants %s, not an update of the state", got)
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	if n, counted := x.countCalls(t, composeRoute()); counted && n != 1 {
		t.Errorf("it was composed %d times", n)
	}
	if id := x.findMachine(t, name).SystemID; id != made {
		t.Errorf("after the import it is %s, made as %s", id, made)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkVMGone(name)(nil); err != nil {
		t.Error(err)
	}
}

// TestAccPlacementUnknown plans with a zone that only the apply knows.
func TestAccPlacementUnknown(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	name := x.name()
	runStory(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		CheckDestroy:             x.checkVMGone(name),
		Steps: []resource.TestStep{{
			Config: x.config("resource \"terraform_data\" \"zone\" {\n  input = \"az2\"\n}\n" +
				x.placedVM(name, `{ zone = terraform_data.zone.output, group = "g" }`)),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction(vmAddress, plancheck.ResourceActionCreate),
			}},
			ConfigStateChecks: []statecheck.StateCheck{expectVMValue("vm_host", exactText("lxd2"))},
		}},
	})
}

// TestAccPlacementSpreads makes a group of VMs at once, with the same number in
// each zone.
func TestAccPlacementSpreads(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason    string
		placement string
		want      map[string]int
	}{
		"Group": {"The VMs of a group spread over the hosts, also with the strategy pack.", `{ group = "web", strategy = "pack" }`, map[string]int{"lxd1": 3, "lxd2": 3}},
		"Tags":  {"Placement takes only hosts with the tag.", `{ tags = ["rack1"] }`, map[string]int{"lxd1": 6}},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newTarget(t)
			x.actAmongOwnHosts(func() {
				runStory(t, resource.TestCase{
					ProtoV6ProviderFactories: providers,
					Steps: []resource.TestStep{{
						Config: x.config(fmt.Sprintf(
							"resource \"maaslxd_vm\" \"test\" {\n  count = 6\n  name = \"%s-${count.index}\"\n  memory_mib = 1024\n  placement = %s\n}\n",
							x.name(), tc.placement)),
						Check: func(*terraform.State) error {
							on := map[string]int{}
							for _, i := range x.instances() {
								on[i.Host]++
							}
							if diff := cmp.Diff(tc.want, on); diff != "" {
								return fmt.Errorf("%s\nVMs on the hosts (-want +got):\n%s", tc.reason, diff)
							}
							return nil
						},
					}},
				})
			})
		})
	}
}

// TestAccPlacementBadInput wants one clear error for each case, at the
// attribute. Nothing may be made.
func TestAccPlacementBadInput(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason    string
		placement string
		more      []string
		want      string
	}{
		"Both":         {reason: "A VM host and a placement exclude each other.", placement: `{}`, more: []string{`vm_host = "lxd1"`}, want: `Both a VM host and a placement Remove one of them`},
		"Neither":      {reason: "Nothing chooses a VM host.", placement: `null`, want: `Neither a VM host nor a placement placement = {} takes any`},
		"NeitherLater": {reason: "A VM host that is unknown at plan may be null at apply.", placement: `null`, more: []string{`vm_host = timestamp() == "" ? "lxd1" : null`}, want: `Neither a VM host nor a placement`},
		"Strategy":     {reason: "A placement has only two strategies.", placement: `{ strategy = "fill" }`, want: `placement.strategy "spread" "pack"`},
		"EmptyTag":     {reason: "A tag cannot be empty.", placement: `{ tags = [""] }`, want: `placement.tags must be 1 to 256`},
		"LongGroup":    {reason: "The name of a group is limited to 128 characters.", placement: `{ group = "` + strings.Repeat("g", 129) + `" }`, want: `placement.group must be 1 to 128`},
		"UnknownZone":  {reason: "MAAS has no such zone, and the error lists the known ones.", placement: `{ zone = "mars" }`, want: `placement.zone "mars" az1`},
		"UnknownPool":  {reason: "MAAS has no such resource pool, and the error lists the known ones.", placement: `{ pool = "mars" }`, want: `placement.pool "mars" kvm`},
		"NoSuchTag":    {reason: "No host has the tag, and the error counts the hosts without it.", placement: `{ tags = ["gpu"] }`, want: `2 missing tags "gpu"`},
		"EmptyZone":    {reason: "The zone has no VM hosts.", placement: `{ zone = "default" }`, want: `2 wrong zone lxd1`},
		"TooLarge":     {reason: "No host is large enough, so a retry cannot help.", placement: `{}`, more: []string{`cores = 500`}, want: `2 too small even when empty`},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newTarget(t)
			name := x.name()
			t.Log(tc.reason)
			runStory(t, resource.TestCase{
				ProtoV6ProviderFactories: providers,
				Steps: []resource.TestStep{{
					Config:      x.config(x.placedVM(name, tc.placement, tc.more...)),
					ExpectError: wordsPattern(tc.want),
				}},
			})
			if n, counted := x.countCalls(t, composeRoute()); counted && n != 0 {
				t.Errorf("%s\n%d VMs were composed", tc.reason, n)
			}
		})
	}
}
