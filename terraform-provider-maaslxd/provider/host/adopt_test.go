package host

import (
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/providertest"
)

// TestForgottenAdoption: a host that was adopted is not made anew as one that is installed, only
// because the line adopt was removed. The second plan of a replacement has no state.
func TestForgottenAdoption(t *testing.T) {
	t.Parallel()
	adopted, was := madeHost.WithChanges(object{"adopt": true}), privateState{Key: hostMade.Key, Adopted: true}
	cases := map[string]struct {
		reason  string
		changes object
		state   object
		notes   privateState
		refused bool
	}{
		"Kept":           {"Nothing is made anew.", object{}, adopted, was, false},
		"Replaced":       {"The other machine would be installed.", object{"machine": "node2"}, adopted, was, true},
		"Second":         {"There is no state.", object{}, nil, was, true},
		"SecondSelector": {"Any machine would be installed.", object{"machine": nil, "selector": object{}}, nil, was, true},
		"Said":           {"It is adopted again.", object{"machine": "node2", "adopt": true}, adopted, was, false},
		"SecondSaid":     {"It is adopted again.", object{"adopt": true}, nil, was, false},
		"Denied":         {"That is said.", object{"adopt": false}, nil, was, false},
		"Registered":     {"Nothing is installed.", object{"machine": nil, "address": "10.0.0.6"}, nil, was, false},
		"New":            {"It is another host.", object{}, nil, privateState{}, false},
		"Installed":      {"It was installed before.", object{"machine": "node2"}, madeHost, hostMade, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused := slices.ContainsFunc(planOf(t, hostConfig.WithChanges(tc.changes), tc.state, tc.notes).Diagnostics, func(d *tfprotov6.Diagnostic) bool {
				return d.Severity == tfprotov6.DiagnosticSeverityError && providertest.AttributePath(d) == "adopt"
			})
			if refused != tc.refused {
				t.Errorf("%s\nrefused %t, want %t", tc.reason, refused, tc.refused)
			}
		})
	}
}
