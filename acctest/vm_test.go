package acctest_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	"github.com/hashicorp/terraform-plugin-testing/tfversion"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

const vmAddress = "maaslxd_vm.test"

// expectUpdate checks that the step changes the VM without replacing it.
var expectUpdate = resource.ConfigPlanChecks{
	PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(vmAddress, plancheck.ResourceActionUpdate)},
}

var expectReplace = resource.ConfigPlanChecks{
	PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(vmAddress, plancheck.ResourceActionReplace)},
}

func expectVMValue(attribute string, value knownvalue.Check) statecheck.StateCheck {
	return statecheck.ExpectKnownValue(vmAddress, tfjsonpath.New(attribute), value)
}

// exactText checks that a value is a text, or the real MAAS's name for that
// word.
func exactText(s string) knownvalue.Check { return wordCheck{knownvalue.StringExact(s), s} }

// TestAccVMLife does everything to one VM that a user does.
func TestAccVMLife(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	name := x.name()
	deployed := x.deploy(`user_data_wo = "#cloud-config\n"`, `user_data_wo_version = 1`)
	runStory(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		CheckDestroy:             x.checkVMGone(name),
		Steps: []resource.TestStep{
			{ // create; the framework also checks that a second plan is empty
				Config: x.config(x.vm(name, `cores = 2`, `memory_mib = 2048`, `disks = { root = { size_gb = 10 } }`, deployed)),
				ConfigStateChecks: []statecheck.StateCheck{
					expectVMValue("status", exactText("Deployed")), expectVMValue("name", exactText(name)),
					expectVMValue("cores", knownvalue.Int64Exact(2)), expectVMValue("memory_mib", knownvalue.Int64Exact(2048)),
					expectVMValue("id", knownvalue.StringRegexp(regexp.MustCompile(`^[a-z0-9]{6}$`))),
					expectVMValue("ip_addresses", knownvalue.ListSizeExact(1)),
				},
			},
			{ // changes that MAAS makes in place
				Config: x.config(x.vm(name, `cores = 2`, `memory_mib = 2048`, `disks = { root = { size_gb = 10 } }`, deployed,
					fmt.Sprintf("zone = %q", x.zone), fmt.Sprintf("pool = %q", x.pool), `tags = ["tf-acc-a", "tf-acc-b"]`)),
				ConfigPlanChecks: expectUpdate,
				ConfigStateChecks: []statecheck.StateCheck{
					expectVMValue("status", exactText("Deployed")), expectVMValue("zone", exactText(x.zone)), expectVMValue("pool", exactText(x.pool)),
					expectVMValue("tags", knownvalue.SetSizeExact(2)),
				},
			},
			{ // one tag fewer
				Config: x.config(x.vm(name, `cores = 2`, `memory_mib = 2048`, `disks = { root = { size_gb = 10 } }`, deployed,
					fmt.Sprintf("zone = %q", x.zone), fmt.Sprintf("pool = %q", x.pool), `tags = ["tf-acc-b"]`)),
				ConfigPlanChecks:  expectUpdate,
				ConfigStateChecks: []statecheck.StateCheck{expectVMValue("tags", knownvalue.SetExact([]knownvalue.Check{exactText("tf-acc-b")}))},
			},
			{
				ResourceName: vmAddress, ImportState: true, ImportStateVerify: true,
				ImportStateVerifyIgnore: unreadableAttributes,
			},
			{
				ResourceName: vmAddress, ImportState: true, ImportStateId: name, ImportStateVerify: true,
				ImportStateVerifyIgnore: unreadableAttributes,
			},
			{ // another image replaces the VM
				Config: x.config(x.vm(name, `cores = 2`, `memory_mib = 2048`, `disks = { root = { size_gb = 10 } }`,
					x.deploy(`user_data_wo = "#cloud-config\nx: y\n"`, `user_data_wo_version = 2`))),
				ConfigPlanChecks:  expectReplace,
				ConfigStateChecks: []statecheck.StateCheck{expectVMValue("status", exactText("Deployed"))},
			},
		},
	})
}

// unreadableAttributes are those that an import cannot know. The version of the
// user-data is only in Terraform's state.
var unreadableAttributes = []string{"deploy.user_data_wo_version"}

// TestAccVMReadyThenDeployed leaves a VM Ready, and deploys it later in place.
func TestAccVMReadyThenDeployed(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	name := x.name()
	runStory(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		CheckDestroy:             x.checkVMGone(name),
		Steps: []resource.TestStep{
			{
				Config:            x.config(x.vm(name)),
				ConfigStateChecks: []statecheck.StateCheck{expectVMValue("status", exactText("Ready"))},
			},
			{
				Config:            x.config(x.vm(name, x.deploy())),
				ConfigPlanChecks:  expectUpdate,
				ConfigStateChecks: []statecheck.StateCheck{expectVMValue("status", exactText("Deployed"))},
			},
			{
				// Where LXD makes the VM, its memory cannot change while it
				// runs: see TestAccGoneResizeRefused.
				Config:            x.config(x.vm(name, `cores = 2`, x.deploy())),
				ConfigPlanChecks:  expectResize(),
				ConfigStateChecks: []statecheck.StateCheck{expectVMValue("status", exactText("Deployed")), expectVMValue("cores", knownvalue.Int64Exact(2))},
			},
		},
	})
}

