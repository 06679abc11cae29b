package provider

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/providertest"
)

// otherSpelling writes a value of texttype in another way. It is the same if there is no other
// way.
func otherSpelling(of, text string) string {
	switch of {
	case "texttype.Image":
		return strings.TrimPrefix(text, "ubuntu/")
	case "texttype.Address":
		return "https://" + text + ":8443/"
	default:
		return strings.ToUpper(strings.Replace(text, "::", ":0::", 1))
	}
}

// spelledOnce are attributes whose value has only one spelling.
var spelledOnce = []string{"maaslxd_vm_host/lxd.networks.*.ipv4_address"}

// TestSpellingsPlanNoChange writes each value with several spellings in another way: the plan is empty.
// The framework asks the types only when it creates, reads and updates.
func TestSpellingsPlanNoChange(t *testing.T) {
	t.Parallel()
	for name, constructor := range resourcesWithRules {
		served := providertest.ServeResource(t, constructor)
		spelled := spelledPaths("", served.Schema.Attributes)
		if len(spelled) == 0 {
			t.Errorf("%s has no attribute with several spellings", name)
		}
		for at, of := range spelled {
			t.Run(name+"/"+at, func(t *testing.T) {
				t.Parallel()
				served := served.ForTest(t)
				n, _ := configurationWith(t, name, at)
				config := wholeConfigurations[name][n]
				state := stateOf(t, served, config)
				again := withOtherSpelling(config, strings.Split(at, "."), of).(object)
				if isSame := reflect.DeepEqual(again, config); isSame != slices.Contains(spelledOnce, name+"/"+at) {
					t.Fatalf("the text stays the same: %t", isSame)
				}
				plan := served.Plan(again, state, notesOfFinished(name, config))
				if changed, problems := plan.ChangedAttributes(state), errorsOf(plan.Diagnostics); len(changed)+len(problems)+len(plan.ReplacingAttributes()) > 0 {
					t.Errorf("another spelling changes %v, and replaces by %v: %s", changed, plan.ReplacingAttributes(), problems)
				}
			})
		}
	}
}

// withOtherSpelling writes the value at a path in another way, in the first element that has
// it.
func withOtherSpelling(v any, steps []string, of string) any {
	switch v := v.(type) {
	case string:
		return otherSpelling(of, v)
	case object:
		keys := []string{steps[0]}
		if steps[0] == "*" {
			keys = slices.Sorted(maps.Keys(v))
		}
		for _, key := range keys {
			if _, found := withoutAttribute(v[key], steps[1:]); found || len(steps) == 1 {
				return v.WithChanges(object{key: withOtherSpelling(v[key], steps[1:], of)})
			}
		}
	case []any:
		all := slices.Clone(v)
		all[0] = withOtherSpelling(v[0], steps[1:], of)
		return all
	}
	return v
}

// spelledPaths are the attributes with several spellings that people write, with their types.
func spelledPaths(at string, attributes map[string]schema.Attribute) map[string]string {
	paths := map[string]string{}
	for name, a := range attributes {
		if of := a.GetType().String(); strings.HasPrefix(of, "texttype.") && (a.IsOptional() || a.IsRequired()) {
			paths[at+name] = of
		}
		switch a := a.(type) {
		case schema.SingleNestedAttribute:
			maps.Copy(paths, spelledPaths(at+name+".", a.Attributes))
		case schema.MapNestedAttribute:
			maps.Copy(paths, spelledPaths(at+name+".*.", a.NestedObject.Attributes))
		case schema.ListNestedAttribute:
			maps.Copy(paths, spelledPaths(at+name+".*.", a.NestedObject.Attributes))
		}
	}
	return paths
}
