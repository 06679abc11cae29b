package vm

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/providertest"
)

// TestProtectedPlans refuses plans that destroy a protected VM.
func TestProtectedPlans(t *testing.T) {
	t.Parallel()
	protected := deployedState.WithChanges(object{"deletion_protection": true})
	missing := protected.WithChanges(object{"status": "Instance missing"})
	cases := map[string]struct {
		reason string
		config object // nil: a destroy
		state  object
		says   string
	}{
		"Destroy":            {"A protected VM stays.", nil, protected, "is not destroyed"},
		"Replaced":           {"A replacement destroys it, too.", deployedConfig.WithChanges(object{"deletion_protection": true, "memory_mib": 4096}), protected, "because of memory_mib"},
		"BothAtOnce":         {"The lock is on the VM that would be destroyed.", deployedConfig.WithChanges(object{"deletion_protection": false, "cores": 4}), protected, "apply that first"},
		"LineRemoved":        {"Removing the line does not help.", deployedConfig.WithChanges(object{"cores": 4}), protected, "apply that first"},
		"Missing":            {"The machine stays locked after its instance is gone.", deployedConfig.WithChanges(object{"deletion_protection": true}), missing, "because of status"},
		"Unprotected":        {"Without protection nothing is refused.", nil, deployedState.WithChanges(object{"deletion_protection": false}), ""},
		"AppliedDestroy":     {"Somebody took the lock off, but the configuration did not.", nil, deployedState.WithChanges(object{"deletion_protection": false}), "is not destroyed"},
		"AppliedReplaced":    {"The configuration still protects it.", deployedConfig.WithChanges(object{"memory_mib": 4096, "deletion_protection": true}), deployedState.WithChanges(object{"deletion_protection": false}), "because of memory_mib"},
		"AppliedUnprotected": {"Neither MAAS nor the configuration protects it.", deployedConfig.WithChanges(object{"memory_mib": 4096, "deletion_protection": false}), deployedState.WithChanges(object{"deletion_protection": false}), ""},
		"NeverSaid":          {"Nothing is refused if protection was never set.", nil, deployedState, ""},
		"Redeployed":         {"A redeployment destroys the installed system.", withTrigger(deployedConfig, "b").WithChanges(object{"deletion_protection": true}), withTrigger(protected, "a"), "redeploy_triggers changes"},
		"ProtectedSince":     {"A lock that is set with it protects the running system.", withTrigger(deployedConfig, "b").WithChanges(object{"deletion_protection": true}), withTrigger(deployedState.WithChanges(object{"deletion_protection": false}), "a"), "redeploy_triggers changes"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := privateState{}
			n.ProtectionApplied = strings.HasPrefix(name, "Applied")
			got := providertest.ServeResource(t, NewResource).Plan(tc.config, tc.state, map[string]any{privateStateKey: n})
			var refusals []*tfprotov6.Diagnostic
			for _, d := range got.Diagnostics {
				if d.Severity == tfprotov6.DiagnosticSeverityError {
					refusals = append(refusals, d)
				}
			}
			switch {
			case tc.says == "" && len(refusals) == 0:
			case len(refusals) != 1 || tc.says == "":
				t.Errorf("%s\ngot %d errors: %+v", tc.reason, len(refusals), refusals)
			case providertest.AttributePath(refusals[0]) != "deletion_protection" || !strings.Contains(refusals[0].Detail, tc.says):
				t.Errorf("%s\ngot %q at %s, want %q", tc.reason, refusals[0].Detail, providertest.AttributePath(refusals[0]), tc.says)
			}
		})
	}
}
