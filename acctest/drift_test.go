package acctest_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestAccVMDrift changes things without Terraform. It wants a plan, never an
// error, and the wanted state after the apply.
func TestAccVMDrift(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		drift  func(t *testing.T, x *target, name string)
		action plancheck.ResourceActionType
		check  []statecheck.StateCheck
	}{
		"Zone": {
			reason: "If somebody moves a VM to another zone, an update moves it back.",
			drift: func(t *testing.T, x *target, name string) {
				x.editMachine(t, name, sim.MachineEdit{Zone: ptr("az2")})
			},
			action: plancheck.ResourceActionUpdate,
			check:  []statecheck.StateCheck{expectVMValue("zone", exactText("az1"))},
		},
		"Tag": {
			reason: "If somebody removes a tag, an update adds it again.",
			drift: func(t *testing.T, x *target, name string) {
				x.editMachine(t, name, sim.MachineEdit{Tags: &[]string{"virtual"}})
			},
			action: plancheck.ResourceActionUpdate,
			check:  []statecheck.StateCheck{expectVMValue("tags", knownvalue.SetExact([]knownvalue.Check{exactText("web")}))},
		},
		"Name": {
			reason: "If somebody renames a VM, an update gives it its name back.",
			drift: func(t *testing.T, x *target, name string) {
				x.editMachine(t, name, sim.MachineEdit{Hostname: ptr("renamed")})
			},
			action: plancheck.ResourceActionUpdate,
		},
		"Deleted": {
			reason: "If somebody deletes a VM, the plan creates it again.",
			drift: func(t *testing.T, x *target, name string) {
				x.deleteMachine(t, name)
			},
			action: plancheck.ResourceActionCreate,
			check:  []statecheck.StateCheck{expectVMValue("status", exactText("Deployed"))},
		},
		"Released": {
			reason: "If somebody releases a VM, an update installs it again.",
			drift: func(t *testing.T, x *target, name string) {
				x.postForm(t, "machines/"+x.findMachine(t, name).SystemID+"/?op=release", nil)
				x.actAtStatus(t, name, "Ready", func(sim.Machine) {})
			},
			action: plancheck.ResourceActionUpdate,
			check:  []statecheck.StateCheck{expectVMValue("status", exactText("Deployed"))},
		},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newTarget(t)
			name := x.name()
			config := x.config(x.vm(name, `zone = "az1"`, `tags = ["web"]`, x.deploy()))
			runStory(t, resource.TestCase{
				ProtoV6ProviderFactories: providers,
				CheckDestroy:             x.checkVMGone(name),
				Steps: []resource.TestStep{
					{Config: config},
					{
						PreConfig: func() { t.Log(tc.reason); tc.drift(t, x, name) },
						Config:    config,
						ConfigPlanChecks: resource.ConfigPlanChecks{
							PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(vmAddress, tc.action)},
						},
						ConfigStateChecks: append(tc.check, expectVMValue("name", exactText(name))),
					},
				},
			})
		})
	}
}

// TestAccVMStalePlan applies a plan that was made before a VM was released.
// Nothing may be installed that the plan does not say. The next plan says it.
func TestAccVMStalePlan(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason      string
		plan, apply []string
	}{
		"SavedPlan": {
			reason: "The plan was saved before the release.",
			plan:   []string{"plan", "-out=saved", "-no-color"},
			apply:  []string{"apply", "-no-color", "saved"},
		},
		"NoRefresh": {
			reason: "The plan did not read MAAS.",
			apply:  []string{"apply", "-refresh=false", "-auto-approve", "-no-color"},
		},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newTarget(t)
			name := x.name()
			w := newWorkspace(t, x.config(x.vm(name, x.deploy(), `tags = ["a"]`)))
			w.run(t, "apply", "-auto-approve", "-no-color")
			w.configure(t, x.config(x.vm(name, x.deploy(), `tags = ["b"]`)))
			t.Log(tc.reason)
			if tc.plan != nil {
				w.run(t, tc.plan...)
			}
			x.postForm(t, "machines/"+x.findMachine(t, name).SystemID+"/?op=release", nil)
			x.actAtStatus(t, name, "Ready", func(sim.Machine) {})
			out := w.run(t, tc.apply...)
			if !wordsPattern(name + ` is Ready Deployed was planned`).MatchString(out) {
				t.Errorf("%s\nwant a warning that it was found Ready, got:\n%s", tc.reason, out)
			}
			if n, counted := x.countCalls(t, deployRoute); counted && n != 1 {
				t.Errorf("%s\nwant it installed once, by the create, got %d deployments", tc.reason, n)
			}
			if m := x.findMachine(t, name); !slices.Contains(m.Tags, "b") || slices.Contains(m.Tags, "a") {
				t.Errorf("%s\nwant the tags changed as planned, got %q", tc.reason, m.Tags)
			}
			if got := w.status(t); got != "Deployed" {
				t.Errorf("%s\nthe state says %s, and the plan said Deployed", tc.reason, got)
			}
			w.run(t, "apply", "-auto-approve", "-no-color")
			if m := x.findMachine(t, name); m.StatusName != "Deployed" {
				t.Errorf("%s\nafter another apply it is %s", tc.reason, m.StatusName)
			}
			w.run(t, "plan", "-detailed-exitcode", "-no-color")
			if n, counted := x.countCalls(t, composeRoute()); counted && n != 1 {
				t.Errorf("%s\nwant it composed once, got %d", tc.reason, n)
			}
			w.run(t, "destroy", "-auto-approve", "-no-color")
		})
	}
}

const deployRoute = "POST machines/{id}/ deploy"

