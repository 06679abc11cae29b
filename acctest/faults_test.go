package acctest_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

const machinePath = "machines/*/"

// TestAccVMFaults breaks single calls, one of each kind. The engine's own test
// breaks every call in every way (TestFailEverywhere). The apply must succeed,
// with one VM that was composed once.
func TestAccVMFaults(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason   string
		fault    sim.Fault
		composes int // calls that reach MAAS; 0 means 1
	}{
		"ComposeUnavailable": {
			reason:   "MAAS answers 503 without an effect, so the provider reads MAAS and composes again.",
			fault:    composeFault(sim.Fault{When: sim.FaultBeforeEffect, Kind: sim.FaultStatus, Status: 503}),
			composes: 2,
		},
		"ComposeLostReply": {
			reason: "The connection breaks after MAAS composed the VM.",
			fault:  composeFault(sim.Fault{When: sim.FaultAfterEffect, Kind: sim.FaultLostReply}),
		},
		"DeployHangs": {
			reason: "MAAS starts the deployment, but its reply never comes.",
			fault:  sim.Fault{Method: http.MethodPost, Path: machinePath, Op: "deploy", When: sim.FaultAfterEffect, Kind: sim.FaultHang},
		},
		"ReadReset": {
			reason: "The provider repeats a read whose connection broke.",
			fault:  sim.Fault{Method: http.MethodGet, Path: "machines/", When: sim.FaultBeforeEffect, Kind: sim.FaultReset},
		},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newSimulatedTarget(t)
			name := x.name()
			tc.fault.Nth = 1
			runStory(t, resource.TestCase{
				ProtoV6ProviderFactories: providers,
				CheckDestroy:             x.checkVMGone(name),
				Steps: []resource.TestStep{{
					PreConfig:         func() { t.Log(tc.reason); x.simulatorOrSkip().AddFault(tc.fault) },
					Config:            x.configWith("poll_interval = \"50ms\"\n  request_timeout = \"5s\"", x.vm(name, x.deploy())),
					ConfigStateChecks: []statecheck.StateCheck{expectVMValue("status", exactText("Deployed"))},
				}},
			})
			if n, counted := x.countCalls(t, composeRoute()); counted && n != max(tc.composes, 1) {
				t.Errorf("%s\nthere were %d composes, want %d", tc.reason, n, max(tc.composes, 1))
			}
		})
	}
}

// TestAccVMFailedTransitions wants MAAS's own words for a VM that fails, and a
// replacement in the next apply.
func TestAccVMFailedTransitions(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		during string
		want   string
	}{
		"Commissioning": {"A VM that cannot be commissioned must be replaced.", "Commissioning", `Failed commissioning`},
		"Deploying":     {"A VM that cannot be deployed must be replaced.", "Deploying", `Failed deployment`},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newTarget(t, slowTransitions)
			x.skipUnlessDriven(t)
			x.holdAllMachines()
			name := x.name()
			config := x.config(x.vm(name, x.deploy()))
			t.Log(tc.reason)
			runStory(t, resource.TestCase{
				ProtoV6ProviderFactories: providers,
				CheckDestroy:             x.checkVMGone(name),
				Steps: []resource.TestStep{
					{
						PreConfig: func() {
							go func() {
								if tc.during == "Deploying" && x.sim == nil {
									x.finishTransitions(t, name, "Commissioning")
								}
								x.actAtStatus(t, name, tc.during, func(m sim.Machine) { x.endTransition(t, m, false) })
							}()
						},
						Config: config, ExpectError: wordsPattern(x.failureText(tc.during, tc.want)),
					},
					{
						PreConfig:         func() { x.resumeMachines(name) },
						Config:            config,
						ConfigPlanChecks:  expectReplace,
						ConfigStateChecks: []statecheck.StateCheck{expectVMValue("status", exactText("Deployed"))},
					},
				},
			})
		})
	}
}

// createWithin15s lets a create reach a state that never ends, also on a busy
// machine.
const createWithin15s = `timeouts = { create = "15s" }`

