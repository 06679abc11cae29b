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

// metalNamed is a resource maaslxd_machine with a label.
func metalNamed(label, name string, attributes ...string) string {
	return fmt.Sprintf("resource \"maaslxd_machine\" %q {\n  name = %q\n  %s\n}\n", label, name, strings.Join(attributes, "\n  "))
}

// onMetal is a maaslxd_machine.test.
func onMetal(name string, attributes ...string) string {
	return metalNamed("test", name, attributes...)
}

// db is the machine node1 with an image.
func db(attributes ...string) string {
	return onMetal("db", append([]string{`machine = "node1"`, noble}, attributes...)...)
}

func machineIs(attribute string, value knownvalue.Check) statecheck.StateCheck {
	return statecheck.ExpectKnownValue(machineAddress, tfjsonpath.New(attribute), value)
}

func machinePlans(action plancheck.ResourceActionType) resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(machineAddress, action)}}
}

// withoutVMHosts is a MAAS that has no VM hosts any more. Bare metal needs none.
func withoutVMHosts(m *sim.Model) { m.MAASVersion, m.Hosts = sim.VersionGone, nil }

// wantUntouched checks that no record of a machine was deleted, and nothing released by
// force.
func (x *metalTarget) wantUntouched(t *testing.T) {
	t.Helper()
	if x.sim == nil {
		leaveOut(t, "look for deleted records and forced releases", "a real MAAS keeps no journal of calls")
		return
	}
	for _, c := range x.sim.Journal().Calls {
		if strings.HasPrefix(c.Route, "DELETE machines/") || strings.HasSuffix(c.Route, " release") && len(c.Form["force"])+len(c.Query["force"]) > 0 {
			t.Errorf("%s was sent with %v", c.Route, c.Form)
		}
	}
}

// release gives a machine back, as an operator would.
func (x *metalTarget) release(t *testing.T, name string) {
	t.Helper()
	x.post(t, "machines/"+x.machine(t, name).SystemID+"/?op=release", nil)
	x.when(t, name, "Ready", func(sim.Machine) {})
}

// TestAccMachineLife takes one machine through everything that a user does to it, on a
// MAAS with VM hosts and on one without.
func TestAccMachineLife(t *testing.T) {
	t.Parallel()
	for title, change := range map[string]func(*sim.Model){"VMHosts": func(*sim.Model) {}, "NoVMHosts": withoutVMHosts} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newMetal(t, change)
			story(t, resource.TestCase{
				ProtoV6ProviderFactories: providers,
				CheckDestroy:             x.checkReady("node1", "node2"),
				Steps: []resource.TestStep{
					{ // create; the framework also checks that a second plan is empty
						Config: x.config(db()),
						ConfigStateChecks: []statecheck.StateCheck{
							machineIs("status", text("Deployed")), machineIs("name", text("db")), machineIs("hostname", text("node1")),
							machineIs("fqdn", text("node1.maas")), machineIs("zone", text("az1")), machineIs("cores", x.cores(1)),
							machineIs("ip_addresses", knownvalue.ListSizeExact(1)), machineIs("id", knownvalue.NotNull()),
						},
					},
					{ // another name, another way to write the machine, and what a destroy goes by
						Config:            x.config(onMetal("db-1", `machine = "node1.maas"`, noble, `release = { erase = "quick" }`)),
						ConfigPlanChecks:  machinePlans(plancheck.ResourceActionUpdate),
						ConfigStateChecks: []statecheck.StateCheck{machineIs("name", text("db-1")), machineIs("status", text("Deployed"))},
					},
					{
						Config:           x.config(onMetal("db-1", `machine = "node1"`, noble)),
						ConfigPlanChecks: machinePlans(plancheck.ResourceActionUpdate),
					},
					{ResourceName: machineAddress, ImportState: true, ImportStateVerify: true},
					{ResourceName: machineAddress, ImportState: true, ImportStateId: "node1", ImportStateVerify: true},
					{ResourceName: machineAddress, ImportState: true, ImportStateId: "node1.maas", ImportStateVerify: true},
					{ // a reinstall is a replacement
						Config:            x.config(onMetal("db-1", `machine = "node1"`, `deploy = { image = "ubuntu/jammy" }`)),
						ConfigPlanChecks:  machinePlans(plancheck.ResourceActionReplace),
						ConfigStateChecks: []statecheck.StateCheck{machineIs("status", text("Deployed"))},
					},
					{ // and so is another machine
						Config:            x.config(onMetal("db-1", `machine = "node2"`, `deploy = { image = "ubuntu/jammy" }`)),
						ConfigPlanChecks:  machinePlans(plancheck.ResourceActionReplace),
						ConfigStateChecks: []statecheck.StateCheck{machineIs("hostname", text("node2"))},
					},
				},
			})
			x.wantUntouched(t)
		})
	}
}

