package vm

import (
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/providertest"
)

// TestPlanFromMemory: after its line deploy.ephemeral was removed, a VM still runs from
// memory, and must not be turned off.
func TestPlanFromMemory(t *testing.T) {
	t.Parallel()
	state := deployedState.WithChanges(object{"deploy": object{"image": "ubuntu/noble", "ephemeral": true}})
	removed := object{"image": "ubuntu/noble"}
	cases := map[string]struct {
		reason  string
		changes object
		want    []string
	}{
		"Stops":    {"An update could turn it off.", object{"deploy": removed, "allow_stopping_for_update": true, "memory_mib": 4096}, []string{"allow_stopping_for_update"}},
		"TurnsOff": {"The apply would turn it off.", object{"deploy": removed, "power_state": "stopped"}, []string{"power_state"}},
		"Replaced": {"A new VM may be stopped.", object{"deploy": object{"image": "ubuntu/noble", "ephemeral": false}, "allow_stopping_for_update": true}, nil},
		"Neither":  {"Nothing turns it off.", object{"deploy": removed}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, d := range planOf(t, deployedConfig.WithChanges(tc.changes), state, privateState{Key: "default/web-1"}).Diagnostics {
				if d.Severity == tfprotov6.DiagnosticSeverityError {
					got = append(got, providertest.AttributePath(d))
				}
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("%s\ngot errors at %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
