package acctest_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	"github.com/hashicorp/terraform-plugin-testing/tfversion"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

const machineAddress = "maaslxd_machine.test"

// labelledMachine is a resource maaslxd_machine with a label.
func labelledMachine(label, name string, attributes ...string) string {
	return fmt.Sprintf("resource \"maaslxd_machine\" %q {\n  name = %q\n  %s\n}\n", label, name, strings.Join(attributes, "\n  "))
}

// testMachine is a maaslxd_machine.test.
func testMachine(name string, attributes ...string) string {
	return labelledMachine("test", name, attributes...)
}

// machineOnNode1 is the machine node1 with an image.
func machineOnNode1(attributes ...string) string {
	return testMachine("db", append([]string{`machine = "node1"`, deployNoble}, attributes...)...)
}

func expectMachineValue(attribute string, value knownvalue.Check) statecheck.StateCheck {
	return statecheck.ExpectKnownValue(machineAddress, tfjsonpath.New(attribute), value)
}

func expectMachineAction(action plancheck.ResourceActionType) resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(machineAddress, action)}}
}

// removeVMHosts makes a MAAS without VM hosts. Bare metal needs none.
func removeVMHosts(m *sim.Model) { m.MAASVersion, m.Hosts = sim.VersionGone, nil }

// wantUntouched checks that no machine's record was deleted, and no machine was
// released by force.
func (x *metalTarget) wantUntouched(t *testing.T) {
	t.Helper()
	if x.sim == nil {
		leaveOut(t, "look for deleted records and forced releases", "a real MAAS has no journal of calls")
		return
	}
	for _, c := range x.sim.Journal().Calls {
		if strings.HasPrefix(c.Route, "DELETE machines/") || strings.HasSuffix(c.Route, " release") && len(c.Form["force"])+len(c.Query["force"]) > 0 {
			t.Errorf("%s was sent with %v", c.Route, c.Form)
		}
	}
}

// releaseMachine releases a machine, as an operator would.
func (x *metalTarget) releaseMachine(t *testing.T, name string) {
	t.Helper()
	x.postForm(t, "machines/"+x.findMachine(t, name).SystemID+"/?op=release", nil)
	x.actAtStatus(t, name, "Ready", func(sim.Machine) {})
}

// TestAccMachineLife does everything to one machine that a user does, on a MAAS
// with VM hosts and on one without.
func TestAccMachineLife(t *testing.T) {
	t.Parallel()
	for title, change := range map[string]func(*sim.Model){"VMHosts": func(*sim.Model) {}, "NoVMHosts": removeVMHosts} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newMetalTarget(t, change)
			runStory(t, resource.TestCase{
				ProtoV6ProviderFactories: providers,
				CheckDestroy:             x.checkReady("node1", "node2"),
				Steps: []resource.TestStep{
					{ // create; the framework also checks that a second plan is empty
						Config: x.config(machineOnNode1()),
						ConfigStateChecks: []statecheck.StateCheck{
							expectMachineValue("status", exactText("Deployed")), expectMachineValue("name", exactText("db")), expectMachineValue("hostname", exactText("node1")),
							expectMachineValue("fqdn", exactText("node1.maas")), expectMachineValue("zone", exactText("az1")), expectMachineValue("cores", x.checkCores(1)),
							expectMachineValue("ip_addresses", knownvalue.ListSizeExact(1)), expectMachineValue("id", knownvalue.NotNull()),
						},
					},
					{ // another name, another spelling of the machine, and the settings of a destroy
						Config:            x.config(testMachine("db-1", `machine = "node1.maas"`, deployNoble, `release = { erase = "quick" }`)),
						ConfigPlanChecks:  expectMachineAction(plancheck.ResourceActionUpdate),
						ConfigStateChecks: []statecheck.StateCheck{expectMachineValue("name", exactText("db-1")), expectMachineValue("status", exactText("Deployed"))},
					},
					{
						Config:           x.config(testMachine("db-1", `machine = "node1"`, deployNoble)),
						ConfigPlanChecks: expectMachineAction(plancheck.ResourceActionUpdate),
					},
					{ResourceName: machineAddress, ImportState: true, ImportStateVerify: true},
					{ResourceName: machineAddress, ImportState: true, ImportStateId: "node1", ImportStateVerify: true},
					{ResourceName: machineAddress, ImportState: true, ImportStateId: "node1.maas", ImportStateVerify: true},
					{ // another image replaces the machine
						Config:            x.config(testMachine("db-1", `machine = "node1"`, `deploy = { image = "ubuntu/jammy" }`)),
						ConfigPlanChecks:  expectMachineAction(plancheck.ResourceActionReplace),
						ConfigStateChecks: []statecheck.StateCheck{expectMachineValue("status", exactText("Deployed"))},
					},
					{ // another machine does, too
						Config:            x.config(testMachine("db-1", `machine = "node2"`, `deploy = { image = "ubuntu/jammy" }`)),
						ConfigPlanChecks:  expectMachineAction(plancheck.ResourceActionReplace),
						ConfigStateChecks: []statecheck.StateCheck{expectMachineValue("hostname", exactText("node2"))},
					},
				},
			})
			x.wantUntouched(t)
		})
	}
}

