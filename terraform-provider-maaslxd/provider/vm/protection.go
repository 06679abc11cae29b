package vm

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// checkProtection refuses to protect a VM that MAAS cannot lock.
func checkProtection(config vmModel, diags *diag.Diagnostics) {
	if config.Protection.ValueBool() && config.Deploy.IsNull() {
		diags.AddAttributeError(values.ProtectionPath(), "A VM that is not deployed cannot be protected",
			"deletion_protection is MAAS's lock, and MAAS locks only deployed machines. Add deploy, or remove deletion_protection.")
	}
}

// refuseRedeployment refuses a plan that redeploys a protected VM. A VM on which nothing is
// installed has nothing to lose.
func (p redeployment) refuseRedeployment() {
	if !p.changesTriggers || len(p.replace) > 0 || p.state.Deploy.IsNull() {
		return
	}
	if p.resizesInPlace && (!p.plan.MemoryMiB.Equal(p.state.MemoryMiB) || !p.plan.Cores.Equal(p.state.Cores) || !p.plan.Disks.Equal(p.state.Disks)) {
		p.diags.AddAttributeError(path.Root("redeploy_triggers"), "These two changes need an apply each", fmt.Sprintf(
			"The size of %s changes, and that stops the VM. Right after a redeployment that would interrupt its user-data. Change the size first and "+
				"apply, then change redeploy_triggers.", p.state.Name.ValueString()))
	}
	values.RefuseRedeployment("VM "+p.state.Name.ValueString(), p.state.Protection.ValueBool() || p.plan.Protection.ValueBool(), p.diags)
}
