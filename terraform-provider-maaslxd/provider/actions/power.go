package actions

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/action/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/operate"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
)

// powerTimeout is also in the schema's text.
const powerTimeout = 10 * time.Minute

var _ action.ActionWithConfigure = (*powerAction)(nil)

// NewPower makes the action maaslxd_power.
func NewPower() action.Action { return &powerAction{} }

// powerAction is the action maaslxd_power.
type powerAction struct{ configuredAction }

type powerModel struct {
	Machine  types.String   `tfsdk:"machine"`
	Power    types.String   `tfsdk:"power"`
	Timeouts timeouts.Value `tfsdk:"timeouts"`
}

// Metadata names the action.
func (a *powerAction) Metadata(_ context.Context, req action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_power"
}

// Schema takes a machine and the power that it gets.
func (a *powerAction) Schema(ctx context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Turns a VM or a machine of MAAS on or off, or off and on again, and waits until its power driver confirms it. A VM " +
			"is turned off at once. A machine shuts down cleanly only if its power driver in MAAS asks it to. Turning a VM host off also stops its VMs. To keep a VM on or off, set `power_state` of `maaslxd_vm`.",
		Attributes: map[string]schema.Attribute{
			"machine": machineAttribute("VM or machine to turn on or off"),
			"power": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "`on`, `off` or `cycle`. `cycle` turns the machine off, if it is on, and then on. You can turn on only a machine that has an owner in MAAS.",
				Validators:          []validator.String{stringvalidator.OneOf(operate.PowerOn, operate.PowerOff, operate.PowerCycle)},
			},
			"timeouts": timeoutsAttribute(ctx, "10m"),
		},
	}
}

// Invoke changes the power.
func (a *powerAction) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	var m powerModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	power := m.Power.ValueString()
	a.invoke(ctx, powerWords(m.Machine.ValueString(), power), m.Timeouts, powerTimeout, &resp.Diagnostics,
		withMachine(m.Machine.ValueString(), func(ctx context.Context, b *client.Backend, found engine.Machine) error {
			resp.SendProgress(action.InvokeProgressEvent{Message: fmt.Sprintf("power %s: %s (%s)", power, found.Hostname, found.SystemID)})
			return operate.TurnPower(ctx, b.Machines, found, power, newProgressReporter(found, resp))
		}))
}

// powerWords says what the action does, for an error that begins with "Cannot".
func powerWords(machine, power string) string {
	if power == operate.PowerCycle {
		return "power-cycle machine " + machine
	}
	return fmt.Sprintf("turn machine %s %s", machine, power)
}
