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

// redeployTimeout is also in the schema's text.
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

// Schema takes a VM and the system to deploy.
func (a *redeployAction) Schema(ctx context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Redeploys a VM of this owner: MAAS releases it and deploys it again. **All data on its disks are lost, also on data " +
			"disks:** MAAS wipes the partition tables and file systems of all disks before it installs. Only a VM that runs from memory keeps its " +
			"disks, and it runs from memory again. The VM keeps its system id, MAC addresses, fixed addresses and annotations; automatic addresses " +
			"may change.\n\nLocked VMs, VMs that are VM hosts, bare metal, and machines without a mark of this owner are refused. If the action is " +
			"interrupted after the release, the VM is `Ready`. The next apply of its resource deploys it with the `deploy` of the configuration. " +
			"If the deployment fails, no plan replaces the VM: invoke the action again. **Do not redeploy an imported VM that MAAS's own " +
			"`allocate` made: MAAS calls it dynamic, and deletes it at its release.** To redeploy with a change of the configuration, set " +
			"`redeploy_triggers` of `maaslxd_vm`.",
		Attributes: map[string]schema.Attribute{
			"machine": machineAttribute("VM to redeploy"),
			"image": schema.StringAttribute{
				Optional: true, CustomType: texttype.ImageType,
				MarkdownDescription: "Image to deploy, such as `ubuntu/noble`. Default: the deployed image, with its kernel.",
			},
			"kernel": schema.StringAttribute{
				Optional: true, Validators: []validator.String{values.NotEmpty()},
				MarkdownDescription: "Kernel to deploy, such as `ga-24.04`. Default, if you name an image: MAAS's default for it.",
			},
			"user_data": schema.StringAttribute{
				Optional: true, Validators: []validator.String{values.UserDataSize()},
				MarkdownDescription: "User-data for cloud-init. Default: none, because MAAS does not report the former user-data. An action has no state, so it is not stored.",
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

// checkOurVM refuses bare metal, and machines without a mark of this owner. On bare metal, a
// release removes the notes by which the provider restores the machine.
func (a *redeployAction) checkOurVM(m engine.Machine) error {
	if !engine.IsSameOwner(m, a.client.Owner.VMKey(m.Hostname)) {
		return &engine.SpecError{
			Field: fieldpath.New("machine"), Message: fmt.Sprintf("%s carries no mark of this owner, so it cannot be redeployed", m.Hostname),
			Hint: "Import it first, and apply once. If it belongs to another configuration, redeploy it with that.", Err: engine.ErrConflict,
		}
	}
	if key, _ := engine.KeyIn(m.Description); key == "" {
		return &engine.SpecError{
			Field: fieldpath.New("machine"), Message: m.Hostname + " is bare metal, and the action redeploys only VMs",
			Hint: "Replace its resource: terraform apply -replace=ADDRESS.", Err: engine.ErrConflict,
		}
	}
	return nil
}
