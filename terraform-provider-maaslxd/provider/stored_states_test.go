package provider

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/providertest"
)

var updateStoredStates = flag.Bool("update", false, "write the shape of the present schemas into testdata/states, and new attributes as null")

// storedState is a state in testdata/states, as a version of a schema wrote it.
type storedState struct {
	Config  providertest.Object `json:"config"`  // its configuration
	Private map[string]any      `json:"private"` // the notes in the private state
	Shape   []string            `json:"shape"`   // the attributes of the schema, with their types
	State   providertest.Object `json:"state"`
}

func storedStateFile(name string, version int64) string {
	return filepath.Join("testdata", "states", fmt.Sprintf("%s.v%d.json", name, version))
}

func readStoredState(t *testing.T, file string) storedState {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v\nEach version of a schema needs a state that it has written. For a new one, copy that of the version before it and run this test with -update.", err)
	}
	var stored storedState
	if err := json.Unmarshal(raw, &stored); err != nil {
		t.Fatal(err)
	}
	return stored
}

// eachResource runs a test for each resource and the current version of its schema.
func eachResource(t *testing.T, test func(t *testing.T, served *providertest.Resource, present int64)) {
	t.Helper()
	for _, constructor := range (&maaslxdProvider{}).Resources(t.Context()) {
		var described resource.SchemaResponse
		constructor().Schema(t.Context(), resource.SchemaRequest{}, &described)
		served := providertest.ServeResource(t, constructor)
		t.Run(served.Name, func(t *testing.T) { test(t, providertest.ServeResource(t, constructor), described.Schema.Version) })
	}
}

// TestStoredStates: the provider reads a state of any version of a schema. Its own
// configuration replaces and changes nothing.
func TestStoredStates(t *testing.T) {
	t.Parallel()
	eachResource(t, func(t *testing.T, served *providertest.Resource, present int64) {
		for version := range present + 1 {
			stored := readStoredState(t, storedStateFile(served.Name, version))
			state, diags := served.UpgradeState(version, stored.State)
			if len(diags) > 0 {
				t.Errorf("version %d: %s: %s", version, diags[0].Summary, diags[0].Detail)
				continue
			}
			plan := served.Plan(stored.Config, state, stored.Private)
			if i := slices.IndexFunc(plan.Diagnostics, func(d *tfprotov6.Diagnostic) bool { return d.Severity == tfprotov6.DiagnosticSeverityError }); i >= 0 {
				t.Errorf("version %d: %s: %s", version, plan.Diagnostics[i].Summary, plan.Diagnostics[i].Detail)
			}
			if replaces, changed := plan.ReplacingAttributes(), plan.ChangedAttributes(state); len(replaces)+len(changed) > 0 {
				t.Errorf("version %d: the plan replaces it for %v, and changes %v", version, replaces, changed)
			}
		}
	})
}

// TestStoredStatesAreRenewed: after a change of a schema, somebody must look at the stored
// state of the current version, and decide whether the schema needs a new version.
func TestStoredStatesAreRenewed(t *testing.T) { // not in parallel: with -update it writes what others read
	eachResource(t, func(t *testing.T, served *providertest.Resource, present int64) {
		file := storedStateFile(served.Name, present)
		stored := readStoredState(t, file)
		attributes := served.Type.(tftypes.Object).AttributeTypes
		if *updateStoredStates {
			stored.Shape = shapeOf("", served.Type)
			maps.DeleteFunc(stored.State, func(name string, _ any) bool { _, known := attributes[name]; return !known })
			for name := range attributes {
				if _, has := stored.State[name]; !has {
					stored.State[name] = nil
				}
			}
			writeStoredState(t, file, stored)
		}
		const way = "An attribute that was removed or has another type needs a new version of the schema, with an upgrade. " +
			"Then, or for a new attribute, run this test with -update, and give the attribute a value in the file."
		if diff := cmp.Diff(stored.Shape, shapeOf("", served.Type)); diff != "" {
			t.Errorf("the schema has another shape than %s says (-file +schema):\n%s\n%s", file, diff, way)
		}
	})
}

func writeStoredState(t *testing.T, file string, stored storedState) {
	t.Helper()
	raw, err := json.MarshalIndent(stored, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(raw, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// shapeOf lists the members of a type, a line for each path, sorted.
func shapeOf(at string, of tftypes.Type) []string {
	switch of := of.(type) {
	case tftypes.Object:
		var lines []string
		for _, name := range slices.Sorted(maps.Keys(of.AttributeTypes)) {
			lines = append(lines, shapeOf(strings.TrimPrefix(at+"."+name, "."), of.AttributeTypes[name])...)
		}
		return lines
	case tftypes.Map:
		return shapeOf(at+"{}", of.ElementType)
	case tftypes.List:
		return shapeOf(at+"[]", of.ElementType)
	case tftypes.Set:
		return shapeOf(at+"(set)", of.ElementType)
	default:
		return []string{at + ": " + strings.TrimPrefix(of.String(), "tftypes.")}
	}
}
