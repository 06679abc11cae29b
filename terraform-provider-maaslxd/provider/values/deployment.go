package values

import (
	"cmp"
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/planmodifiers"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/texttype"
)

// Deployment is the attribute deploy: what is installed on a machine.
type Deployment struct {
	Image             texttype.Image `tfsdk:"image"`
	Kernel            types.String   `tfsdk:"kernel"`
	UserDataWO        types.String   `tfsdk:"user_data_wo"`
	UserDataWOVersion types.Int64    `tfsdk:"user_data_wo_version"`
	StorageLayout     types.Object   `tfsdk:"storage_layout"`
}

// DeploymentType is the type of the attribute deploy.
var DeploymentType = types.ObjectType{AttrTypes: map[string]attr.Type{
	"image": texttype.ImageType, "kernel": types.StringType,
	"user_data_wo": types.StringType, "user_data_wo_version": types.Int64Type, "storage_layout": StorageLayoutType,
}}

// Spec converts it for the engine.
func (d Deployment) Spec() *engine.Deployment {
	return &engine.Deployment{
		Image: d.Image.ValueString(), Kernel: d.Kernel.ValueString(), UserData: []byte(d.UserDataWO.ValueString()),
		Storage: storageLayout(d.StorageLayout),
	}
}

// DeploymentFromMAAS is the deployment of a machine whose image and kernel MAAS reports. MAAS
// does not report the storage layout.
func DeploymentFromMAAS(image, kernel string) Deployment {
	return Deployment{Image: texttype.ImageType.FromText(image), Kernel: OptionalString(kernel), StorageLayout: types.ObjectNull(StorageLayoutType.AttrTypes)}
}

// Fill sets the values that a plan left open to those that MAAS reports.
func (d *Deployment) Fill(image, kernel string) {
	FillString(&d.Image.StringValue, image)
	FillString(&d.Kernel, kernel)
}

// FillNulls sets values that are null so far to those that MAAS reports.
func (d *Deployment) FillNulls(image, kernel string) {
	if d.Image.IsNull() {
		d.Image = texttype.ImageType.FromText(image)
	}
	if d.Kernel.IsNull() {
		d.Kernel = OptionalString(kernel)
	}
}

// KeepInstalled keeps the installed image and kernel in the plan where the configuration names
// none. If the configuration names another image, the plan has that one.
func (d *Deployment) KeepInstalled(had, wished Deployment, n Installation) {
	d.Fill(cmp.Or(had.Image.ValueString(), n.Image), cmp.Or(had.Kernel.ValueString(), n.Kernel))
	if IsOtherImage(wished.Image, had.Image, n.Image) {
		d.Image = wished.Image
	}
}

// IsOtherImage tells whether a configuration wants another image than the one in the state. A
// short name may be that of several images, so MAAS's full name decides if it is known. For
// example, the state has "noble", and MAAS says "ubuntu/noble": "custom/noble" is another one.
func IsOtherImage(want, had texttype.Image, installed string) bool {
	switch {
	case want.IsNull() || want.Equal(had):
		return false
	case want.IsUnknown():
		return true
	}
	is := cmp.Or(installed, had.ValueString())
	return is != "" && !texttype.ImageType.MeansSame(want.ValueString(), is)
}

// EncodeInstalledDeployment is the attribute deploy of a machine whose image and kernel MAAS
// reports; null if MAAS reports no image.
func EncodeInstalledDeployment(ctx context.Context, image, kernel string, diags *diag.Diagnostics) types.Object {
	if image == "" {
		return types.ObjectNull(DeploymentType.AttrTypes)
	}
	return EncodeObject(ctx, DeploymentType, DeploymentFromMAAS(image, kernel), diags)
}

// DeploymentTexts are the descriptions of the attribute deploy that differ between resources.
type DeploymentTexts struct{ Deploy, Image, UserData, Version string }

// DeploymentAttribute is the schema of the attribute deploy.
func DeploymentAttribute(text DeploymentTexts) schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{
		Optional:            true,
		MarkdownDescription: text.Deploy,
		Attributes: map[string]schema.Attribute{
			"image": schema.StringAttribute{
				Optional: true, Computed: true, CustomType: texttype.ImageType, MarkdownDescription: text.Image,
				PlanModifiers: []planmodifier.String{stringplanmodifier.UseNonNullStateForUnknown(), texttype.ImageType.KeepSpelling()},
			},
			"kernel": schema.StringAttribute{
				Optional: true, Computed: true,
				MarkdownDescription: "Kernel to install, such as `ga-24.04`. Default: MAAS's default for the image.",
				Validators:          []validator.String{NotEmpty()},
				PlanModifiers:       []planmodifier.String{stringplanmodifier.UseNonNullStateForUnknown()},
			},
			"user_data_wo": schema.StringAttribute{
				Optional: true, WriteOnly: true, MarkdownDescription: text.UserData, Validators: []validator.String{UserDataSize()},
			},
			"user_data_wo_version": schema.Int64Attribute{Optional: true, MarkdownDescription: text.Version, Validators: []validator.Int64{int64validator.AtLeast(0)}},
			"storage_layout":       planmodifiers.KeepWhenRemoved(storageLayoutAttribute()),
		},
	}
}

// Installation is what a machine was installed with.
type Installation struct {
	UserData InstalledUserData
	// Image and Kernel by MAAS's name, such as "ubuntu/noble" and "ga-24.04"; empty: not
	// known.
	Image, Kernel string
	// Imported: a value that the state never had is taken from the configuration.
	Imported bool
}

// ReinstallReason says why the machine must be installed anew, or "" if it need not. The state
// had what was to be installed, and the configuration wants it.
func (n Installation) ReinstallReason(had, want Deployment) string {
	// If the configuration names neither image now nor before, the installed one stays.
	kernel := cmp.Or(had.Kernel.ValueString(), n.Kernel)
	switch {
	case IsOtherImage(want.Image, had.Image, n.Image):
		return "deploy.image changes"
	case want.Kernel.IsUnknown() || IsSet(want.Kernel) && want.Kernel.ValueString() != kernel && !(n.Imported && had.Kernel.IsNull()):
		return "deploy.kernel changes"
	case n.UserData.NeedsReinstall(want.UserDataWOVersion, had.UserDataWOVersion, n.Imported):
		return "deploy.user_data_wo_version changes, and user-data runs only at the first boot"
	case !(n.Imported && had.StorageLayout.IsNull()) && wantsMoreThan(want.StorageLayout, had.StorageLayout):
		return "deploy.storage_layout changes, and MAAS lays out disks only before it deploys a machine"
	}
	return ""
}

// DecodeDeployment decodes the attribute deploy; all is null if it is not set.
func DecodeDeployment(ctx context.Context, o types.Object, diags *diag.Diagnostics) Deployment {
	if d := DecodeObject[Deployment](ctx, o, diags); d != nil {
		return *d
	}
	return Deployment{}
}