// TestAccMachineImportByIdentity needs a CLI with resource identity.
func TestAccMachineImportByIdentity(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	runStory(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		CheckDestroy:             x.checkReady("node1"),
		TerraformVersionChecks:   []tfversion.TerraformVersionCheck{tfversion.SkipBelow(tfversion.Version1_12_0)},
		Steps: []resource.TestStep{
			{Config: x.config(machineOnNode1())},
			{ResourceName: machineAddress, ImportState: true, ImportStateKind: resource.ImportBlockWithResourceIdentity},
		},
	})
}

// TestAccMachineSelected leaves the choice to the selector. The smallest
// fitting machine is taken, and kept whatever the selector says later.
func TestAccMachineSelected(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	x.tagLentMachines(t, "metal")
	runStory(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		CheckDestroy:             x.checkReady("node1", "node2"),
		Steps: []resource.TestStep{
			{
				Config:            x.config(testMachine("db", `selector = { tags = ["metal"], min_cores = 4, architecture = "amd64" }`, deployNoble)),
				ConfigStateChecks: []statecheck.StateCheck{expectMachineValue("hostname", exactText("node1")), expectMachineValue("status", exactText("Deployed"))},
			},
			{
				Config:            x.config(testMachine("db", `selector = { tags = ["metal"], min_cores = 16 }`, deployNoble)),
				ConfigPlanChecks:  expectMachineAction(plancheck.ResourceActionUpdate),
				ConfigStateChecks: []statecheck.StateCheck{expectMachineValue("hostname", exactText("node1"))},
			},
			{
				Config:            x.config(testMachine("db", `machine = "node1"`, deployNoble)),
				ConfigPlanChecks:  expectMachineAction(plancheck.ResourceActionUpdate),
				ConfigStateChecks: []statecheck.StateCheck{expectMachineValue("hostname", exactText("node1"))},
			},
		},
	})
}

