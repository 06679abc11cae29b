package vm

import (
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
)

// protection is where deletion_protection stands.
func protection() path.Path { return path.Root("deletion_protection") }

// checkProtection refuses to protect what MAAS cannot lock.
func checkProtection(config vmModel, diags *diag.Diagnostics) {
	if config.Protection.ValueBool() && config.Deploy.IsNull() {
		diags.AddAttributeError(protection(), "A VM that is not deployed cannot be protected",
			"deletion_protection is MAAS's lock, and MAAS locks deployed machines only. Add deploy, or leave deletion_protection out.")
	}
}

// unprotect says how a VM can be destroyed that is protected.
const unprotect = "Set deletion_protection = false and apply that first; MAAS then unlocks it."

// refuseDestroy refuses to destroy a VM that is protected.
func refuseDestroy(name string, protected bool, diags *diag.Diagnostics) {
	if protected {
		diags.AddAttributeError(protection(), fmt.Sprintf("VM %s is protected from deletion", name),
			"Its deletion_protection is true, so it is not destroyed. "+unprotect)
	}
}

// refuse refuses a plan that would redeploy a VM that is protected.
func (p redeployment) refuse() {
	if !p.redeploys || len(p.replace) > 0 || !p.state.Protection.ValueBool() {
		return
	}
	p.diags.AddAttributeError(protection(), fmt.Sprintf("VM %s is protected from deletion", p.state.Name.ValueString()),
		"This plan would redeploy it, because redeploy_triggers changes, and its deletion_protection is true. "+
			"Take that change back to keep what is installed. To redeploy it: "+unprotect)
}

// refuseReplacement refuses a plan that would replace a VM that is protected.
func (p *vmPlan) refuseReplacement() {
	if len(p.replace) == 0 || !p.state.Protection.ValueBool() {
		return
	}
	var changed []string
	for _, at := range p.replace {
		changed = append(changed, at.String())
	}
	p.diags.AddAttributeError(protection(), fmt.Sprintf("VM %s is protected from deletion", p.state.Name.ValueString()), fmt.Sprintf(
		"This plan would replace it, because of %s, and its deletion_protection is true. "+
			"Take that change back to keep the VM. To replace it: %s", strings.Join(changed, ", "), unprotect))
}
