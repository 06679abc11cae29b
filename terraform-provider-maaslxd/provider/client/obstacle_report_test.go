package client

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// TestObstaclesOfAPlan checks which obstacles are errors of the plan, and which are warnings.
func TestObstaclesOfAPlan(t *testing.T) {
	t.Parallel()
	lasting := engine.Obstacles{Permanent: []error{&engine.SpecError{Field: fieldpath.New("vm_host"), Message: "MAAS has no VM host h9", Err: engine.ErrNotFound}}}
	passing := engine.Obstacles{Temporary: []error{&engine.Error{Type: engine.InsufficientResources, Host: "h1", Message: "no room"}}}
	unseen := engine.Obstacles{Unchecked: []error{engine.ErrUnavailable}}
	unseenTwice := engine.Obstacles{Unchecked: []error{engine.ErrUnavailable, errors.New("a proxy's page")}}
	cases := map[string]struct {
		reason    string
		doing     string
		obstacles engine.Obstacles
		replaces  bool
		isForced  bool
		want      []string
	}{
		"CreateLasting":  {"An object that is only created may need another one that the same run makes.", "create", lasting, false, false, []string{"Warning at vm_host: Cannot create VM web-1 as things are"}},
		"TaintedLasting": {"A new object in the place of an existing one is a replacement, also where Terraform says create.", "create", lasting, true, false, []string{"Error at vm_host: Cannot replace VM web-1"}},
		"ReplaceLasting": {"The plan destroys nothing that it cannot make again.", "replace", lasting, true, false, []string{"Error at vm_host: Cannot replace VM web-1"}},
		"UpdateLasting":  {"An update that cannot succeed is not begun.", "update", lasting, false, false, []string{"Error at vm_host: Cannot update VM web-1"}},
		"CreatePassing":  {"The same run may free it.", "create", passing, false, false, []string{"Warning: Cannot create VM web-1 as things are"}},
		"ReplacePassing": {"The same run may free it for a replacement, too.", "replace", passing, true, false, []string{"Warning: Cannot replace VM web-1 as things are"}},
		"ForcedPassing":  {"Terraform shows no warning of a replacement by -replace.", "create", passing, true, true, []string{"Error: Cannot replace VM web-1"}},
		"ForcedUnseen":   {"A VM whose room nobody knows is not destroyed.", "create", unseen, true, true, []string{"Error: Cannot replace VM web-1"}},
		"CreateUnseen":   {"Where MAAS cannot be asked, one warning says so.", "create", unseenTwice, false, false, []string{"Warning: The plan is not checked against MAAS"}},
		"UpdateUnseen":   {"An update destroys nothing, and the apply checks it.", "update", unseen, false, false, []string{"Warning: The plan is not checked against MAAS"}},
		"TaintedUnseen":  {"A VM is not destroyed if nobody knows whether another can be made.", "create", unseen, true, false, []string{"Error: Cannot replace VM web-1"}},
		"ReplaceUnseen":  {"The same is true of a plan that replaces it.", "replace", unseen, true, false, []string{"Error: Cannot replace VM web-1"}},
		"Nothing":        {"Nothing is in the way.", "replace", engine.Obstacles{}, true, false, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			v := ObstacleReport{Object: "VM web-1", Action: tc.doing, Replaces: tc.replaces, IsForced: tc.isForced, Run: new(Run), Diags: &diags}
			v.AddDiagnostics(tc.obstacles, func() bool { return false })
			var got []string
			for _, d := range diags {
				at := ""
				if pointed, ok := d.(diag.DiagnosticWithPath); ok {
					at = " at " + pointed.Path().String()
				}
				got = append(got, d.Severity().String()+at+": "+d.Summary())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestObstaclesOfAFinishedObject checks the plan of an object that MAAS has already. The state
// may have it as tainted: without a refresh, Terraform shows the provider nothing of it.
func TestObstaclesOfAFinishedObject(t *testing.T) {
	t.Parallel()
	missing := &engine.SpecError{Field: fieldpath.New("pool"), Message: "MAAS knows no resource pool shop", Err: engine.ErrNotFound}
	noRoom := &engine.Error{Type: engine.InsufficientResources, Host: "h1", Message: "no room"}
	var diags diag.Diagnostics
	v := ObstacleReport{Object: "VM web-1", Action: "create", Run: new(Run), Diags: &diags}
	v.AddDiagnostics(engine.Obstacles{Permanent: []error{missing}, Temporary: []error{noRoom}}, func() bool { return true })
	var got []string
	for _, d := range diags {
		got = append(got, d.Severity().String()+": "+d.Summary()+": "+d.Detail())
	}
	want := []string{
		"Error: Cannot create VM web-1: pool: MAAS knows no resource pool shop.\n\nMAAS has VM web-1 already. If the state has it as tainted, the apply would destroy it. So the plan stops here. " +
			"If the state has lost it, import it. If it belongs to another configuration, choose another name. If you ran terraform destroy, add -refresh=false.",
		"Warning: Cannot create VM web-1 as things are: no room (VM host h1).\n\nThe apply fails, unless this run first deletes or changes what is in the way.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