// TestAccMachineAddress gives an interface a fixed address. A destroy removes
// it with the release.
func TestAccMachineAddress(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	fixed := `interfaces = { eth0 = { ip = "10.77.0.42", subnet = "lan" } }`
	w := newWorkspace(t, x.config(machineOnNode1(fixed)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	if m := x.findMachine(t, "node1"); len(m.IPAddresses) != 1 || m.IPAddresses[0] != "10.77.0.42" {
		t.Errorf("it has the addresses %v", m.IPAddresses)
	}
	for _, same := range []string{`interfaces = { lan = { ip = "10.77.0.42", subnet = "10.77.0.0/24" } }`, ``, fixed} {
		w.configure(t, x.config(machineOnNode1(same)))
		w.run(t, "apply", "-auto-approve", "-no-color")
		w.wantEmptyPlan(t)
	}
	if n, counted := x.countDeployments(); counted && n != 1 {
		t.Errorf("it was deployed %d times", n)
	}
	w.configure(t, x.config(machineOnNode1(`interfaces = { eth0 = { ip = "10.77.0.43" } }`)))
	if got := joinActions(w.planActionsOn(t, machineAddress)); got != "delete,create" {
		t.Errorf("another address wants %s", got)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1")(nil); err != nil {
		t.Error(err)
	}
	if m := x.findMachine(t, "node1"); len(m.IPAddresses) > 0 && m.IPAddresses[0] == "10.77.0.42" || strings.Contains(m.Description, "10.77.0.42") {
		t.Errorf("the address is not taken back: %+v", m)
	}
}

// TestAccMachineErased erases the disks when the machine is released.
func TestAccMachineErased(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	w := newWorkspace(t, x.config(machineOnNode1(`release = { erase = "quick" }`)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1")(nil); err != nil {
		t.Error(err)
	}
	erased := false
	for _, c := range x.simulatorOrSkip().Journal().Calls {
		erased = erased || strings.HasSuffix(c.Route, " release") && url.Values(c.Form).Get("erase") == "true" && url.Values(c.Form).Get("quick_erase") == "true"
	}
	if !erased {
		t.Error("the disks were not erased")
	}
	x.wantUntouched(t)
}

// TestAccMachineKilled kills a run in each phase of a machine's life. The next
// run must go on: one machine, one deployment, and nothing left at the end.
func TestAccMachineKilled(t *testing.T) {
	t.Parallel()
	phases := map[string]struct {
		reason string
		verb   string
		brief  bool
		reach  func(x *metalTarget, t *testing.T)
	}{
		"Allocated": {
			reason: "Only the mark on the allocated machine tells of the killed run.", verb: "apply", brief: true,
			reach: func(x *metalTarget, t *testing.T) { x.awaitCall(t, "POST machines/ allocate") },
		},
		"Deploying": {
			reason: "MAAS continues the deployment after the run is killed.", verb: "apply",
			reach: func(x *metalTarget, t *testing.T) { x.awaitDeploying(t, "node1") },
		},
		"Releasing": {
			reason: "The next destroy finishes the one that was killed.", verb: "destroy", brief: true,
			reach: func(x *metalTarget, t *testing.T) { x.actAtStatus(t, "node1", "Releasing", func(sim.Machine) {}) },
		},
	}
	for phase, tc := range phases {
		for who, kill := range killFunctions {
			t.Run(phase+"/"+who, func(t *testing.T) {
				t.Parallel()
				if isOnSite() && tc.brief {
					t.Skip("runs only on the simulator: " + siteTooBrief)
				}
				x := newMetalTarget(t, slowTransitions, func(m *sim.Model) { m.Latency.Release = 2 * time.Second })
				t.Log(tc.reason)
				x.tagLentMachines(t, "metal")
				w := newWorkspace(t, x.config(testMachine("db", `selector = { tags = ["metal"], min_cores = 8 }`,
					`deploy = { image = "ubuntu/noble", user_data_wo = "#cloud-config\n# `+userDataSecret+`\n", user_data_wo_version = 1 }`))).withTrace()
				if tc.verb == "destroy" {
					w.run(t, "apply", "-auto-approve", "-no-color")
				}
				x.holdMachine("node1")
				cmd, out := w.command(t.Context(), tc.verb, "-auto-approve", "-no-color")
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				tc.reach(x, t)
				if err := kill(cmd); err != nil {
					t.Fatal(err)
				}
				if err := cmd.Wait(); err == nil {
					t.Fatalf("the run ended well before it was killed:\n%s", out)
				}
				x.resumeMachines("node1")
				if tc.verb == "apply" {
					w.run(t, "apply", "-auto-approve", "-no-color")
					if n, counted := x.countDeployments(); counted && n != 1 || w.status(t) != "Deployed" {
						t.Errorf("%s\nit is %s after %d deployments", tc.reason, w.status(t), n)
					}
				}
				w.run(t, "destroy", "-auto-approve", "-no-color")
				if err := x.checkReady("node1", "node2", "small")(nil); err != nil {
					t.Errorf("%s\n%v", tc.reason, err)
				}
				x.wantUntouched(t)
				w.checkNoSecrets(t, x.target)
			})
		}
	}
}

// TestAccMachineTimeoutIsResumed ends a create by its timeout. The next apply
// must go on with the same machine.
func TestAccMachineTimeoutIsResumed(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t, func(m *sim.Model) { m.Latency.Deploy = 12 * time.Second })
	w := newWorkspace(t, x.config(machineOnNode1(createWithin6s)))
	if out := w.run(t, "apply", "-auto-approve", "-no-color"); !wordsPattern("Machine node1 is not finished: Deploying timeouts.create the next apply continues").MatchString(out) {
		t.Errorf("want a warning, got:\n%s", out)
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	if n, counted := x.countDeployments(); counted && n != 1 || w.status(t) != "Deployed" {
		t.Errorf("it is %s after %d deployments", w.status(t), n)
	}
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccMachineFailsForGood makes a deployment fail. The machine is kept for a
// look, and the next apply deploys again. The same happens where a protection
// was wanted and not set yet.
func TestAccMachineFailsForGood(t *testing.T) {
	t.Parallel()
	for title, attributes := range map[string][]string{"Plain": nil, "Protected": {`deletion_protection = true`}} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newMetalTarget(t, slowTransitions)
			w := newWorkspace(t, x.config(machineOnNode1(attributes...)))
			cmd, out := w.command(t.Context(), "apply", "-auto-approve", "-no-color")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			x.awaitDeploying(t, "node1")
			if err := x.simulatorOrSkip().FailMachine(x.findMachine(t, "node1").SystemID, "disk on fire"); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err == nil || !wordsPattern(`Cannot create machine db ended in the state "Failed deployment" disk on fire Destroy it to release it`).MatchString(unwrapMessage(out.String())) {
				t.Errorf("want an error, got %v:\n%s", err, out)
			}
			if m := x.findMachine(t, "node1"); m.StatusName != "Failed deployment" {
				t.Errorf("it is not kept: %s", m.StatusName)
			}
			w.run(t, "apply", "-auto-approve", "-no-color")
			if m := x.findMachine(t, "node1"); w.status(t) != "Deployed" || m.Locked != (attributes != nil) {
				t.Errorf("it is %s, and locked: %v", w.status(t), m.Locked)
			}
			w.configure(t, x.config(machineOnNode1()))
			w.run(t, "apply", "-auto-approve", "-no-color")
			w.run(t, "destroy", "-auto-approve", "-no-color")
			if err := x.checkReady("node1")(nil); err != nil {
				t.Error(err)
			}
			x.wantUntouched(t)
		})
	}
}

// TestAccMachineDrift changes a machine without Terraform.
func TestAccMachineDrift(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		drift   func(t *testing.T, x *metalTarget)
		actions string
		words   string
		check   func(t *testing.T, w workspace)
	}{
		"Released": {
			reason: "If somebody releases the machine, the plan creates it again.", actions: "create", words: "it was released",
			drift: func(t *testing.T, x *metalTarget) { x.releaseMachine(t, "node1") },
		},
		"Renamed": {
			reason: "A renamed machine is the same machine, and the state gets its new name.", actions: "no-op",
			drift: func(t *testing.T, x *metalTarget) {
				x.editMachine(t, "node1", sim.MachineEdit{Hostname: ptr("renamed")})
			},
			check: func(t *testing.T, w workspace) {
				w.run(t, "apply", "-refresh-only", "-auto-approve", "-no-color")
				if got := w.stateAttribute(t, "hostname"); got != "renamed" {
					t.Errorf("it is called %s", got)
				}
			},
		},
		"Broken": {
			reason: "A machine that ran once is not replaced, and a warning names its status.", actions: "no-op", words: `Machine node1 is in state "Failed deployment"`,
			drift: func(t *testing.T, x *metalTarget) {
				x.simulatorOrSkip()
				x.editMachine(t, "node1", sim.MachineEdit{StatusName: ptr("Failed deployment")})
			},
		},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newMetalTarget(t)
			w := newWorkspace(t, x.config(machineOnNode1()))
			w.run(t, "apply", "-auto-approve", "-no-color")
			t.Log(tc.reason)
			tc.drift(t, x)
			if out := unwrapMessage(w.run(t, "plan", "-no-color")); !wordsPattern(tc.words).MatchString(out) {
				t.Errorf("want the words %q, got:\n%s", tc.words, out)
			}
			if got := joinActions(w.planActionsOn(t, machineAddress)); got != tc.actions {
				t.Errorf("the plan wants %s", got)
			}
			if tc.check != nil {
				tc.check(t, w)
			}
			w.run(t, "apply", "-auto-approve", "-no-color")
			w.wantEmptyPlan(t)
			w.run(t, "destroy", "-auto-approve", "-no-color")
			if err := x.checkReady("node1", "renamed")(nil); err != nil {
				t.Error(err)
			}
		})
	}
}
