package values

import (
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// ProtectionPath is the path of deletion_protection.
func ProtectionPath() path.Path { return path.Root("deletion_protection") }

// unprotectHint says how to destroy a protected object.
const unprotectHint = "Set deletion_protection = false and apply that first; the apply then unlocks it in MAAS. If its resource block is gone, put the block back for that."

// RefuseDestroy refuses to destroy a protected object, such as "VM web-1".
func RefuseDestroy(object string, protected bool, diags *diag.Diagnostics) {
	if protected {
		diags.AddAttributeError(ProtectionPath(), capitalize(object)+" is protected from deletion",
			"Its deletion_protection is true, so it is not destroyed. "+unprotectHint)
	}
}

// DropsProtection tells whether the last apply protected the object, the configuration no
// longer does, and no other difference shows that. Somebody has taken the lock off already. An
// apply then has to record it.
func DropsProtection(plan, state types.Bool, applied bool) bool {
	return applied && !plan.IsUnknown() && !plan.ValueBool() && plan.Equal(state)
}

// IsProtectedAfterFailure tells whether an object counts as protected by this configuration
// after a failed update. If the configuration protected it before, the lock counts as long as
// it is there, also where the attribute is now false or null. If it never did, only a lock
// counts that is wanted and there.
func IsProtectedAfterFailure(plan, state types.Bool, applied bool) bool {
	wanted, locked := plan.ValueBool(), state.ValueBool()
	return applied && (wanted || locked) || wanted && locked
}

// RefuseReplacement refuses a plan that replaces a protected object.
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
		"This plan would replace it, because of %s, and its deletion_protection is true. Undo that change to keep the %s. To replace it: %s", strings.Join(changed, ", "), noun, unprotectHint))
}

// RefuseRedeployment refuses a plan that redeploys a protected object.
func RefuseRedeployment(object string, protected bool, diags *diag.Diagnostics) {
	if protected {
		diags.AddAttributeError(ProtectionPath(), capitalize(object)+" is protected from deletion",
			"This plan would redeploy it, because redeploy_triggers changes, and its deletion_protection is true. Undo that change to keep the "+
				"installed system. To redeploy it: "+unprotectHint)
	}
}

func capitalize(object string) string { return strings.ToUpper(object[:1]) + object[1:] }
