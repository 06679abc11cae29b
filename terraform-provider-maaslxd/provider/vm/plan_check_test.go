package vm

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
)

// TestWantedOfPlan checks which part of a plan the engine is asked about, and by which verb.
func TestWantedOfPlan(t *testing.T) {
	t.Parallel()
	vm := func(zone string) vmModel {
		return vmModel{
			ID: types.StringValue("4y3h7n"), Name: types.StringValue("web-1"), VMHost: types.StringValue("h1"), Zone: types.StringValue(zone),
			Cores: types.Int64Value(2), MemoryMiB: types.Int64Value(2048),
		}
	}
	had, renamed := vm("az1"), vm("az1")
	renamed.Name = types.StringValue("api-1")
	cases := map[string]struct {
		reason string
		plan   vmPlan
		doing  string
		id     string // of the VM
		host   string
		zone   string
	}{
		"Create":  {"The whole spec of a new VM is checked.", vmPlan{plan: vm("az1"), config: vm("az1")}, "create", "", "h1", "az1"},
		"Replace": {"So is that of a replaced VM, whose own names do not count as taken.", vmPlan{state: &had, plan: vm("az1"), config: vm("az1"), replace: path.Paths{path.Root("disks")}}, "replace", "4y3h7n", "h1", "az1"},
		"Zone":    {"Only the names of a change in place are checked.", vmPlan{state: &had, plan: vm("az2"), config: vm("az2")}, "update", "4y3h7n", "", "az2"},
		"Rename":  {"So is a new name, which another VM may have.", vmPlan{state: &had, plan: renamed, config: renamed}, "update", "4y3h7n", "", ""},
		"Nothing": {"A plan without a change checks nothing.", vmPlan{state: &had, plan: vm("az1"), config: vm("az1")}, "", "", "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.plan.diags, tc.plan.private = new(diag.Diagnostics), privateState{Key: "default/web-1"}
			r := vmResource{client: client.NewWithBackend(nil)}
			ref, spec, doing := r.specToCheck(t.Context(), tc.plan)
			if doing != tc.doing || ref.SystemID != tc.id || spec.Host != tc.host || spec.Zone != tc.zone {
				t.Errorf("%s\ngot %q of %q with %+v", tc.reason, doing, ref.SystemID, spec)
			}
			if isRename := tc.plan.state != nil && !tc.plan.plan.Name.Equal(had.Name); isRename && spec.Name != "api-1" {
				t.Errorf("%s\ngot the name %q", tc.reason, spec.Name)
			}
			if tc.id != "" && ref.Key != engine.Key("default/web-1") {
				t.Errorf("%s\ngot the key %q, want that of the state", tc.reason, ref.Key)
			}
			if tc.plan.diags.HasError() {
				t.Errorf("%s\ngot %v", tc.reason, tc.plan.diags)
			}
		})
	}
}
