package actions

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/action/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/operate"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// redeployTimeout is said in the schema, too.
const redeployTimeout = 45 * time.Minute

var _ action.ActionWithConfigure = (*redeployAction)(nil)

// NewRedeploy makes the action maaslxd_redeploy.
func NewRedeploy() action.Action { return &redeployAction{} }

// redeployAction is the action maaslxd_redeploy.
type redeployAction struct{ configuredAction }

type redeployModel struct {
	Machine  types.String   `tfsdk:"machine"`
	Image    types.String   `tfsdk:"image"`
	Kernel   types.String   `tfsdk:"kernel"`
	UserData types.String   `tfsdk:"user_data"`
	Timeouts timeouts.Value `tfsdk:"timeouts"`
}

// Metadata names the action.
func (a *redeployAction) Metadata(_ context.Context, req action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_redeploy"
}

// Schema names a machine, and what is deployed.
func (a *redeployAction) Schema(ctx context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Redeploys a VM or a machine of this owner: MAAS releases it and deploys it again. **The disks of its operating system are overwritten.** " +
			"It keeps its system id, MAC addresses and fixed addresses; automatic addresses may change. " +
			"VMs keep their annotations. A machine that is locked, a VM host, and what somebody else deployed are refused. " +
			"An action that is cut off after the release leaves a `Ready` VM. The next apply of its resource deploys it with `deploy` of the configuration, and so does the action. " +
			"A machine belongs to nobody between its release and its deployment, and somebody else may take it. " +
			"A VM that MAAS's own `allocate` made is deleted by a release, so do not redeploy one that you imported. " +
			"To redeploy with a change of the configuration, set `redeploy_triggers` of `maaslxd_vm`.",
		Attributes: map[string]schema.Attribute{
			"machine": machineAttribute("VM or machine to redeploy"),
			"image": schema.StringAttribute{
				Optional: true, Validators: []validator.String{values.NotEmpty()},
				MarkdownDescription: "Image to deploy, such as `ubuntu/noble`. Default: the image and the kernel that are deployed.",
			},
			"kernel": schema.StringAttribute{
				Optional: true, Validators: []validator.String{values.NotEmpty()},
				MarkdownDescription: "Kernel to deploy, such as `ga-24.04`. Default: MAAS's default of the image, if you name an image.",
			},
			"user_data": schema.StringAttribute{
				Optional: true, Validators: []validator.String{values.UserDataSize()},
				MarkdownDescription: "User-data for cloud-init. Default: none, as MAAS does not tell what was there. An action keeps no state, so it is not stored.",
			},
			"timeouts": timeoutsAttribute(ctx, "45m"),
		},
	}
}

// Invoke redeploys the machine.
func (a *redeployAction) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	var m redeployModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	d := operate.Redeployment{Installation: strings.ToLower(rand.Text()[:12]), Deployment: engine.Deployment{
		Image: m.Image.ValueString(), Kernel: m.Kernel.ValueString(), UserData: []byte(m.UserData.ValueString()),
	}}
	a.invoke(ctx, "redeploy machine "+m.Machine.ValueString(), m.Timeouts, redeployTimeout, &resp.Diagnostics,
		onMachine(m.Machine.ValueString(), func(ctx context.Context, b *client.Backend, found engine.Machine) error {
			if err := a.checkOurs(ctx, b, found); err != nil {
				return err
			}
			release, err := a.client.HoldLease(ctx, b, found.VMMark(), "machine", found.Hostname)
			if err != nil {
				return err
			}
			defer release()
			resp.SendProgress(action.InvokeProgressEvent{Message: fmt.Sprintf("redeploying %s (%s)", found.Hostname, found.SystemID)})
			if key, _ := engine.KeyIn(found.Description); key != "" {
				return operate.RedeployVM(ctx, b.VMs, found, d)
			}
			return operate.RedeployMachine(ctx, b.Metal, found, d)
		}))
}

// checkOurs refuses what carries no mark of this owner, and VM hosts.
func (a *redeployAction) checkOurs(ctx context.Context, b *client.Backend, m engine.Machine) error {
	if !engine.SameOwner(m, a.client.VMKey(m.Hostname)) {
		return &engine.SpecError{
			Field: "machine", Message: fmt.Sprintf("%s carries no mark of this owner, so it is not redeployed", m.Hostname),
			Hint: "Import it first, and apply once. If it belongs to another configuration, redeploy it there.", Err: engine.ErrConflict,
		}
	}
	return operate.CheckNoVMHost(ctx, b.Inventory, m)
}