// TestAccVMImportByIdentity needs a CLI with resource identity.
func TestAccVMImportByIdentity(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	name := x.name()
	runStory(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		CheckDestroy:             x.checkVMGone(name),
		TerraformVersionChecks:   []tfversion.TerraformVersionCheck{tfversion.SkipBelow(tfversion.Version1_12_0)},
		Steps: []resource.TestStep{
			{Config: x.config(x.vm(name))},
			{ResourceName: vmAddress, ImportState: true, ImportStateKind: resource.ImportBlockWithResourceIdentity},
		},
	})
}

// TestAccVMImportThenPlan imports VMs into configurations that match them. It
// wants an empty plan, or an update for what MAAS does not show.
func TestAccVMImportThenPlan(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason     string
		attributes []string
		more       []string // further lines of deploy
		seen       sim.MachineEdit
		bare       bool // the import's configuration has no deploy
		actions    string
	}{
		"Plain": {
			reason: "An import reads every attribute of this VM.", actions: "no-op",
		},
		"DeployLeftOut": {
			reason: "A missing deploy block does not destroy the VM.", bare: true, actions: "update",
		},
		"Tags": {
			reason:     "MAAS and the host gave the VM other tags. The apply notes which tags belong to the configuration.",
			attributes: []string{`tags = ["tf-acc-a", "tf-acc-b"]`}, actions: "update",
		},
		"TagsOfOthers": {
			reason:     "The import reads a tag that another user added, so an update removes it.",
			attributes: []string{`tags = ["tf-acc-a"]`},
			seen:       sim.MachineEdit{Tags: &[]string{"virtual", "pod-console-logging", "rack1", "tf-acc-a", "backup"}},
			actions:    "update",
		},
		"TagsLeftOut": {
			reason:  "A configuration without tags removes no imported tag.",
			seen:    sim.MachineEdit{Tags: &[]string{"virtual", "pod-console-logging", "rack1", "tf-acc-a"}},
			actions: "no-op",
		},
		"Unreadable": {
			reason: "MAAS does not show these attributes, so the apply takes the values of the configuration.",
			attributes: []string{
				`pinned_cores = [0, 1]`, `hugepages = true`,
				`disks = { root = { size_gb = 8 }, data = { size_gb = 20, pool = "fast" } }`,
				`interfaces = { eth0 = { subnet = "lan" } }`,
			},
			more:    []string{`kernel = "ga-24.04"`, `user_data_wo = "#cloud-config\n"`, `user_data_wo_version = 3`},
			actions: "update",
		},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newTarget(t)
			name := x.name()
			w := newWorkspace(t, x.config(x.vm(name, append(tc.attributes, x.deploy(tc.more...))...)))
			w.run(t, "apply", "-auto-approve", "-no-color")
			made := x.findMachine(t, name)
			x.editMachine(t, name, tc.seen)
			w.run(t, "state", "rm", vmAddress)
			if tc.bare {
				w.configure(t, x.config(x.vm(name)))
			}
			w.run(t, "import", "-no-color", vmAddress, name)
			if got := strings.Join(w.planActions(t), ","); got != tc.actions {
				t.Errorf("%s\nthe plan after the import wants %s, not %s", tc.reason, got, tc.actions)
			}
			w.run(t, "apply", "-auto-approve", "-no-color")
			w.run(t, "plan", "-detailed-exitcode", "-no-color")
			if m := x.findMachine(t, name); m.SystemID != made.SystemID || m.StatusName != "Deployed" {
				t.Errorf("%s\nafter the apply it is %+v, made as %s", tc.reason, m, made.SystemID)
			}
			if n, counted := x.countCalls(t, deployRoute); counted && n != 1 {
				t.Errorf("%s\nwant it installed once, got %d", tc.reason, n)
			}
			w.run(t, "destroy", "-auto-approve", "-no-color")
			if err := x.checkVMGone(name)(nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// planActions lists the actions of a plan for the VM: "no-op", "update", or
// "delete" and "create".
func (w workspace) planActions(t *testing.T) []string {
	t.Helper()
	return w.planActionsOn(t, vmAddress)
}

// planActionsOn lists the actions of a plan for a resource. It writes the plan
// to the file "actions".
func (w workspace) planActionsOn(t *testing.T, address string) []string {
	t.Helper()
	for _, c := range w.planChanges(t) {
		if c.Address == address {
			return c.Change.Actions
		}
	}
	t.Fatalf("the plan does not mention %s", address)
	return nil
}

// plannedChange is what a plan does to an object.
type plannedChange struct {
	Address, Type string
	Former        string `json:"previous_address"` // empty unless the object moves
	Change        struct {
		Actions       []string
		Before, After map[string]any
		Unknown       map[string]any `json:"after_unknown"`
	}
}

// planChanges writes a plan to the file "actions", and reads what it does.
func (w workspace) planChanges(t *testing.T) []plannedChange {
	t.Helper()
	w.run(t, "plan", "-out=actions", "-no-color")
	cmd := exec.CommandContext(t.Context(), w.cli.Path, "show", "-json", "actions")
	cmd.Dir, cmd.Env = w.dir, w.env
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var plan struct {
		Changes []plannedChange `json:"resource_changes"`
	}
	if err := json.Unmarshal(out, &plan); err != nil {
		t.Fatal(err)
	}
	return plan.Changes
}

// TestAccVMSubnetSpelling: another spelling of a subnet is the same subnet.
func TestAccVMSubnetSpelling(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	name := x.name()
	runStory(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		CheckDestroy:             x.checkVMGone(name),
		Steps: []resource.TestStep{
			{Config: x.config(x.vm(name, `interfaces = { eth0 = { subnet = "lan" } }`))},
			{
				Config:           x.config(x.vm(name, `interfaces = { eth0 = { subnet = "10.77.0.0/24" } }`)),
				ConfigPlanChecks: expectUpdate,
			},
			{
				Config:           x.config(x.vm(name, `interfaces = { eth0 = { subnet = "10.77.0.0/24" }, eth1 = { subnet = "dark" } }`)),
				ConfigPlanChecks: expectReplace,
			},
		},
	})
}

// TestAccVMCreateBeforeDestroy wants one clear error: the VM that is to be
// replaced still has the name. That VM stays.
func TestAccVMCreateBeforeDestroy(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	name := x.name()
	const createFirst = `lifecycle { create_before_destroy = true }`
	var before sim.Machine
	runStory(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		CheckDestroy:             x.checkVMGone(name),
		Steps: []resource.TestStep{
			{Config: x.config(x.vm(name, x.deploy(), createFirst))},
			{
				PreConfig:   func() { before = x.findMachine(t, name) },
				Config:      x.config(x.vm(name, x.deploy(), createFirst, `hugepages = true`)),
				ExpectError: wordsPattern(name + ` create_before_destroy`),
			},
			{
				PreConfig: func() {
					if diff := cmp.Diff(before, x.findMachine(t, name)); diff != "" {
						t.Errorf("the VM that was to be replaced was touched (-before +after):\n%s", diff)
					}
				},
				Config:           x.config(x.vm(name, x.deploy(), `hugepages = true`)),
				ConfigPlanChecks: expectReplace,
			},
		},
	})
}

