package actions

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/action/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/operate"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
)

// commissionTimeout is also in the schema's text.
const commissionTimeout = 30 * time.Minute

var _ action.ActionWithConfigure = (*commissionAction)(nil)

// NewCommission makes the action maaslxd_commission.
func NewCommission() action.Action { return &commissionAction{} }

// commissionAction is the action maaslxd_commission.
type commissionAction struct{ configuredAction }

type commissionModel struct {
	Machine  types.String   `tfsdk:"machine"`
	Timeouts timeouts.Value `tfsdk:"timeouts"`
}

// Metadata names the action.
func (a *commissionAction) Metadata(_ context.Context, req action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_commission"
}

// Schema takes a machine.
func (a *commissionAction) Schema(ctx context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Commissions a machine again, without hardware tests, and waits until it is `Ready`. MAAS then knows disks and NICs that " +
			"were added. The machine must be free: `New`, `Ready`, `Broken`, or failed before. An allocated or deployed machine is refused. " +
			"Commissioning resets the addresses of the machine's interfaces.",
		Attributes: map[string]schema.Attribute{
			"machine":  machineAttribute("Machine to commission"),
			"timeouts": timeoutsAttribute(ctx, "30m"),
		},
	}
}

// Invoke commissions the machine.
func (a *commissionAction) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	var m commissionModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	a.invoke(ctx, "commission machine "+m.Machine.ValueString(), m.Timeouts, commissionTimeout, &resp.Diagnostics,
		withMachine(m.Machine.ValueString(), func(ctx context.Context, b *client.Backend, found engine.Machine) error {
			resp.SendProgress(action.InvokeProgressEvent{Message: fmt.Sprintf("commissioning %s (%s)", found.Hostname, found.SystemID)})
			return operate.CommissionMachine(ctx, b.Machines, b.Reports, found.SystemID, newProgressReporter(found, resp))
		}))
}
