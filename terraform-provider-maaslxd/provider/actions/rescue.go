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

// rescueTimeout is also in the schema's text.
const rescueTimeout = 20 * time.Minute

var _ action.ActionWithConfigure = (*rescueAction)(nil)

// NewRescue makes the action maaslxd_rescue.
func NewRescue() action.Action { return &rescueAction{} }

// rescueAction is the action maaslxd_rescue.
type rescueAction struct{ configuredAction }

type rescueModel struct {
	Machine  types.String   `tfsdk:"machine"`
	Rescue   types.String   `tfsdk:"rescue"`
	Timeouts timeouts.Value `tfsdk:"timeouts"`
}

// Metadata names the action.
func (a *rescueAction) Metadata(_ context.Context, req action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_rescue"
}

// Schema takes a machine, and whether it enters or exits rescue mode.
func (a *rescueAction) Schema(ctx context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Boots a VM or a machine into MAAS's rescue mode, or back out of it, and waits until that is done. Rescue mode is a " +
			"system in memory, from which you repair the disks. MAAS restarts the machine at once, without asking its guest. A `Deployed` machine " +
			"is `Deployed` again afterwards. A locked machine is refused. The VMs of a VM host stop with it.",
		Attributes: map[string]schema.Attribute{
			"machine": machineAttribute("VM or machine to rescue"),
			"rescue": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "`enter` or `exit`. If the machine is there already, nothing is done.",
				Validators:          []validator.String{stringvalidator.OneOf(operate.RescueEnter, operate.RescueExit)},
			},
			"timeouts": timeoutsAttribute(ctx, "20m"),
		},
	}
}

// Invoke makes the machine enter or exit rescue mode.
func (a *rescueAction) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	var m rescueModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	end := m.Rescue.ValueString()
	a.invoke(ctx, fmt.Sprintf("%s rescue mode of machine %s", end, m.Machine.ValueString()), m.Timeouts, rescueTimeout, &resp.Diagnostics,
		withMachine(m.Machine.ValueString(), func(ctx context.Context, b *client.Backend, found engine.Machine) error {
			resp.SendProgress(action.InvokeProgressEvent{Message: fmt.Sprintf("%s rescue mode: %s (%s)", end, found.Hostname, found.SystemID)})
			return operate.RescueMachine(ctx, b.Machines, found.SystemID, end, newProgressReporter(found, resp))
		}))
}
