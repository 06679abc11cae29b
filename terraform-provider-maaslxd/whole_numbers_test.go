package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider"
)

// TestWholeNumbers gives attributes fractions and huge numbers. Each is one error at its attribute,
// which says what to do.
func TestWholeNumbers(t *testing.T) {
	t.Parallel()
	server, err := newServer(provider.New("test")())
	if err != nil {
		t.Fatal(err)
	}
	ofs, ok := server.(contextReleasingServer)
	if !ok {
		t.Fatalf("the server is %T", server)
	}
	cases := map[string]struct {
		reason, resource string
		numbers          map[string]float64
		want             map[string]string // texts of the errors, by attribute
	}{
		"Fraction": {"Half of three cores.", "maaslxd_vm", map[string]float64{"cores": 1.5}, map[string]string{`AttributeName("cores")`: "cores: 1.5 is no whole number. Round it: floor(1.5), or ceil(1.5)."}},
		"Huge":     {"A unit was mistaken.", "maaslxd_vm", map[string]float64{"memory_mib": 1e30}, map[string]string{`AttributeName("memory_mib")`: "memory_mib: 1e+30 is too large."}},
		"Both": {"Each is told.", "maaslxd_vm", map[string]float64{"cores": 0.5, "memory_mib": 1e30}, map[string]string{
			`AttributeName("cores")`: "cores: 0.5 is no whole number. Round it: floor(0.5), or ceil(0.5).", `AttributeName("memory_mib")`: "memory_mib: 1e+30 is too large.",
		}},
		"Ratio": {"An over-commit may be a fraction.", "maaslxd_vm_host", map[string]float64{"cpu_overcommit": 1.5}, map[string]string{}},
		"Whole": {"Nothing is wrong.", "maaslxd_vm", map[string]float64{"cores": 2}, map[string]string{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of, isObject := ofs.schemas()[tc.resource].ValueType().(tftypes.Object)
			if !isObject {
				t.Fatal("the schema is no object")
			}
			values := map[string]tftypes.Value{}
			for attribute, kind := range of.AttributeTypes {
				values[attribute] = tftypes.NewValue(kind, nil)
			}
			values["name"] = tftypes.NewValue(tftypes.String, "web")
			for attribute, n := range tc.numbers {
				values[attribute] = tftypes.NewValue(tftypes.Number, n)
			}
			config, err := tfprotov6.NewDynamicValue(of, tftypes.NewValue(of, values))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := server.ValidateResourceConfig(t.Context(), &tfprotov6.ValidateResourceConfigRequest{TypeName: tc.resource, Config: &config})
			if err != nil {
				t.Fatal(err)
			}
			got, errors := map[string]string{}, 0
			for _, d := range resp.Diagnostics {
				if _, isGiven := tc.numbers[attributeName(d.Attribute)]; isGiven {
					got[d.Attribute.String()] = d.Detail
					errors++
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || errors != len(tc.want) {
				t.Errorf("%s: %d errors (-want +got):\n%s", tc.reason, errors, diff)
			}
		})
	}
}

// attributeName is the name of a path's first step; empty: it has none.
func attributeName(at *tftypes.AttributePath) string {
	if at == nil || len(at.Steps()) == 0 {
		return ""
	}
	name, _ := at.Steps()[0].(tftypes.AttributeName)
	return string(name)
}
