package vm

import (
	"context"
	"errors"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
)

func TestSameHost(t *testing.T) {
	t.Parallel()
	numbered := []engine.VMHost{{ID: 3, Name: "kvm", MachineID: "abc123"}, {ID: 4, Name: "kvm", MachineID: "def456"}}
	gone := []engine.VMHost{{Name: "kvm", MachineID: "abc123"}, {Name: "kvm2", MachineID: "def456"}}
	cases := map[string]struct {
		reason string
		want   types.String
		id     types.Int64
		listed []engine.VMHost
		err    error
		same   bool
		failed bool
	}{
		"Name":         {"No call is needed.", types.StringValue("kvm"), types.Int64Value(3), nil, errors.New("away"), true, false},
		"ID":           {"No call is needed for the id.", types.StringValue("3"), types.Int64Value(3), nil, errors.New("away"), true, false},
		"Machine":      {"The system id is that of the host's machine.", types.StringValue("abc123"), types.Int64Value(3), numbered, nil, true, false},
		"OtherMachine": {"If two hosts have one name, the id decides.", types.StringValue("def456"), types.Int64Value(3), numbered, nil, false, false},
		"MachineGone":  {"Where MAAS has no ids of hosts, the name decides.", types.StringValue("abc123"), types.Int64Null(), gone, nil, true, false},
		"Forgotten":    {"An id that MAAS no longer has decides nothing.", types.StringValue("abc123"), types.Int64Value(3), gone, nil, true, false},
		"Other":        {"It is the machine of another host.", types.StringValue("def456"), types.Int64Null(), gone, nil, false, false},
		"Unknown":      {"A value that is not known yet may be another host.", types.StringUnknown(), types.Int64Value(3), numbered, nil, false, false},
		"Unconfigured": {"Without a configured provider, texts are compared.", types.StringValue("abc123"), types.Int64Value(3), nil, client.ErrUnknownConfig, false, false},
		"NewName":      {"The same run renames the host to this.", types.StringValue("kvm-new"), types.Int64Value(3), numbered, nil, true, false},
		"NoMAAS":       {"An error replaces no VM.", types.StringValue("abc123"), types.Int64Value(3), nil, errors.New("away"), false, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			p := vmPlan{
				state:     &vmModel{Name: types.StringValue("web"), VMHost: types.StringValue("old"), VMHostName: types.StringValue("kvm"), VMHostID: tc.id},
				plan:      vmModel{VMHost: tc.want},
				listHosts: func(context.Context) ([]engine.VMHost, error) { return tc.listed, tc.err },
				private:   privateState{HostMachine: "abc123"},
				newHostName: func(machine string) string {
					if machine == "abc123" {
						return "kvm-new"
					}
					return ""
				},
				diags: &diags,
			}
			if got := p.isSameHost(t.Context()); got != tc.same || diags.HasError() != tc.failed {
				t.Errorf("%s\ngot %v with %v, want %v", tc.reason, got, diags, tc.same)
			}
		})
	}
}

// TestHostPlannedMeanwhile plans the destruction of a VM host while the plan of a VM on it
// asks MAAS. The host's plan has seen no VM that stays, so the VM's plan must refuse.
func TestHostPlannedMeanwhile(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason   string
		planHost func(*client.Run)
		says     string // empty: the plan goes on
	}{
		"NotPlanned": {"The VM host stays.", func(*client.Run) {}, ""},
		"OtherHost":  {"Another VM host goes.", func(r *client.Run) { r.NoteHostDestroy("def456", false) }, ""},
		"Destroyed":  {"The VM would be lost.", func(r *client.Run) { r.NoteHostDestroy("abc123", false) }, "Cannot delete VM host kvm"},
		"Replaced":   {"The VM would be lost with the former host.", func(r *client.Run) { r.NoteHostDestroy("abc123", true) }, "Cannot replace VM host kvm"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			r := &vmResource{client: client.NewWithBackend(nil)}
			p := &vmPlan{
				state:   &vmModel{Name: types.StringValue("web"), VMHostName: types.StringValue("kvm")},
				plan:    vmModel{Name: types.StringValue("web")},
				private: privateState{HostMachine: "abc123"}, destroysHost: r.client.DestroysHost, diags: &diags,
			}
			p.followHostPlan()
			if diags.HasError() || len(p.replace) > 0 {
				t.Fatalf("no host is planned yet, and the VM's plan has %v, %v", diags, p.replace)
			}
			tc.planHost(&r.client.Run)
			r.notePlanForHost(p)
			var got string
			if diags.HasError() {
				got = diags.Errors()[0].Summary()
			}
			if got != tc.says {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.says)
			}
			if stay := r.client.Run.VMsStayingOn("abc123"); len(stay) != 1 || stay[0] != "web" {
				t.Errorf("the host's plan sees %q, want the VM", stay)
			}
		})
	}
}
