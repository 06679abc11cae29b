package actions

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/action/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine/operate"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// refreshTimeout is also in the schema's text.
const refreshTimeout = 5 * time.Minute

var _ action.ActionWithConfigure = (*refreshAction)(nil)

// NewVMHostRefresh makes the action maaslxd_vm_host_refresh.
func NewVMHostRefresh() action.Action { return &refreshAction{} }

// refreshAction is the action maaslxd_vm_host_refresh.
type refreshAction struct{ configuredAction }

type refreshModel struct {
	VMHost   types.String   `tfsdk:"vm_host"`
	Timeouts timeouts.Value `tfsdk:"timeouts"`
}

// Metadata names the action.
func (a *refreshAction) Metadata(_ context.Context, req action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_vm_host_refresh"
}

// Schema takes a VM host.
func (a *refreshAction) Schema(ctx context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Makes MAAS read a VM host again: its storage pools, its size and its VMs. MAAS forgets VMs that are gone from its LXD " +
			"project. **MAAS takes over VMs of the project that it does not know, and restarts them.** A MAAS without VM hosts has no record of " +
			"them, so the action is refused there.",
		Attributes: map[string]schema.Attribute{
			"vm_host": schema.StringAttribute{
				Required: true, MarkdownDescription: "VM host: its name or id, or the system id of its machine, such as `maaslxd_vm_host.kvm1.name`.",
				Validators: []validator.String{values.NotEmpty()},
			},
			"timeouts": timeoutsAttribute(ctx, "5m"),
		},
	}
}

// Invoke refreshes the VM host.
func (a *refreshAction) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	var m refreshModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	name := m.VMHost.ValueString()
	a.invoke(ctx, "refresh VM host "+name, m.Timeouts, refreshTimeout, &resp.Diagnostics, func(ctx context.Context, b *client.Backend) error {
		resp.SendProgress(action.InvokeProgressEvent{Message: "MAAS reads VM host " + name})
		return operate.RefreshHost(ctx, b.Inventory, name)
	})
}
