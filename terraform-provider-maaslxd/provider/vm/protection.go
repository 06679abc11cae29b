package vm

import (
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// checkProtection refuses to protect what MAAS cannot lock.
func checkProtection(config vmModel, diags *diag.Diagnostics) {
	if config.Protection.ValueBool() && config.Deploy.IsNull() {
		diags.AddAttributeError(values.ProtectionPath(), "A VM that is not deployed cannot be protected",
			"deletion_protection is MAAS's lock, and MAAS locks deployed machines only. Add deploy, or leave deletion_protection out.")
	}
}

// refuse refuses a plan that would redeploy a VM that is protected. One on which nothing is
// installed has nothing to lose.
func (p redeployment) refuse() {
	if !p.redeploys || len(p.replace) > 0 || p.state.Deploy.IsNull() {
		return
	}
	values.RefuseRedeployment("VM "+p.state.Name.ValueString(), p.state.Protection.ValueBool() || p.plan.Protection.ValueBool(), p.diags)
}
