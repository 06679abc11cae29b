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
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
)

// restoreTimeout is also in the schema's text.
const restoreTimeout = 20 * time.Minute

var _ action.ActionWithConfigure = (*restoreAction)(nil)

// NewRestore makes the action maaslxd_restore.
func NewRestore() action.Action { return &restoreAction{} }

// restoreAction is the action maaslxd_restore.
type restoreAction struct{ configuredAction }

type restoreModel struct {
	Machine       types.String   `tfsdk:"machine"`
	Name          types.String   `tfsdk:"name"`
	AllowStopping types.Bool     `tfsdk:"allow_stopping"`
	Timeouts      timeouts.Value `tfsdk:"timeouts"`
}

// Metadata names the action.
func (a *restoreAction) Metadata(_ context.Context, req action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_restore"
}

// Schema takes a VM and the snapshot to restore.
func (a *restoreAction) Schema(ctx context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Restores a snapshot of a VM in its LXD. **Data written to the root disk since then are lost.** The snapshot " +
			"stays.\n\nLXD also restores the options and devices of that time: number of cores, memory, size of the root disk, `config` and " +
			"`devices`. MAAS does not change. The next plan shows the differences from the configuration, and an apply removes them. For example, " +
			"a VM that got 4 GiB after the snapshot has 2 GiB again until that apply.\n\nThe data disks of the VM keep their data. A snapshot from " +
			"before one of them was added is refused, because LXD would detach the disk. A VM with `deletion_protection` is refused. With ZFS, LXD " +
			"restores only the latest snapshot.",
		Attributes: map[string]schema.Attribute{
			"machine": machineAttribute("VM to restore"),
			"name":    snapshotNameAttribute(),
			"allow_stopping": schema.BoolAttribute{
				Optional: true, MarkdownDescription: "Let the action turn a running VM off, and on again afterwards. Default `false`: the action " +
					"fails if the VM runs. If the action is interrupted in between, the next apply turns the VM on.",
			},
			"timeouts": timeoutsAttribute(ctx, "20m"),
		},
	}
}

// Invoke restores the snapshot.
func (a *restoreAction) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	var m restoreModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	name := m.Name.ValueString()
	a.invoke(ctx, "restore snapshot "+name+" of VM "+m.Machine.ValueString(), m.Timeouts, restoreTimeout, &resp.Diagnostics,
		withMachine(m.Machine.ValueString(), func(ctx context.Context, b *client.Backend, found engine.Machine) error {
			s, err := a.client.Snapshotter(ctx, b)
			if err != nil {
				return err
			}
			resp.SendProgress(action.InvokeProgressEvent{Message: fmt.Sprintf("restoring snapshot %s of %s (%s)", name, found.Hostname, found.SystemID)})
			var dataDisks []string
			err = s.RestoreSnapshot(ctx, found, name, m.AllowStopping.ValueBool(), func(disks []string) { dataDisks = disks }, newProgressReporter(found, resp))
			if len(dataDisks) > 0 { // LXD was asked to restore, perhaps without an answer
				warnOfDataDisks(&resp.Diagnostics, found, dataDisks, "Not all disks are restored", "They keep what they have now.")
			}
			return err
		}))
}