// TestAccMachineImportByIdentity needs a CLI that has resource identity.
func TestAccMachineImportByIdentity(t *testing.T) {
	t.Parallel()
	x := newMetal(t)
	story(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		CheckDestroy:             x.checkReady("node1"),
		TerraformVersionChecks:   []tfversion.TerraformVersionCheck{tfversion.SkipBelow(tfversion.Version1_12_0)},
		Steps: []resource.TestStep{
			{Config: x.config(db())},
			{ResourceName: machineAddress, ImportState: true, ImportStateKind: resource.ImportBlockWithResourceIdentity},
		},
	})
}

// TestAccMachineSelected leaves the choice open: the smallest machine that will do is taken,
// and kept whatever the selector says later.
func TestAccMachineSelected(t *testing.T) {
	t.Parallel()
	x := newMetal(t)
	x.tagLent(t, "metal")
	story(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		CheckDestroy:             x.checkReady("node1", "node2"),
		Steps: []resource.TestStep{
			{
				Config:            x.config(onMetal("db", `selector = { tags = ["metal"], min_cores = 4, architecture = "amd64" }`, noble)),
				ConfigStateChecks: []statecheck.StateCheck{machineIs("hostname", text("node1")), machineIs("status", text("Deployed"))},
			},
			{
				Config:            x.config(onMetal("db", `selector = { tags = ["metal"], min_cores = 16 }`, noble)),
				ConfigPlanChecks:  machinePlans(plancheck.ResourceActionUpdate),
				ConfigStateChecks: []statecheck.StateCheck{machineIs("hostname", text("node1"))},
			},
			{
				Config:            x.config(onMetal("db", `machine = "node1"`, noble)),
				ConfigPlanChecks:  machinePlans(plancheck.ResourceActionUpdate),
				ConfigStateChecks: []statecheck.StateCheck{machineIs("hostname", text("node1"))},
			},
		},
	})
}

