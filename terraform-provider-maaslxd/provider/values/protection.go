package values

import (
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// ProtectionPath is where deletion_protection stands.
func ProtectionPath() path.Path { return path.Root("deletion_protection") }

// unprotectHint says how something can be destroyed that is protected.
const unprotectHint = "Set deletion_protection = false and apply that first; MAAS then unlocks it."

// RefuseDestroy refuses to destroy an object, such as "VM web-1", that is protected.
func RefuseDestroy(object string, protected bool, diags *diag.Diagnostics) {
	if protected {
		diags.AddAttributeError(ProtectionPath(), capitalize(object)+" is protected from deletion",
			"Its deletion_protection is true, so it is not destroyed. "+unprotectHint)
	}
}

// DropsProtection tells that the configuration protects no longer what the last apply protected,
// and that nothing else shows it: somebody has taken the lock off already. An apply has to note it.
func DropsProtection(plan, state types.Bool, applied bool) bool {
	return applied && !plan.IsUnknown() && !plan.ValueBool() && plan.Equal(state)
}

// IsProtectedAfterFailure tells whether an object counts as protected by this configuration after
// an update that failed. The lock of one that did so before is its own for as long as it is there,
// also where the attribute is false or gone by now. Where it never did, only a lock that is wanted
// and there is its own.
func IsProtectedAfterFailure(plan, state types.Bool, applied bool) bool {
	wanted, locked := plan.ValueBool(), state.ValueBool()
	return applied && (wanted || locked) || wanted && locked
}

// RefuseReplacement refuses a plan that would replace an object that is protected.
func RefuseReplacement(object string, replace path.Paths, protected bool, diags *diag.Diagnostics) {
	if len(replace) == 0 || !protected {
		return
	}
	var changed []string
	for _, at := range replace {
		changed = append(changed, at.String())
	}
	noun, _, _ := strings.Cut(object, " ")
	diags.AddAttributeError(ProtectionPath(), capitalize(object)+" is protected from deletion", fmt.Sprintf(
		"This plan would replace it, because of %s, and its deletion_protection is true. "+
			"Take that change back to keep the %s. To replace it: %s", strings.Join(changed, ", "), noun, unprotectHint))
}

// RefuseRedeployment refuses a plan that would redeploy an object that is protected.
func RefuseRedeployment(object string, protected bool, diags *diag.Diagnostics) {
	if protected {
		diags.AddAttributeError(ProtectionPath(), capitalize(object)+" is protected from deletion",
			"This plan would redeploy it, because redeploy_triggers changes, and its deletion_protection is true. "+
				"Take that change back to keep what is installed. To redeploy it: "+unprotectHint)
	}
}

func capitalize(object string) string { return strings.ToUpper(object[:1]) + object[1:] }
