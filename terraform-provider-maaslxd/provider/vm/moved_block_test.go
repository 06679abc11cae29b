package vm

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/moved"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/providertest"
)

// TestMoveState takes over states of other providers' VMs.
func TestMoveState(t *testing.T) {
	t.Parallel()
	const maas, lxd = "registry.terraform.io/canonical/maas", "registry.terraform.io/terraform-lxd/lxd"
	cases := map[string]struct {
		reason, source, kind, state string
		version                     int64
		want                        *moved.VM // nil: an error
		id                          string
		said                        string // of the diagnostics
	}{
		"VMHostMachine": {reason: "Other values do not matter.", source: maas, kind: "maas_vm_host_machine", state: `{"id":"4y3h7n","cores":2,"network_interfaces":[]}`,
			want: &moved.VM{Kind: "maas_vm_host_machine", SystemID: "4y3h7n"}, id: "4y3h7n"},
		"Instance": {reason: "The deployment of a machine.", source: maas, kind: "maas_instance", state: `{"id":"4y3h7n","deploy_params":[{"user_data":"x"}]}`,
			want: &moved.VM{Kind: "maas_instance", SystemID: "4y3h7n"}, id: "4y3h7n"},
		"FormerName": {reason: "The provider's name up to 2.2.0, from another registry.", source: "registry.opentofu.org/maas/maas", kind: "maas_instance",
			state: `{"id":"4y3h7n"}`, want: &moved.VM{Kind: "maas_instance", SystemID: "4y3h7n"}, id: "4y3h7n"},
		"OwnProvider": {reason: "OpenTofu names this provider for all instances of a for_each but the first.", source: "registry.opentofu.org/maaslxd/maaslxd", kind: "maas_instance",
			state: `{"id":"4y3h7n"}`, want: &moved.VM{Kind: "maas_instance", SystemID: "4y3h7n"}, id: "4y3h7n"},
		"LXD": {reason: "Its name and its MAC address identify it.", source: lxd, kind: "lxd_instance",
			state: `{"name":"web","type":"virtual-machine","project":"maas","remote":"h1","mac_address":"00:16:3e:00:00:01","running":true}`,
			want:  &moved.VM{Kind: "lxd_instance", Name: "web", Project: "maas", MAC: "00:16:3e:00:00:01"}, id: "web"},
		"LXDByName": {reason: "LXD reported no address, and the provider's configuration names the project.", source: lxd, kind: "lxd_instance",
			state: `{"name":"web","type":"virtual-machine","project":null}`, want: &moved.VM{Kind: "lxd_instance", Name: "web"}, id: "web"},
		"Container":    {reason: "MAAS makes no containers.", source: lxd, kind: "lxd_instance", state: `{"name":"web","type":"container"}`, said: "Cannot take over a lxd_instance (web) instance web is a container"},
		"TypeLacking":  {reason: "LXD's default.", source: lxd, kind: "lxd_instance", state: `{"name":"web"}`, said: "nstance web is a container"},
		"NoName":       {reason: "The state is empty.", source: lxd, kind: "lxd_instance", state: `{"type":"virtual-machine"}`, said: "import the VM"},
		"NoID":         {reason: "The state is empty.", source: maas, kind: "maas_instance", state: `{"hostname":"web"}`, said: "import the VM"},
		"NumberAsID":   {reason: "Nobody can read such a state.", source: maas, kind: "maas_instance", state: `{"id":["4y3h7n"]}`, said: "import the VM"},
		"NoJSON":       {reason: "Nobody can read such a state.", source: maas, kind: "maas_instance", state: `{`, said: "import the VM"},
		"OtherVersion": {reason: "Another version may mean something else.", source: maas, kind: "maas_instance", version: 1, state: `{"id":"4y3h7n"}`, said: "Cannot take over a maas_instance (id 4y3h7n) its state has the schema version 1, and only 0 is known"},
		"OtherNamed":   {reason: "Of 200 VMs the owner must find this one.", source: maas, kind: "maas_vm_host_machine", version: 1, state: `{"id":"4y3h7n","name":"web"}`, said: "Cannot take over a maas_vm_host_machine (id 4y3h7n, web) "},
		"OtherKind":    {reason: "No VM.", source: maas, kind: "maas_machine", state: `{"id":"4y3h7n"}`, said: "Unable to Move Resource State"},
		"OtherOwner":   {reason: "No provider of MAAS.", source: "registry.terraform.io/notcanonical/maas", kind: "maas_instance", state: `{"id":"4y3h7n"}`, said: "Unable to Move Resource State"},
		"Crossed":      {reason: "MAAS's provider has no such kind.", source: maas, kind: "lxd_instance", state: `{"name":"web","type":"virtual-machine"}`, said: "Unable to Move Resource State"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := providertest.ServeResource(t, NewResource)
			resp, err := r.Server.MoveResourceState(t.Context(), &tfprotov6.MoveResourceStateRequest{
				SourceProviderAddress: tc.source, SourceTypeName: tc.kind, SourceSchemaVersion: tc.version, TargetTypeName: "maaslxd_vm",
				SourceState: &tfprotov6.RawState{JSON: []byte(tc.state)},
			})
			if err != nil {
				t.Fatal(err)
			}
			var said strings.Builder
			for _, d := range resp.Diagnostics {
				said.WriteString(d.Summary + " " + d.Detail)
			}
			if (tc.said == "") != (said.Len() == 0) || !strings.Contains(said.String(), tc.said) {
				t.Fatalf("%s\nwant %q, got %q", tc.reason, tc.said, said.String())
			}
			if tc.want == nil {
				return
			}
			if diff := cmp.Diff(privateState{Imported: true, Moved: tc.want}, decodePrivateState(t, resp.TargetPrivate)); diff != "" {
				t.Errorf("%s\nnotes (-want +got):\n%s", tc.reason, diff)
			}
			if got := movedID(t, r, resp.TargetState); got != tc.id {
				t.Errorf("%s\nthe id is %q", tc.reason, got)
			}
		})
	}
}

// decodePrivateState reads the notes in a private state of the protocol.
func decodePrivateState(t *testing.T, private []byte) privateState {
	t.Helper()
	var keys map[string][]byte
	if err := json.Unmarshal(private, &keys); err != nil {
		t.Fatal(err)
	}
	var n privateState
	if err := json.Unmarshal(keys[privateStateKey], &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// movedID is the id in a state.
func movedID(t *testing.T, r *providertest.Resource, state *tfprotov6.DynamicValue) (id string) {
	t.Helper()
	value, err := state.Unmarshal(r.Type)
	if err != nil {
		t.Fatal(err)
	}
	var attributes map[string]tftypes.Value
	if err := value.As(&attributes); err != nil {
		t.Fatal(err)
	}
	if err := attributes["id"].As(&id); err != nil {
		t.Fatal(err)
	}
	return id
}

// TestPlanMovedUnseen refuses to plan with a moved state that was not refreshed. Each
// attribute would seem to change, and the plan would replace the VM.
func TestPlanMovedUnseen(t *testing.T) {
	t.Parallel()
	state := providertest.Object{"id": "4y3h7n"}
	config := providertest.Object{"name": "web", "vm_host": "lxd1"}
	p := providertest.ServeResource(t, NewResource).Plan(config, state, map[string]any{
		privateStateKey: privateState{Imported: true, Moved: &moved.VM{Kind: "maas_instance", SystemID: "4y3h7n"}},
	})
	if len(p.Diagnostics) != 1 || !strings.Contains(p.Diagnostics[0].Detail, "Plan without -refresh=false") {
		t.Errorf("want one error, got %v", p.Diagnostics)
	}
}