// TestAccVMTimeoutIsResumed ends a create by its own timeout. The next apply
// must go on waiting for the same VM.
func TestAccVMTimeoutIsResumed(t *testing.T) {
	t.Parallel()
	for _, during := range []string{"Commissioning", "Deploying"} {
		t.Run(during, func(t *testing.T) {
			t.Parallel()
			x := newTarget(t, endlessTransitions)
			x.holdAllMachines()
			name := x.name()
			var id string
			runStory(t, resource.TestCase{
				ProtoV6ProviderFactories: providers,
				CheckDestroy:             x.checkVMGone(name),
				Steps: []resource.TestStep{
					{
						PreConfig: func() {
							if during == "Deploying" {
								go x.finishTransitions(t, name, "Commissioning")
							}
						},
						Config:             x.config(x.vm(name, x.deploy(), createWithin15s)),
						ExpectNonEmptyPlan: true,
						ConfigStateChecks:  []statecheck.StateCheck{expectVMValue("status", exactText(during))},
					},
					{
						PreConfig: func() {
							id = x.findMachine(t, name).SystemID
							if during == "Commissioning" {
								go x.finishTransitions(t, name, "Commissioning", "Deploying")
							} else {
								go x.finishTransitions(t, name, "Deploying")
							}
						},
						Config: x.config(x.vm(name, x.deploy(), createWithin15s)),
						ConfigPlanChecks: resource.ConfigPlanChecks{
							PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(vmAddress, plancheck.ResourceActionUpdate)},
						},
						ConfigStateChecks: []statecheck.StateCheck{expectVMValue("status", exactText("Deployed"))},
					},
				},
			})
			if n, counted := x.countCalls(t, composeRoute()); counted && n != 1 {
				t.Errorf("the VM %s was composed %d times", id, n)
			}
		})
	}
}

// TestAccVMTimeoutThenFailed makes a VM fail after its create timed out. The
// next plan must replace it, because going on would fail again.
func TestAccVMTimeoutThenFailed(t *testing.T) {
	t.Parallel()
	for _, during := range []string{"Commissioning", "Deploying"} {
		t.Run(during, func(t *testing.T) {
			t.Parallel()
			x := newTarget(t, endlessTransitions)
			x.skipUnlessDriven(t)
			x.holdAllMachines()
			name := x.name()
			runStory(t, resource.TestCase{
				ProtoV6ProviderFactories: providers,
				CheckDestroy:             x.checkVMGone(name),
				Steps: []resource.TestStep{
					{
						PreConfig: func() {
							if during == "Deploying" {
								go x.finishTransitions(t, name, "Commissioning")
							}
						},
						Config:             x.config(x.vm(name, x.deploy(), createWithin15s)),
						ExpectNonEmptyPlan: true,
						ConfigStateChecks:  []statecheck.StateCheck{expectVMValue("status", exactText(during))},
					},
					{
						PreConfig: func() {
							x.endTransition(t, x.findMachine(t, name), false)
							go x.finishTransitions(t, name, "Commissioning", "Deploying")
						},
						Config:            x.config(x.vm(name, x.deploy())),
						ConfigPlanChecks:  expectReplace,
						ConfigStateChecks: []statecheck.StateCheck{expectVMValue("status", exactText("Deployed"))},
					},
				},
			})
			if n, counted := x.countCalls(t, composeRoute()); counted && n != 2 {
				t.Errorf("want it made twice, got %d composes", n)
			}
		})
	}
}

// endlessTransitions makes transitions last until the test ends them.
func endlessTransitions(m *sim.Model) {
	m.Latency.Commission, m.Latency.Deploy = time.Hour, time.Hour
}

// finishTransitions ends the transitions of a machine, one after the other.
func (x *target) finishTransitions(t *testing.T, name string, statuses ...string) {
	t.Helper()
	for _, status := range statuses {
		x.actAtStatus(t, name, status, func(m sim.Machine) {
			x.endTransition(t, m, true)
		})
	}
}