// TestAccMachineAddress gives an interface a fixed address, and takes it back with the
// machine.
func TestAccMachineAddress(t *testing.T) {
	t.Parallel()
	x := newMetal(t)
	fixed := `interfaces = { eth0 = { ip = "10.77.0.42", subnet = "lan" } }`
	w := newWorkspace(t, x.config(db(fixed)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.settled(t)
	if m := x.machine(t, "node1"); len(m.IPAddresses) != 1 || m.IPAddresses[0] != "10.77.0.42" {
		t.Errorf("it has the addresses %v", m.IPAddresses)
	}
	for _, same := range []string{`interfaces = { lan = { ip = "10.77.0.42", subnet = "10.77.0.0/24" } }`, ``, fixed} {
		w.configure(t, x.config(db(same)))
		w.run(t, "apply", "-auto-approve", "-no-color")
		w.settled(t)
	}
	if n, counted := x.deployments(); counted && n != 1 {
		t.Errorf("it was deployed %d times", n)
	}
	w.configure(t, x.config(db(`interfaces = { eth0 = { ip = "10.77.0.43" } }`)))
	if got := joined(w.actionsOn(t, machineAddress)); got != "delete,create" {
		t.Errorf("another address wants %s", got)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1")(nil); err != nil {
		t.Error(err)
	}
	if m := x.machine(t, "node1"); len(m.IPAddresses) > 0 && m.IPAddresses[0] == "10.77.0.42" || strings.Contains(m.Description, "10.77.0.42") {
		t.Errorf("the address is not taken back: %+v", m)
	}
}

// TestAccMachineErased overwrites the disks when the machine is given back.
func TestAccMachineErased(t *testing.T) {
	t.Parallel()
	x := newMetal(t)
	w := newWorkspace(t, x.config(db(`release = { erase = "quick" }`)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1")(nil); err != nil {
		t.Error(err)
	}
	erased := false
	for _, c := range x.inside().Journal().Calls {
		erased = erased || strings.HasSuffix(c.Route, " release") && url.Values(c.Form).Get("erase") == "true" && url.Values(c.Form).Get("quick_erase") == "true"
	}
	if !erased {
		t.Error("the disks were not erased")
	}
	x.wantUntouched(t)
}

// TestAccMachineKilled kills a run in each phase of a machine's life, and wants the next
// run to go on: one machine, one deployment, nothing left in the end.
func TestAccMachineKilled(t *testing.T) {
	t.Parallel()
	phases := map[string]struct {
		reason string
		verb   string
		brief  bool
		reach  func(x *metalTarget, t *testing.T)
	}{
		"Allocated": {
			reason: "The machine carries the mark of its allocation alone.", verb: "apply", brief: true,
			reach: func(x *metalTarget, t *testing.T) { x.whenCalled(t, "POST machines/ allocate") },
		},
		"Deploying": {
			reason: "The deployment goes on without us.", verb: "apply",
			reach: func(x *metalTarget, t *testing.T) { x.deploying(t, "node1") },
		},
		"Releasing": {
			reason: "A destroy that was cut off is finished by the next.", verb: "destroy", brief: true,
			reach: func(x *metalTarget, t *testing.T) { x.when(t, "node1", "Releasing", func(sim.Machine) {}) },
		},
	}
	for phase, tc := range phases {
		for who, kill := range victims {
			t.Run(phase+"/"+who, func(t *testing.T) {
				t.Parallel()
				if onSite() && tc.brief {
					t.Skip("runs only on the simulator: " + brief)
				}
				x := newMetal(t, slow, func(m *sim.Model) { m.Latency.Release = 2 * time.Second })
				t.Log(tc.reason)
				x.tagLent(t, "metal")
				w := newWorkspace(t, x.config(onMetal("db", `selector = { tags = ["metal"], min_cores = 8 }`,
					`deploy = { image = "ubuntu/noble", user_data_wo = "#cloud-config\n# `+secret+`\n", user_data_wo_version = 1 }`))).traced()
				if tc.verb == "destroy" {
					w.run(t, "apply", "-auto-approve", "-no-color")
				}
				x.hold("node1")
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
				x.goesOn("node1")
				if tc.verb == "apply" {
					w.run(t, "apply", "-auto-approve", "-no-color")
					if n, counted := x.deployments(); counted && n != 1 || w.status(t) != "Deployed" {
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

// TestAccMachineTimeoutIsResumed cuts a create off, and wants the next apply to go on with
// the same machine.
func TestAccMachineTimeoutIsResumed(t *testing.T) {
	t.Parallel()
	x := newMetal(t, func(m *sim.Model) { m.Latency.Deploy = 12 * time.Second })
	w := newWorkspace(t, x.config(db(shortly)))
	if out := w.run(t, "apply", "-auto-approve", "-no-color"); !words("Machine node1 is not finished: Deploying timeouts.create the next apply goes on").MatchString(out) {
		t.Errorf("want a warning, got:\n%s", out)
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	if n, counted := x.deployments(); counted && n != 1 || w.status(t) != "Deployed" {
		t.Errorf("it is %s after %d deployments", w.status(t), n)
	}
	w.settled(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccMachineFailsForGood lets a deployment fail: the machine is kept to be looked at,
// and the next apply deploys anew. So it does where the machine was to be protected, and never
// was.
func TestAccMachineFailsForGood(t *testing.T) {
	t.Parallel()
	for title, attributes := range map[string][]string{"Plain": nil, "Protected": {`deletion_protection = true`}} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newMetal(t, slow)
			w := newWorkspace(t, x.config(db(attributes...)))
			cmd, out := w.command(t.Context(), "apply", "-auto-approve", "-no-color")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			x.deploying(t, "node1")
			if err := x.inside().Fail(x.machine(t, "node1").SystemID, "disk on fire"); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err == nil || !words(`Cannot create machine db ended in the state "Failed deployment" disk on fire destroying it releases it`).MatchString(unwrapped(out.String())) {
				t.Errorf("want an error, got %v:\n%s", err, out)
			}
			if m := x.machine(t, "node1"); m.StatusName != "Failed deployment" {
				t.Errorf("it is not kept: %s", m.StatusName)
			}
			w.run(t, "apply", "-auto-approve", "-no-color")
			if m := x.machine(t, "node1"); w.status(t) != "Deployed" || m.Locked != (attributes != nil) {
				t.Errorf("it is %s, and locked: %v", w.status(t), m.Locked)
			}
			w.configure(t, x.config(db()))
			w.run(t, "apply", "-auto-approve", "-no-color")
			w.run(t, "destroy", "-auto-approve", "-no-color")
			if err := x.checkReady("node1")(nil); err != nil {
				t.Error(err)
			}
			x.wantUntouched(t)
		})
	}
}

// TestAccMachineDrift changes things behind Terraform's back.
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
			reason: "Nothing runs on it any more: it is planned anew.", actions: "create", words: "someone has released it",
			drift: func(t *testing.T, x *metalTarget) { x.release(t, "node1") },
		},
		"Renamed": {
			reason: "It is the same machine, and its new name is shown.", actions: "no-op",
			drift: func(t *testing.T, x *metalTarget) {
				x.edit(t, "node1", sim.MachineEdit{Hostname: ptr("renamed")})
			},
			check: func(t *testing.T, w workspace) {
				w.run(t, "apply", "-refresh-only", "-auto-approve", "-no-color")
				if got := w.only(t, "hostname"); got != "renamed" {
					t.Errorf("it is called %s", got)
				}
			},
		},
		"Broken": {
			reason: "What ran once is left alone, and told.", actions: "no-op", words: `Machine node1 is in state "Failed deployment"`,
			drift: func(t *testing.T, x *metalTarget) {
				x.inside()
				x.edit(t, "node1", sim.MachineEdit{StatusName: ptr("Failed deployment")})
			},
		},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newMetal(t)
			w := newWorkspace(t, x.config(db()))
			w.run(t, "apply", "-auto-approve", "-no-color")
			t.Log(tc.reason)
			tc.drift(t, x)
			if out := unwrapped(w.run(t, "plan", "-no-color")); !words(tc.words).MatchString(out) {
				t.Errorf("want the words %q, got:\n%s", tc.words, out)
			}
			if got := joined(w.actionsOn(t, machineAddress)); got != tc.actions {
				t.Errorf("the plan wants %s", got)
			}
			if tc.check != nil {
				tc.check(t, w)
			}
			w.run(t, "apply", "-auto-approve", "-no-color")
			w.settled(t)
			w.run(t, "destroy", "-auto-approve", "-no-color")
			if err := x.checkReady("node1", "renamed")(nil); err != nil {
				t.Error(err)
			}
		})
	}
}
