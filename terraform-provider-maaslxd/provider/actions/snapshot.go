package actions

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/action/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/operate"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// snapshotTimeout is also in the schema's text. A storage pool of the driver dir copies disks.
const snapshotTimeout = 15 * time.Minute

var _ action.ActionWithConfigure = (*snapshotAction)(nil)

// NewSnapshot makes the action maaslxd_snapshot.
func NewSnapshot() action.Action { return &snapshotAction{} }

// snapshotAction is the action maaslxd_snapshot.
type snapshotAction struct{ configuredAction }

type snapshotModel struct {
	Machine   types.String   `tfsdk:"machine"`
	Name      types.String   `tfsdk:"name"`
	ExpiresIn types.String   `tfsdk:"expires_in"`
	Replace   types.Bool     `tfsdk:"replace"`
	Timeouts  timeouts.Value `tfsdk:"timeouts"`
}

// Metadata names the action.
func (a *snapshotAction) Metadata(_ context.Context, req action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_snapshot"
}

// Schema takes a VM, and the name and options of the snapshot.
func (a *snapshotAction) Schema(ctx context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Takes a snapshot of a VM in its LXD: of its root disk, its options and its devices. The VM may run. Its memory is not " +
			"part of the snapshot, so after a restore its system finds the disk as after a power failure.\n\n**A snapshot does not hold the data " +
			"disks of the VM**, which are separate volumes: the action warns of them. LXD deletes the snapshots of a VM with the VM. The ledger " +
			"does not reserve room for snapshots.\n\nThe VM must carry a mark of this provider's owner, but MAAS or the provider may have made it. " +
			"The provider reaches the LXD of its VM host with the key pair of the fleet.",
		Attributes: map[string]schema.Attribute{
			"machine": machineAttribute("VM to take a snapshot of"),
			"name":    snapshotNameAttribute(),
			"expires_in": schema.StringAttribute{
				Optional: true, MarkdownDescription: "LXD deletes the snapshot after this time, a duration such as `168h`, at least `1m`. Default: the " +
					"option `snapshots.expiry` of the instance, if it is set.",
				Validators: []validator.String{values.StringRule("a duration of a minute or more", expiryProblem)},
			},
			"replace": schema.BoolAttribute{
				Optional: true, MarkdownDescription: "Delete a snapshot of that name first. If LXD then refuses to take another one, for example " +
					"because the pool is full, there is none. Default `false`: the action fails if there is one of that name. Set it, for example, for an action that runs before each update.",
			},
			"timeouts": timeoutsAttribute(ctx, "15m"),
		},
	}
}

// snapshotNameAttribute is the attribute that names a snapshot.
func snapshotNameAttribute() schema.Attribute {
	return schema.StringAttribute{
		Required: true, MarkdownDescription: "Name of the snapshot, such as `before-upgrade`. It contains no space and none of `/ ? & + %`.",
		Validators: []validator.String{values.StringRule("a name that LXD accepts for a snapshot", operate.SnapshotNameProblem)},
	}
}

// expiryProblem says why a text is no expiry of a snapshot; empty: it is one.
func expiryProblem(text string) string {
	after, err := time.ParseDuration(text)
	if err != nil || after < time.Minute {
		return fmt.Sprintf("%q is not a duration of a minute or more. Write it with units, such as \"168h\" for a week.", text)
	}
	return ""
}

// Invoke takes the snapshot.
func (a *snapshotAction) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	var m snapshotModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	want := operate.SnapshotSpec{Name: m.Name.ValueString(), Replace: m.Replace.ValueBool()}
	want.ExpiresIn, _ = time.ParseDuration(m.ExpiresIn.ValueString()) // or zero
	a.invoke(ctx, "take snapshot "+want.Name+" of VM "+m.Machine.ValueString(), m.Timeouts, snapshotTimeout, &resp.Diagnostics,
		withMachine(m.Machine.ValueString(), func(ctx context.Context, b *client.Backend, found engine.Machine) error {
			s, err := a.client.Snapshotter(ctx, b)
			if err != nil {
				return err
			}
			resp.SendProgress(action.InvokeProgressEvent{Message: fmt.Sprintf("taking snapshot %s of %s (%s)", want.Name, found.Hostname, found.SystemID)})
			var dataDisks []string
			if err := s.TakeSnapshot(ctx, found, want, func(disks []string) { dataDisks = disks }); err != nil {
				return err
			}
			if len(dataDisks) > 0 {
				warnOfDataDisks(&resp.Diagnostics, found, dataDisks, "The snapshot does not hold all disks", "They are not part of the snapshot. Take "+
					"snapshots of these volumes with: lxc storage volume snapshot.")
			}
			return nil
		}))
}

// warnOfDataDisks names the disks that a snapshot does not hold.
func warnOfDataDisks(diags *diag.Diagnostics, m engine.Machine, disks []string, summary, consequence string) {
	diags.AddAttributeWarning(path.Root("machine"), summary, fmt.Sprintf("%s (%s) has data disks, which are separate volumes: %s. %s", m.Hostname, m.SystemID, strings.Join(disks, ", "), consequence))
}
