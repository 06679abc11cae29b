package host

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/providertest"
)

// TestMoveFromCanonical takes over the state of another provider's VM host, of which only the
// id counts.
func TestMoveFromCanonical(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, source, kind, state string
		version                     int64
		want                        string // of the diagnostics
	}{
		"VMHost":       {reason: "Other values do not matter.", source: "registry.terraform.io/canonical/maas", kind: "maas_vm_host", state: `{"id":"7","type":"lxd","power_pass":"x"}`},
		"Virsh":        {reason: "It has no LXD.", source: "registry.terraform.io/canonical/maas", kind: "maas_vm_host", state: `{"id":"7","type":"virsh"}`, want: "is of the type virsh"},
		"NoNumber":     {reason: "Nobody can read such a state.", source: "registry.terraform.io/canonical/maas", kind: "maas_vm_host", state: `{"id":"seven"}`, want: "Cannot take over a maas_vm_host (id seven) "},
		"FormerName":   {reason: "The provider's name up to 2.2.0.", source: "registry.terraform.io/maas/maas", kind: "maas_vm_host", state: `{"id":"7"}`},
		"OtherVersion": {reason: "Another version may mean something else.", source: "registry.terraform.io/canonical/maas", kind: "maas_vm_host", version: 1, state: `{"id":"7","name":"kvm1"}`, want: "Cannot take over a maas_vm_host (id 7, kvm1) its state has the schema version 1, and only 0 is known"},
		"OtherKind":    {reason: "No VM host.", source: "registry.terraform.io/canonical/maas", kind: "maas_tag", state: `{"id":"7"}`, want: "Unable to Move Resource State"},
		"OtherOwner":   {reason: "No provider of MAAS.", source: "registry.terraform.io/else/where", kind: "maas_vm_host", state: `{"id":"7"}`, want: "Unable to Move Resource State"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp, err := providertest.ServeResource(t, NewResource).Server.MoveResourceState(t.Context(), &tfprotov6.MoveResourceStateRequest{
				SourceProviderAddress: tc.source, SourceTypeName: tc.kind, SourceSchemaVersion: tc.version, TargetTypeName: "maaslxd_vm_host",
				SourceState: &tfprotov6.RawState{JSON: []byte(tc.state)},
			})
			if err != nil {
				t.Fatal(err)
			}
			var said strings.Builder
			for _, d := range resp.Diagnostics {
				said.WriteString(d.Summary + " " + d.Detail)
			}
			if (tc.want == "") != (said.Len() == 0) || !strings.Contains(said.String(), tc.want) {
				t.Errorf("%s\nwant %q, got %q", tc.reason, tc.want, said.String())
			}
			if tc.want == "" && resp.TargetState == nil {
				t.Errorf("%s\nthere is no state", tc.reason)
			}
		})
	}
}

// TestPlanMovedUnseen refuses to plan with a moved state that was not refreshed. Each
// attribute would seem to change, and the plan would replace the host.
func TestPlanMovedUnseen(t *testing.T) {
	t.Parallel()
	p := providertest.ServeResource(t, NewResource).Plan(providertest.Object{"name": "kvm1", "machine": "node1"}, providertest.Object{"vm_host_id": 7},
		map[string]any{privateStateKey: privateState{Moved: true}})
	if len(p.Diagnostics) != 1 || !strings.Contains(p.Diagnostics[0].Detail, "Plan without -refresh=false") {
		t.Errorf("want one error, got %v", p.Diagnostics)
	}
}
