package acctest_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestAccVMDrift changes things behind Terraform's back and wants a plan, never
// an error, and the wanted state after it.
func TestAccVMDrift(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		drift  func(t *testing.T, x *target, name string)
		action plancheck.ResourceActionType
		check  []statecheck.StateCheck
	}{
		"Zone": {
			reason: "A VM moved to another zone is moved back in place.",
			drift: func(t *testing.T, x *target, name string) {
				x.edit(t, name, sim.MachineEdit{Zone: ptr("az2")})
			},
			action: plancheck.ResourceActionUpdate,
			check:  []statecheck.StateCheck{is("zone", text("az1"))},
		},
		"Tag": {
			reason: "A tag that was taken off is put back in place.",
			drift: func(t *testing.T, x *target, name string) {
				x.edit(t, name, sim.MachineEdit{Tags: &[]string{"virtual"}})
			},
			action: plancheck.ResourceActionUpdate,
			check:  []statecheck.StateCheck{is("tags", knownvalue.SetExact([]knownvalue.Check{text("web")}))},
		},
		"Name": {
			reason: "A VM renamed by hand is the same VM, and gets its name back.",
			drift: func(t *testing.T, x *target, name string) {
				x.edit(t, name, sim.MachineEdit{Hostname: ptr("renamed")})
			},
			action: plancheck.ResourceActionUpdate,
		},
		"Deleted": {
			reason: "A VM deleted by hand is planned anew.",
			drift: func(t *testing.T, x *target, name string) {
				if err := x.sim.DeleteMachine(x.machine(t, name).SystemID); err != nil {
					t.Fatal(err)
				}
			},
			action: plancheck.ResourceActionCreate,
			check:  []statecheck.StateCheck{is("status", text("Deployed"))},
		},
		"Released": {
			reason: "On a VM released by hand nothing runs any more: it is installed again in place.",
			drift: func(t *testing.T, x *target, name string) {
				x.post(t, "machines/"+x.machine(t, name).SystemID+"/?op=release", nil)
				x.when(t, name, "Ready", func(sim.Machine) {})
			},
			action: plancheck.ResourceActionUpdate,
			check:  []statecheck.StateCheck{is("status", text("Deployed"))},
		},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := simulated(t)
			name := x.name()
			config := x.config(x.vm(name, `zone = "az1"`, `tags = ["web"]`, x.deploy()))
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: providers,
				CheckDestroy:             x.checkEmpty(name),
				Steps: []resource.TestStep{
					{Config: config},
					{
						PreConfig: func() { t.Log(tc.reason); tc.drift(t, x, name) },
						Config:    config,
						ConfigPlanChecks: resource.ConfigPlanChecks{
							PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(vmAddress, tc.action)},
						},
						ConfigStateChecks: append(tc.check, is("name", text(name))),
					},
				},
			})
		})
	}
}

// TestAccVMGoneBeforeDestroy wants a destroy without an error where the VM is
// gone already.
func TestAccVMGoneBeforeDestroy(t *testing.T) {
	t.Parallel()
	x := simulated(t)
	name := x.name()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		CheckDestroy:             x.checkEmpty(name),
		Steps: []resource.TestStep{
			{Config: x.config(x.vm(name))},
			{
				PreConfig: func() {
					if err := x.sim.DeleteMachine(x.machine(t, name).SystemID); err != nil {
						t.Fatal(err)
					}
				},
				Config: x.config(x.vm(name)), Destroy: true,
			},
		},
	})
}

func ptr[T any](v T) *T { return &v }
