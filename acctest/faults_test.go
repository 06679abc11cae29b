package acctest_test

import (
	"net/http"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

const (
	composePath = "vm-hosts/*/"
	machinePath = "machines/*/"
)

// TestAccVMFaults breaks single calls and wants the apply to get there, with
// one VM, composed once.
func TestAccVMFaults(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason   string
		fault    sim.Fault
		composes int // calls that reach MAAS, zero means 1
	}{
		"ComposeUnavailable": {
			reason:   "A 503 before anything happened is tried again after a look.",
			fault:    sim.Fault{Method: http.MethodPost, Path: composePath, Op: "compose", When: sim.Before, Kind: sim.FaultStatus, Status: 503},
			composes: 2,
		},
		"ComposeGatewayTimeout": {
			reason: "A proxy gave up, MAAS went on: the VM is found, not composed again.",
			fault:  sim.Fault{Method: http.MethodPost, Path: composePath, Op: "compose", When: sim.After, Kind: sim.FaultStatus, Status: 504},
		},
		"ComposeLostReply": {
			reason: "The connection broke after the effect.",
			fault:  sim.Fault{Method: http.MethodPost, Path: composePath, Op: "compose", When: sim.After, Kind: sim.FaultLostReply},
		},
		"MarkLostReply": {
			reason: "The marker was written, its reply lost.",
			fault:  sim.Fault{Method: http.MethodPut, Path: machinePath, When: sim.After, Kind: sim.FaultLostReply},
		},
		"DeployHangs": {
			reason: "The reply never comes; the deployment was begun.",
			fault:  sim.Fault{Method: http.MethodPost, Path: machinePath, Op: "deploy", When: sim.After, Kind: sim.FaultHang},
		},
		"DeployUnavailable": {
			reason: "A 503 for a deployment that did not begin.",
			fault:  sim.Fault{Method: http.MethodPost, Path: machinePath, Op: "deploy", When: sim.Before, Kind: sim.FaultStatus, Status: 503},
		},
		"ReadReset": {
			reason: "A broken read is read again.",
			fault:  sim.Fault{Method: http.MethodGet, Path: "machines/", When: sim.Before, Kind: sim.FaultReset},
		},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := simulated(t)
			name := x.name()
			tc.fault.Nth = 1
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: providers,
				CheckDestroy:             x.checkEmpty(name),
				Steps: []resource.TestStep{{
					PreConfig:         func() { t.Log(tc.reason); x.sim.AddFault(tc.fault) },
					Config:            x.configWith("poll_interval = \"50ms\"\n  request_timeout = \"1s\"", x.vm(name, x.deploy())),
					ConfigStateChecks: []statecheck.StateCheck{is("status", text("Deployed"))},
				}},
			})
			if n := x.sim.Journal().Count(composeRoute); n != max(tc.composes, 1) {
				t.Errorf("%s\nthere were %d composes, want %d", tc.reason, n, max(tc.composes, 1))
			}
		})
	}
}

// TestAccVMFailedTransitions wants MAAS's own words for a VM that fails, and a
// replacement by the next apply.
func TestAccVMFailedTransitions(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		during string
		want   string
	}{
		"Commissioning": {"A VM that cannot be commissioned is useless.", "Commissioning", `VMCreationFailed Failed commissioning disk on fire`},
		"Deploying":     {"A VM that cannot be deployed is useless.", "Deploying", `VMDeploymentFailed Failed deployment disk on fire`},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := simulated(t, slow)
			name := x.name()
			config := x.config(x.vm(name, x.deploy()))
			t.Log(tc.reason)
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: providers,
				CheckDestroy:             x.checkEmpty(name),
				Steps: []resource.TestStep{
					{
						PreConfig: func() {
							go x.when(t, name, tc.during, func(m sim.Machine) {
								if err := x.sim.Fail(m.SystemID, "disk on fire"); err != nil {
									t.Error(err)
								}
							})
						},
						Config: config, ExpectError: words(tc.want),
					},
					{
						Config:            config,
						ConfigPlanChecks:  replaces,
						ConfigStateChecks: []statecheck.StateCheck{is("status", text("Deployed"))},
					},
				},
			})
		})
	}
}

// TestAccVMTimeoutIsResumed cuts a create with its own timeout and wants the
// next apply to go on waiting, for the same VM.
func TestAccVMTimeoutIsResumed(t *testing.T) {
	t.Parallel()
	for _, during := range []string{"Commissioning", "Deploying"} {
		t.Run(during, func(t *testing.T) {
			t.Parallel()
			x := simulated(t, slow)
			name := x.name()
			limit := map[string]string{"Commissioning": "1s", "Deploying": "3s"}[during]
			var id string
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: providers,
				CheckDestroy:             x.checkEmpty(name),
				Steps: []resource.TestStep{
					{
						Config:             x.config(x.vm(name, x.deploy(), `timeouts = { create = "`+limit+`" }`)),
						ExpectNonEmptyPlan: true,
						ConfigStateChecks:  []statecheck.StateCheck{is("status", text(during))},
					},
					{
						PreConfig: func() { id = x.machine(t, name).SystemID },
						Config:    x.config(x.vm(name, x.deploy(), `timeouts = { create = "`+limit+`" }`)),
						ConfigPlanChecks: resource.ConfigPlanChecks{
							PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(vmAddress, plancheck.ResourceActionUpdate)},
						},
						ConfigStateChecks: []statecheck.StateCheck{is("status", text("Deployed"))},
					},
				},
			})
			if n := x.sim.Journal().Count(composeRoute); n != 1 {
				t.Errorf("the VM %s was composed %d times", id, n)
			}
		})
	}
}

// TestAccVMHostUnreachable wants a delete refused while LXD is away, since MAAS
// would answer with success and leave the instance behind.
func TestAccVMHostUnreachable(t *testing.T) {
	t.Parallel()
	x := simulated(t)
	name := x.name()
	config := x.config(x.vm(name, x.deploy(), `timeouts = { delete = "5s" }`))
	lxd := func(c sim.Condition) {
		if err := x.sim.SetLXD("lxd1", c); err != nil {
			t.Fatal(err)
		}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		CheckDestroy:             x.checkEmpty(name),
		Steps: []resource.TestStep{
			{Config: config},
			{
				PreConfig: func() { lxd(sim.Unreachable) },
				Config:    config, Destroy: true, ExpectError: words(`lxd1`),
			},
			{
				PreConfig: func() {
					if n := len(x.sim.Instances()); n != 1 {
						t.Errorf("want the instance kept, got %d", n)
					}
					x.machine(t, name)
					lxd(sim.OK)
				},
				Config: config, Destroy: true,
			},
		},
	})
}
