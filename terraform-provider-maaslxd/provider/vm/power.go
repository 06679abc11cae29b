package vm

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
)

// These are the values of power_state.
const (
	powerRunning = "running"
	powerStopped = "stopped"
)

// maasPowerOfState maps a value of power_state to MAAS's word. powerStateOfMAAS is the
// reverse.
var (
	maasPowerOfState = map[string]string{powerRunning: "on", powerStopped: "off"}
	powerStateOfMAAS = map[string]string{"on": powerRunning, "off": powerStopped}
)

// checkPower refuses power_state for a VM that MAAS cannot turn on or off.
func checkPower(config vmModel, deploy *deployModel, diags *diag.Diagnostics) {
	if config.PowerState.ValueString() == powerRunning && config.Deploy.IsNull() {
		diags.AddAttributeError(path.Root("power_state"), "A VM that is not deployed cannot be turned on",
			"MAAS turns on only deployed machines. Add deploy, or remove power_state.")
	}
	checkFromMemory(config, deploy, "Remove one of them.", diags)
}

// refuseFromMemory refuses the same for a VM that still runs from memory after its line
// deploy.ephemeral was removed.
func (p *vmPlan) refuseFromMemory(ctx context.Context) {
	if wished := p.config.deploy(ctx, p.diags); wished == nil || !wished.Ephemeral.IsNull() {
		return // its validation reports it
	}
	checkFromMemory(p.plan, p.plan.deploy(ctx, p.diags), fmt.Sprintf(
		"The line deploy.ephemeral was removed, but %s still runs from memory. Remove this attribute, too, or write deploy.ephemeral = false, which replaces the VM.",
		p.state.Name.ValueString()), p.diags)
}

// checkFromMemory refuses to turn off a VM that runs from memory, and says the way out.
func checkFromMemory(m vmModel, deploy *deployModel, hint string, diags *diag.Diagnostics) {
	if deploy == nil || !deploy.Ephemeral.ValueBool() {
		return
	}
	why := "A VM that runs from memory (deploy.ephemeral) loses all its data when it is turned off. " + hint
	if m.PowerState.ValueString() != "" {
		diags.AddAttributeError(path.Root("power_state"), "A VM that runs from memory is not turned off or on", why)
	}
	if m.AllowStopping.ValueBool() {
		diags.AddAttributeError(path.Root("allow_stopping_for_update"), "A VM that runs from memory is not stopped", why)
	}
}

// isPowerManaged tells whether power_state applies to a VM in this phase.
func isPowerManaged(vm engine.VM) bool {
	phase := vm.Status.Phase()
	return phase == engine.PhaseDeployed || phase == engine.PhaseReady
}

// fillUnknownPower asks for the power if the configuration sets it and MAAS does not know it.
// Without an answer it stays unknown.
func (r *vmResource) fillUnknownPower(ctx context.Context, state vmModel, vm *engine.VM) {
	if state.PowerState.IsNull() || !isPowerManaged(*vm) || powerStateOfMAAS[vm.PowerState] != "" {
		return
	}
	if power, err := r.readPower(ctx, vm.SystemID); err == nil {
		vm.PowerState = power
	}
}

// refreshPower records the power of a VM if the configuration sets it.
func (m *vmModel) refreshPower(vm engine.VM) {
	if now := powerStateOfMAAS[vm.PowerState]; !m.PowerState.IsNull() && isPowerManaged(vm) && now != "" {
		m.PowerState = types.StringValue(now)
	}
}

// planPowerOn continues an update that turned the VM off and did not end.
func (p *vmPlan) planPowerOn() {
	p.plan.Status = types.StringUnknown()
	p.diags.AddAttributeWarning(path.Root("status"), "The VM is turned on again", fmt.Sprintf(
		"An update turned %s off to change it, and did not end. The apply makes sure that it runs.", p.state.Name.ValueString()))
}

// readPower asks whether a VM is on.
func (r *vmResource) readPower(ctx context.Context, systemID string) (string, error) {
	b, err := r.client.Backend()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, client.PlanCheckTimeout)
	defer cancel()
	return b.Machines.QueryPower(ctx, systemID)
}