// TestAccVMHostRefreshed wants an empty plan after a refresh of the VM host,
// although MAAS then no longer shows storage pools.
func TestAccVMHostRefreshed(t *testing.T) {
	t.Parallel()
	for title, attributes := range map[string][]string{
		"DefaultDisks": nil,
		"GivenDisks":   {`disks = { root = { size_gb = 8 }, data = { size_gb = 9, pool = "fast" } }`},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newTarget(t)
			name := x.name()
			w := newWorkspace(t, x.config(x.vm(name, attributes...)))
			w.run(t, "apply", "-auto-approve", "-no-color")
			if !isLXDColumn() { // MAAS refreshes nothing there
				x.refreshHost(t)
			}
			w.run(t, "plan", "-detailed-exitcode", "-no-color")
			w.run(t, "state", "rm", vmAddress)
			w.run(t, "import", "-no-color", vmAddress, name)
			if got := w.planActions(t); !slices.Equal(got, []string{"no-op"}) && attributes == nil {
				t.Errorf("a plan of the imported VM wants %q", got)
			} else if slices.Contains(got, "delete") {
				t.Errorf("a plan of the imported VM replaces it: %q", got)
			}
			w.run(t, "apply", "-auto-approve", "-no-color")
			w.run(t, "plan", "-detailed-exitcode", "-no-color")
			// MAAS shows the pool of the next VM again, which must not
			// contradict the plan.
			w.configure(t, x.config(x.vm(name, append(attributes, `memory_mib = 3072`)...)))
			w.run(t, "apply", "-auto-approve", "-no-color")
			w.run(t, "plan", "-detailed-exitcode", "-no-color")
			w.run(t, "destroy", "-auto-approve", "-no-color")
		})
	}
}

// TestAccVMGoneBeforeDestroy wants a destroy without an error where the VM is
// already gone.
func TestAccVMGoneBeforeDestroy(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	name := x.name()
	runStory(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		CheckDestroy:             x.checkVMGone(name),
		Steps: []resource.TestStep{
			{Config: x.config(x.vm(name))},
			{
				PreConfig: func() {
					x.deleteMachine(t, name)
				},
				Config: x.config(x.vm(name)), Destroy: true,
			},
		},
	})
}

func ptr[T any](v T) *T { return &v }

// TestAccVMResizeUnanswered resizes a VM while MAAS does not answer a call that
// the plan needs. The resize would replace the VM, so the plan stops.
func TestAccVMResizeUnanswered(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ reason, route, want string }{
		"Maker": {"Nobody knows whether MAAS makes VMs, or LXD, which resizes them in place.", "vm-hosts/", "Cannot find out whether the size of VM web changes in place replaced Plan again when MAAS answers"},
		"Check": {"Nobody knows whether another VM could be made.", "version/", "Cannot replace VM web stops before VM web is destroyed Plan again when MAAS answers"},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			t.Log(tc.reason)
			x := newSimulatedTarget(t)
			sized := func(cores int) string { return x.config(x.vm("web", fmt.Sprintf("cores = %d", cores))) }
			w := newWorkspace(t, sized(1))
			w.run(t, "apply", "-auto-approve", "-no-color")
			before := x.findMachine(t, "web").SystemID
			x.simulatorOrSkip().AddFault(sim.Fault{Method: http.MethodGet, Path: tc.route, Kind: sim.FaultStatus, Status: 503})
			w.configure(t, sized(2))
			w.wantRefusedPlan(t, tc.want)
			x.simulatorOrSkip().ClearFaults()
			if got := x.findMachine(t, "web"); got.SystemID != before || got.Cores != 1 {
				t.Errorf("it is %+v", got)
			}
			w.configure(t, sized(1))
			w.wantEmptyPlan(t)
			w.run(t, "destroy", "-auto-approve", "-no-color")
		})
	}
}

// TestAccVMReplacedForSize: where MAAS makes the VMs, a plan that replaces a VM
// for its size says so, also if the VM may be stopped.
func TestAccVMReplacedForSize(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	w := newWorkspace(t, x.config(x.vm("web", x.deploy())))
	w.run(t, "apply", "-auto-approve", "-no-color")
	for change, word := range map[string]string{"cores = 2": "cores", "memory_mib = 4096": "memory", "disks = { root = { size_gb = 20 } }": "disk"} {
		w.configure(t, x.config(x.vm("web", change, "allow_stopping_for_update = true", x.deploy())))
		want := "VM will be replaced, with all its disks MAAS makes the VMs here, and changes no " + word + " not even with allow_stopping_for_update"
		if out := unwrapMessage(w.run(t, "plan", "-no-color")); !wordsPattern(want).MatchString(out) {
			t.Errorf("%s: want a warning with the words %q, got:\n%s", change, want, out)
		}
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccVMDeployWarns plans to deploy VMs that may have data: one that somebody released, and the same
// one after it was imported again. The plan says what is lost.
func TestAccVMDeployWarns(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	name := x.name()
	w := newWorkspace(t, x.config(x.vm(name, x.deploy())))
	w.run(t, "apply", "-auto-approve", "-no-color")
	id := x.findMachine(t, name).SystemID
	x.postForm(t, "machines/"+id+"/?op=release", nil)
	x.actAtStatus(t, name, "Ready", func(sim.Machine) {})
	wantWarning := func(why string) {
		t.Helper()
		if out := unwrapMessage(w.run(t, "plan", "-no-color")); !wordsPattern("Warning: The VM will be deployed, and its data are lost " + name + " " + why + ", and is Ready remove deploy").MatchString(out) {
			t.Errorf("want the plan to say what is lost, got:\n%s", out)
		}
	}
	wantWarning("ran before")
	w.run(t, "state", "rm", vmAddress)
	x.editMachine(t, name, sim.MachineEdit{Description: new("")}) // nothing says that this provider made it
	w.run(t, "import", "-no-color", vmAddress, id)
	wantWarning("was imported")
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
}
