package acctest_test

import (
	"encoding/json"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// identityType is the type of all resources' identities.
var identityType = tftypes.Object{AttributeTypes: map[string]tftypes.Type{"system_id": tftypes.String, "maas": tftypes.String}}

// importIdentity imports by an identity over the provider's protocol, as a CLI
// of 1.12 or newer does. It returns the new identity, and the errors as one
// text.
func (x *target) importIdentity(t *testing.T, resource string, identity map[string]any) (systemID, maas, failure string) {
	t.Helper()
	server, _ := x.configuredProvider(t)
	raw, err := json.Marshal(identity)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := server.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{
		TypeName: resource, Identity: &tfprotov6.ResourceIdentityData{IdentityData: &tfprotov6.DynamicValue{JSON: raw}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if failure = diagnosticTexts(resp.Diagnostics); failure != "" {
		return "", "", failure
	}
	return identityTexts(t, resp.ImportedResources[0].Identity)
}

// identityTexts are the parts of an identity; null becomes empty.
func identityTexts(t *testing.T, identity *tfprotov6.ResourceIdentityData) (systemID, maas, failure string) {
	t.Helper()
	value, err := identity.IdentityData.Unmarshal(identityType)
	if err != nil {
		t.Fatal(err)
	}
	parts := attributesOf(t, value)
	if !parts["maas"].IsNull() {
		maas = attributeText(t, parts["maas"])
	}
	return attributeText(t, parts["system_id"]), maas, ""
}

// TestAccWorkflowIdentityOtherMAAS imports by identities that name this MAAS,
// or none. One that names another MAAS is refused.
func TestAccWorkflowIdentityOtherMAAS(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	w := newWorkspace(t, x.config(hostOnNode1()+vmOnTestHost("web")+`
resource "maaslxd_machine" "test" {
  name    = "db"
  machine = "node2"
  deploy  = { image = "ubuntu/noble" }
}
`))
	w.run(t, "apply", "-auto-approve", "-no-color")
	for resource, name := range map[string]string{"maaslxd_vm": "web", "maaslxd_vm_host": "node1", "maaslxd_machine": "node2"} {
		t.Run(resource, func(t *testing.T) {
			id := x.findMachine(t, name).SystemID
			got, mark, failure := x.importIdentity(t, resource, map[string]any{"system_id": id, "maas": nil})
			if failure != "" || got != id || mark == "" {
				t.Fatalf("want %s and its MAAS, got %s in %q: %s", id, got, mark, failure)
			}
			if got, again, failure := x.importIdentity(t, resource, map[string]any{"system_id": id, "maas": mark}); failure != "" || got != id || again != mark {
				t.Errorf("of this MAAS: got %s in %q: %s", got, again, failure)
			}
			if _, _, failure := x.importIdentity(t, resource, map[string]any{"system_id": id, "maas": "ELSEWHERE"}); !wordsPattern("the identity is of another MAAS its maas is ELSEWHERE has the mark " + mark + " Point api_url").MatchString(failure) {
				t.Errorf("of another MAAS: %q", failure)
			}
			x.upgradeIdentity(t, resource, id)
		})
	}
	found, failure := x.listResources(t, "maaslxd_vm", nil, false, 0)
	if failure != "" || len(found) != 1 || found[0].MAAS == "" {
		t.Errorf("the list says %+v: %s", found, failure)
	}
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// upgradeIdentity reads an identity of version 0, which names no MAAS, and an
// object with it. Terraform allows no change of an identity, so it still names
// none.
func (x *target) upgradeIdentity(t *testing.T, resource, id string) {
	t.Helper()
	server, _ := x.configuredProvider(t)
	former := []byte(`{"system_id":"` + id + `"}`)
	resp, err := server.UpgradeResourceIdentity(t.Context(), &tfprotov6.UpgradeResourceIdentityRequest{
		TypeName: resource, Version: 0, RawIdentity: &tfprotov6.RawState{JSON: former},
	})
	if err != nil || len(resp.Diagnostics) > 0 {
		t.Fatalf("%v %v", err, resp)
	}
	if got, mark, _ := identityTexts(t, resp.UpgradedIdentity); got != id || mark != "" {
		t.Errorf("an identity of version 0 becomes %q in %q", got, mark)
	}
	imported, err := server.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{TypeName: resource, ID: id})
	if err != nil || len(imported.Diagnostics) > 0 {
		t.Fatalf("%v %v", err, imported)
	}
	state, private := imported.ImportedResources[0].State, imported.ImportedResources[0].Private
	for range 2 { // the first read is part of the import, and may change the identity
		read, err := server.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{
			TypeName: resource, CurrentState: state, Private: private, CurrentIdentity: resp.UpgradedIdentity,
		})
		if err != nil || diagnosticTexts(read.Diagnostics) != "" {
			t.Fatalf("%v %s", err, diagnosticTexts(read.Diagnostics))
		}
		if got, mark, _ := identityTexts(t, read.NewIdentity); got != id || mark != "" {
			t.Errorf("the identity %q of an object becomes %q in %q", former, got, mark)
		}
		state, private = read.NewState, read.Private
	}
}

// TestAccWorkflowIdentityBefore plans with states of an earlier version of the
// provider. Their identities name no MAAS, or are missing.
func TestAccWorkflowIdentityBefore(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	w := newWorkspace(t, x.config(hostOnNode1()+vmOnTestHost("web")+testMachine("db", `machine = "node2"`, deployNoble)))
	if w.cli.IsOlderThan(1, 12) {
		t.Skip("identities came with Terraform and OpenTofu 1.12, and this is " + w.cli.String())
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	original := w.readFile(t, "terraform.tfstate")
	for title, rewrite := range map[string]func(instance map[string]any){
		"Version0": func(i map[string]any) {
			delete(i["identity"].(map[string]any), "maas")
			i["identity_schema_version"] = 0
		},
		"None": func(i map[string]any) { delete(i, "identity"); delete(i, "identity_schema_version") },
	} {
		w.writeFile(t, "terraform.tfstate", original)
		w.rewriteInstances(t, rewrite)
		if out := w.run(t, "plan", "-detailed-exitcode", "-no-color"); !wordsPattern("No changes").MatchString(out) {
			t.Errorf("%s: the plan is:\n%s", title, out)
		}
		w.run(t, "plan", "-detailed-exitcode", "-refresh=false", "-no-color")
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// rewriteInstances changes each instance of a resource in the state's file.
func (w workspace) rewriteInstances(t *testing.T, rewrite func(instance map[string]any)) {
	t.Helper()
	var state map[string]any
	if err := json.Unmarshal([]byte(w.readFile(t, "terraform.tfstate")), &state); err != nil {
		t.Fatal(err)
	}
	for _, r := range state["resources"].([]any) {
		for _, i := range r.(map[string]any)["instances"].([]any) {
			rewrite(i.(map[string]any))
		}
	}
	raw, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	w.writeFile(t, "terraform.tfstate", string(raw))
}
