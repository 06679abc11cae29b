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
		"Name":         {"Nobody has to be asked.", types.StringValue("kvm"), types.Int64Value(3), nil, errors.New("away"), true, false},
		"ID":           {"Nor for the id.", types.StringValue("3"), types.Int64Value(3), nil, errors.New("away"), true, false},
		"Machine":      {"The system id is that of its machine.", types.StringValue("abc123"), types.Int64Value(3), numbered, nil, true, false},
		"OtherMachine": {"Of two hosts of one name, the id tells.", types.StringValue("def456"), types.Int64Value(3), numbered, nil, false, false},
		"MachineGone":  {"Where MAAS has no ids of hosts, the name tells.", types.StringValue("abc123"), types.Int64Null(), gone, nil, true, false},
		"Forgotten":    {"An id that MAAS no longer has says nothing.", types.StringValue("abc123"), types.Int64Value(3), gone, nil, true, false},
		"Other":        {"The machine of another host.", types.StringValue("def456"), types.Int64Null(), gone, nil, false, false},
		"Unknown":      {"An unknown future is another one.", types.StringUnknown(), types.Int64Value(3), numbered, nil, false, false},
		"Unconfigured": {"Without a provider, texts are compared.", types.StringValue("abc123"), types.Int64Value(3), nil, client.ErrUnknownConfig, false, false},
		"NewName":      {"The same run gives the host this name.", types.StringValue("kvm-new"), types.Int64Value(3), numbered, nil, true, false},
		"NoMAAS":       {"What cannot be told replaces no VM.", types.StringValue("abc123"), types.Int64Value(3), nil, errors.New("away"), false, true},
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
