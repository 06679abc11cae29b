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

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/operate"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/texttype"
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
	Image    texttype.Image `tfsdk:"image"`
	Kernel   types.String   `tfsdk:"kernel"`
	UserData types.String   `tfsdk:"user_data"`
	Timeouts timeouts.Value `tfsdk:"timeouts"`
}

// Metadata names the action.
func (a *redeployAction) Metadata(_ context.Context, req action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_redeploy"
}

// Schema names a VM, and what is deployed.
func (a *redeployAction) Schema(ctx context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Redeploys a VM of this owner: MAAS releases it and deploys it again. **What is on its disks is lost, also on data disks:** " +
			"MAAS wipes the partition tables and file systems of all disks before it installs. Only a VM that runs from memory keeps its disks. " +
			"The VM keeps its system id, MAC addresses, fixed addresses and annotations; automatic addresses may change. A VM that ran from memory does so again. " +
			"A VM that is locked or is a VM host, bare metal, and what carries no mark of this owner are refused. " +
			"An action that is cut off after the release leaves a `Ready` VM, and the next apply of its resource deploys it with `deploy` of the configuration. " +
			"If the deployment fails, no plan replaces the VM: invoke the action again. " +
			"**Do not redeploy an imported VM that MAAS's own `allocate` made: MAAS calls it dynamic, and deletes it when it is released.** " +
			"To redeploy with a change of the configuration, set `redeploy_triggers` of `maaslxd_vm`.",
		Attributes: map[string]schema.Attribute{
			"machine": machineAttribute("VM to redeploy"),
			"image": schema.StringAttribute{
				Optional: true, CustomType: texttype.ImageType,
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

// Invoke redeploys the VM.
func (a *redeployAction) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	var m redeployModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	d := operate.Redeployment{Installation: strings.ToLower(rand.Text()[:12]), Deployment: engine.Deployment{
		Image: m.Image.ValueString(), Kernel: m.Kernel.ValueString(), UserData: []byte(m.UserData.ValueString()),
	}}
	a.invoke(ctx, "redeploy VM "+m.Machine.ValueString(), m.Timeouts, redeployTimeout, &resp.Diagnostics,
		withMachine(m.Machine.ValueString(), func(ctx context.Context, b *client.Backend, found engine.Machine) error {
			if err := a.checkOurVM(found); err != nil {
				return err
			}
			release, err := a.client.HoldLease(ctx, b, found.VMMark(), "VM", found.Hostname)
			if err != nil {
				return err
			}
			defer release()
			resp.SendProgress(action.InvokeProgressEvent{Message: fmt.Sprintf("redeploying %s (%s)", found.Hostname, found.SystemID)})
			return operate.RedeployVM(ctx, b.VMs, found, d, newProgressReporter(found, resp))
		}))
}

// checkOurVM refuses what carries no mark of this owner, and bare metal. A release takes the
// notes off bare metal by which it is given back as it was taken.
func (a *redeployAction) checkOurVM(m engine.Machine) error {
	if !engine.IsSameOwner(m, a.client.VMKey(m.Hostname)) {
		return &engine.SpecError{
			Field: fieldpath.New("machine"), Message: fmt.Sprintf("%s carries no mark of this owner, so it is not redeployed", m.Hostname),
			Hint: "Import it first, and apply once. If it belongs to another configuration, redeploy it there.", Err: engine.ErrConflict,
		}
	}
	if key, _ := engine.KeyIn(m.Description); key == "" {
		return &engine.SpecError{
			Field: fieldpath.New("machine"), Message: m.Hostname + " is bare metal, and only VMs are redeployed",
			Hint: "Replace its resource: terraform apply -replace=ADDRESS.", Err: engine.ErrConflict,
		}
	}
	return nil
}