// TestAccVMErrorsThatSayNothingOfIt breaks a create in ways that are not the
// VM's fault. The VM must stay, untainted, and be finished by the next apply at
// the latest.
func TestAccVMErrorsThatSayNothingOfIt(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		answer int
		status string // of the VM after the first apply
		then   plancheck.ResourceActionType
	}{
		"KeyRevoked":  {"Somebody deletes the API key during the create.", 401, "Ready", plancheck.ResourceActionUpdate},
		"Forbidden":   {"The user loses a permission during the create.", 403, "Ready", plancheck.ResourceActionUpdate},
		"Maintenance": {"A proxy shows its maintenance page for a moment.", 302, "Deployed", plancheck.ResourceActionNoop},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newSimulatedTarget(t)
			name := x.name()
			config := x.config(x.vm(name, x.deploy()))
			runStory(t, resource.TestCase{
				ProtoV6ProviderFactories: providers,
				CheckDestroy:             x.checkVMGone(name),
				Steps: []resource.TestStep{
					{
						PreConfig: func() {
							t.Log(tc.reason)
							x.simulatorOrSkip().AddFault(sim.Fault{
								Method: http.MethodPost, Path: machinePath, Op: "deploy", Nth: 1,
								Kind: sim.FaultStatus, Status: tc.answer, When: sim.FaultBeforeEffect,
							})
						},
						Config: config, ExpectNonEmptyPlan: tc.then != plancheck.ResourceActionNoop,
						ConfigStateChecks: []statecheck.StateCheck{expectVMValue("status", exactText(tc.status))},
					},
					{
						Config: config,
						ConfigPlanChecks: resource.ConfigPlanChecks{
							PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(vmAddress, tc.then)},
						},
						ConfigStateChecks: []statecheck.StateCheck{expectVMValue("status", exactText("Deployed"))},
					},
				},
			})
			if n, counted := x.countCalls(t, composeRoute()); counted && n != 1 {
				t.Errorf("%s\nwant it composed once, got %d", tc.reason, n)
			}
		})
	}
}

// TestAccVMDeleteFaults breaks single calls of a destroy. The destroy must
// succeed and leave nothing.
func TestAccVMDeleteFaults(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		fault  sim.Fault
	}{
		"ReleaseUnavailable": {
			"Nothing happened; it is tried again.",
			sim.Fault{Method: http.MethodPost, Path: machinePath, Op: "release", When: sim.FaultBeforeEffect, Kind: sim.FaultStatus, Status: 503},
		},
		"DeleteLostReply": {
			"It was done, and nobody heard of it.",
			sim.Fault{Method: http.MethodDelete, Path: machinePath, When: sim.FaultAfterEffect, Kind: sim.FaultLostReply},
		},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newSimulatedTarget(t)
			name := x.name()
			tc.fault.Nth = 1
			config := x.configWith("poll_interval = \"50ms\"\n  request_timeout = \"5s\"", x.vm(name, x.deploy()))
			runStory(t, resource.TestCase{
				ProtoV6ProviderFactories: providers,
				CheckDestroy:             x.checkVMGone(name),
				Steps: []resource.TestStep{
					{Config: config},
					{
						PreConfig: func() { t.Log(tc.reason); x.simulatorOrSkip().AddFault(tc.fault) },
						Config:    config, Destroy: true,
					},
				},
			})
		})
	}
}

// TestAccVMHostUnreachable wants a delete to be refused while LXD does not
// answer. MAAS would answer with success and leave the instance behind.
func TestAccVMHostUnreachable(t *testing.T) {
	t.Parallel()
	x := newSimulatedTarget(t)
	name := x.name()
	config := x.config(x.vm(name, x.deploy(), `timeouts = { delete = "15s" }`))
	lxd := func(c sim.Condition) {
		if err := x.simulatorOrSkip().SetLXDCondition("lxd1", c); err != nil {
			t.Fatal(err)
		}
	}
	runStory(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		CheckDestroy:             x.checkVMGone(name),
		Steps: []resource.TestStep{
			{Config: config},
			{
				PreConfig: func() { lxd(sim.ConditionUnreachable) },
				Config:    config, Destroy: true, ExpectError: wordsPattern(`lxd1`),
			},
			{
				PreConfig: func() {
					if n := len(x.instances()); n != 1 {
						t.Errorf("want the instance kept, got %d", n)
					}
					x.findMachine(t, name)
					lxd(sim.ConditionOK)
				},
				Config: config, Destroy: true,
			},
		},
	})
}
