package config_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

var updateKinds = flag.Bool("update-kinds", false, "write docs/reference/kinds.md")

const kindsPage = "../../docs/reference/kinds.md"

// TestKindsPage: the page lists the fields of the kinds as the API server knows them.
func TestKindsPage(t *testing.T) {
	t.Parallel()
	want := kindsText(definitions(t))
	if *updateKinds {
		if err := os.WriteFile(kindsPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(kindsPage)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(have)); diff != "" {
		t.Errorf("%s is not what the definitions say; write it by make generate (-want +have):\n%s", kindsPage, diff)
	}
}

// definitions are the generated ones, by kind.
func definitions(t *testing.T) map[string]apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	files, err := filepath.Glob("crd/bases/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("found %d definitions: %v", len(files), err)
	}
	kinds := map[string]apiextensionsv1.CustomResourceDefinition{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(text, &crd); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		kinds[crd.Spec.Names.Kind] = crd
	}
	return kinds
}

const kindsIntro = `# Kinds of the bridge

These are the fields of the kinds in the API group %s. The page is generated from the
definitions in [capi-bridge/config/crd](../../capi-bridge/config/crd/bases): do not edit it.
[Clusters](../guides/clusters.md) shows how to use them.

A name with ` + "`[]`" + ` stands for each entry of a list, and a name with ` + "`{}`" + ` for each value of a map.
The API server sets a default when you make the object.
`

// kindsText is the page.
func kindsText(kinds map[string]apiextensionsv1.CustomResourceDefinition) string {
	var page strings.Builder
	for i, kind := range slices.Sorted(maps.Keys(kinds)) {
		crd := kinds[kind]
		if i == 0 {
			fmt.Fprintf(&page, kindsIntro, "`"+crd.Spec.Group+"/"+crd.Spec.Versions[0].Name+"`")
		}
		page.WriteString(kindText(kind, kinds))
	}
	return page.String()
}

// kindText is the section of a kind.
func kindText(kind string, kinds map[string]apiextensionsv1.CustomResourceDefinition) string {
	var page strings.Builder
	crd := kinds[kind]
	schema, place := crd.Spec.Versions[0].Schema.OpenAPIV3Schema, "a namespace"
	if crd.Spec.Scope == apiextensionsv1.ClusterScoped {
		place = "no namespace"
	}
	fmt.Fprintf(&page, "\n## %s\n\n%s It is in %s.\n", kind, oneLine(schema.Description), place)
	rows := append(fieldRows("spec", schema.Properties["spec"]), fieldRows("status", schema.Properties["status"])...)
	made, isTemplate := strings.CutSuffix(kind, "Template")
	const spec = "spec.template.spec"
	if isTemplate && isSpecOf(rows, spec, kinds[made]) {
		rows = slices.DeleteFunc(rows, func(r fieldRow) bool { return strings.HasPrefix(r.name, spec+".") })
		fmt.Fprintf(&page, "\n`%s` has the fields of `spec` of a [%s](#%s).\n", spec, made, strings.ToLower(made))
	}
	page.WriteString("\n| field | type | default | description |\n|---|---|---|---|\n")
	for _, row := range rows {
		page.WriteString(row.String())
	}
	return page.String()
}

// isSpecOf tells whether the fields below a prefix are those of the spec of a kind.
func isSpecOf(rows []fieldRow, prefix string, crd apiextensionsv1.CustomResourceDefinition) bool {
	var below []fieldRow
	for _, row := range rows {
		if name, ok := strings.CutPrefix(row.name, prefix+"."); ok {
			row.name = "spec." + name
			below = append(below, row)
		}
	}
	of := fieldRows("spec", crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"])
	return slices.Equal(below, of)
}

// fieldRow is a line of a table.
type fieldRow struct{ name, kind, preset, description string }

func (r fieldRow) String() string {
	return fmt.Sprintf("| `%s` | %s | %s | %s |\n", r.name, r.kind, r.preset, strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(r.description))
}

// fieldRows are the fields of an object, each before what is in it.
func fieldRows(prefix string, object apiextensionsv1.JSONSchemaProps) []fieldRow {
	var rows []fieldRow
	for _, name := range slices.Sorted(maps.Keys(object.Properties)) {
		field := object.Properties[name]
		row := fieldRow{name: prefix + "." + name, kind: typeName(field), preset: presetOf(field), description: oneLine(field.Description)}
		if slices.Contains(object.Required, name) && strings.HasPrefix(prefix, "spec") {
			row.kind += ", required"
		}
		if name == "conditions" { // each kind has the same fields in them
			row.description += " See [Conditions](conditions.md)."
			rows = append(rows, row)
			continue
		}
		inner, mark := field, ""
		switch {
		case field.Items != nil:
			inner, mark = *field.Items.Schema, "[]"
		case field.AdditionalProperties != nil && field.AdditionalProperties.Schema != nil:
			inner, mark = *field.AdditionalProperties.Schema, "{}"
		}
		rows = append(append(rows, row), fieldRows(row.name+mark, inner)...)
	}
	return rows
}

// typeName says what a field takes.
func typeName(field apiextensionsv1.JSONSchemaProps) string {
	var choices []string
	for _, choice := range field.Enum {
		choices = append(choices, "`"+strings.Trim(string(choice.Raw), `"`)+"`")
	}
	switch {
	case len(choices) > 0:
		return strings.Join(choices, ", ")
	case field.Items != nil:
		return "list of " + typeName(*field.Items.Schema)
	case field.AdditionalProperties != nil && field.AdditionalProperties.Schema != nil:
		return "map of " + typeName(*field.AdditionalProperties.Schema)
	case field.XIntOrString:
		return "integer or string"
	case field.Type == "":
		return "string or object"
	case field.Format == "date-time":
		return "time"
	}
	return field.Type
}

// presetOf is what the API server fills in.
func presetOf(field apiextensionsv1.JSONSchemaProps) string {
	if field.Default == nil {
		return ""
	}
	return "`" + string(field.Default.Raw) + "`"
}

// oneLine is a description without its line breaks.
func oneLine(description string) string { return strings.Join(strings.Fields(description), " ") }