// TestAccVMDisksAndInterfaces checks order, pools and a fixed address.
func TestAccVMDisksAndInterfaces(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	name := x.name()
	at := func(path tfjsonpath.Path, value knownvalue.Check) statecheck.StateCheck {
		return statecheck.ExpectKnownValue(vmAddress, path, value)
	}
	runStory(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		CheckDestroy:             x.checkVMGone(name),
		Steps: []resource.TestStep{{
			Config: x.config(x.vm(name, x.deploy(),
				`disks = { root = { size_gb = 8 }, data = { size_gb = 20, pool = "fast" } }`,
				`interfaces = { eth0 = { subnet = "lan", ip = "10.77.0.42" }, eth1 = { subnet = "10.78.0.0/24" } }`,
				`domain = "example.org"`)),
			ConfigStateChecks: []statecheck.StateCheck{
				at(tfjsonpath.New("disks").AtMapKey("root").AtMapKey("pool"), exactText("default")),
				at(tfjsonpath.New("disks").AtMapKey("data").AtMapKey("pool"), exactText("fast")),
				at(tfjsonpath.New("interfaces").AtMapKey("eth0").AtMapKey("mac_address"), knownvalue.StringRegexp(regexp.MustCompile(`^([0-9a-f]{2}:){5}[0-9a-f]{2}$`))),
				at(tfjsonpath.New("interfaces").AtMapKey("eth0").AtMapKey("ip_addresses"), knownvalue.ListExact([]knownvalue.Check{exactText("10.77.0.42")})),
				expectVMValue("fqdn", exactText(name+".example.org")),
			},
		}},
	})
}

// checkVMGone checks that neither MAAS nor LXD has a VM of this name.
func (x *target) checkVMGone(name string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		for _, i := range x.instances() {
			if i.Name == name {
				return fmt.Errorf("LXD still has the instance %+v", i)
			}
		}
		for _, m := range x.machines() {
			if m.Hostname == name {
				return fmt.Errorf("MAAS still has the machine %+v", m)
			}
		}
		return nil
	}
}
