package host

import (
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/providertest"
)

// TestForgottenAdoption removes the line adopt of an adopted host. The plan must not make the
// host anew with an installation. The second plan of a replacement has no state.
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
		"Kept":           {"The host stays as it is.", object{}, adopted, was, false},
		"Replaced":       {"MAAS would install the other machine.", object{"machine": "node2"}, adopted, was, true},
		"Second":         {"The second plan has no state, only the notes.", object{}, nil, was, true},
		"SecondSelector": {"MAAS would install any machine.", object{"machine": nil, "selector": object{}}, nil, was, true},
		"Said":           {"The configuration adopts the other machine.", object{"machine": "node2", "adopt": true}, adopted, was, false},
		"SecondSaid":     {"The configuration adopts the machine again.", object{"adopt": true}, nil, was, false},
		"Denied":         {"The configuration asks for an installation.", object{"adopt": false}, nil, was, false},
		"Registered":     {"An LXD with an address is only registered.", object{"machine": nil, "address": "10.0.0.6"}, nil, was, false},
		"New":            {"A new host was never adopted.", object{}, nil, privateState{}, false},
		"Installed":      {"The host was installed before, not adopted.", object{"machine": "node2"}, madeHost, hostMade, false},
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
