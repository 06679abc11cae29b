package vm

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/texttype"
)

// ValidateConfig checks attributes that depend on each other.
func (r *vmResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config vmModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if !values.IsWellFormed(ctx, req.Config) { // the types report it
		return
	}
	checkHostOrPlacement(config, &resp.Diagnostics)
	checkAnnotations(config, &resp.Diagnostics)
	config.settings().Validate(ctx, values.ObjectTitle("VM", config.Name), &resp.Diagnostics)
	checkProtection(config, &resp.Diagnostics)
	checkTriggers(config, &resp.Diagnostics)
	checkPower(config, config.deploy(ctx, &resp.Diagnostics), &resp.Diagnostics)
	checkInterfaces(ctx, config, &resp.Diagnostics)
	if d := config.deploy(ctx, &resp.Diagnostics); d != nil {
		values.CheckUserData("VM", d.UserDataWO, d.UserDataWOVersion, &resp.Diagnostics)
		checkCloudInit(*d, &resp.Diagnostics)
	}
}

// checkAnnotations refuses annotations of a VM that is not deployed.
func checkAnnotations(config vmModel, diags *diag.Diagnostics) {
	if len(config.Annotations.Elements()) > 0 && config.Deploy.IsNull() {
		diags.AddAttributeError(path.Root("annotations"), "A VM that is not deployed cannot be annotated",
			"MAAS annotates only deployed machines. Add deploy, or remove annotations.")
	}
}

// checkTriggers refuses redeploy_triggers of a VM that is not deployed.
func checkTriggers(config vmModel, diags *diag.Diagnostics) {
	if !config.Triggers.IsNull() && config.Deploy.IsNull() {
		diags.AddAttributeError(path.Root("redeploy_triggers"), "A VM that is not deployed cannot be redeployed",
			"Nothing is to be deployed on it. Add deploy, or remove redeploy_triggers.")
	}
}

// checkAddresses refuses impossible fixed addresses.
func checkAddresses(interfaces map[string]interfaceModel, diags *diag.Diagnostics) {
	values.CheckAddresses(interfaceOrder(interfaces), func(label string) (subnet texttype.Subnet, ip texttype.IP) {
		return interfaces[label].Subnet, interfaces[label].IP
	}, diags)
}

// checkCloudInit refuses user-data that cloud-init would ignore, as for a host. In other
// images than Ubuntu's, another program may read it.
func checkCloudInit(d deployModel, diags *diag.Diagnostics) {
	size := len(d.UserDataWO.ValueString())
	if size == 0 || size > engine.MaxUserDataBytes || !isUbuntuImage(d.Image) {
		return
	}
	var bad *cloudinit.MergeError
	if _, err := cloudinit.Merge(nil, []byte(d.UserDataWO.ValueString())); errors.As(err, &bad) {
		diags.AddAttributeError(path.Root("deploy").AtName("user_data_wo"), "User-data that cloud-init cannot run",
			diagnostics.Sentence(bad.Message)+diagnostics.Paragraph(strings.ToUpper(bad.Hint[:min(1, len(bad.Hint))])+bad.Hint[min(1, len(bad.Hint)):]))
	}
}

// isUbuntuImage tells whether an image is one of Ubuntu's, as MAAS's default is.
func isUbuntuImage(image texttype.Image) bool {
	name := image.ValueString()
	return !image.IsUnknown() && (!strings.Contains(name, "/") || strings.HasPrefix(name, "ubuntu/"))
}

var hostnameLabel = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// vmNameValidator passes hostnames that both MAAS and LXD accept.
func vmNameValidator() validator.String {
	return values.StringRule("one DNS label: 1 to 63 lower-case letters, digits and hyphens, which begins with a letter", vmNameProblem)
}

func vmNameProblem(name string) string {
	switch {
	case strings.Contains(name, "."):
		label, domain, _ := strings.Cut(name, ".")
		return fmt.Sprintf("%q has a dot. LXD refuses it in the name of a VM; the domain has its own attribute: write name = %q and domain = %q.", name, label, domain)
	case name != strings.ToLower(name) && hostnameLabel.MatchString(strings.ToLower(name)):
		return fmt.Sprintf("%q has upper-case letters. MAAS finds machines by lower-case hostnames only: write %q.",
			name, strings.ToLower(name))
	case hostnameLabel.MatchString(name) && name[0] <= '9':
		return fmt.Sprintf("%q begins with a digit, which LXD refuses in the name of a VM. Put a letter before it.", name)
	case !hostnameLabel.MatchString(name):
		return fmt.Sprintf("%q is not a DNS label: 1 to 63 lower-case letters, digits and hyphens, "+
			"with no hyphen at either end.", name)
	default:
		return ""
	}
}

var groupPattern = regexp.MustCompile(`^[A-Za-z0-9._/-]{1,128}$`)

func groupNameValidator() validator.String {
	return stringvalidator.RegexMatches(groupPattern, "must be 1 to 128 letters, digits, dots, hyphens, underscores and slashes")
}

// rootDiskValidator refuses disks without a root disk.
type rootDiskValidator struct{}

func (rootDiskValidator) Description(context.Context) string { return `has a disk named "root"` }

func (r rootDiskValidator) MarkdownDescription(ctx context.Context) string {
	return r.Description(ctx)
}

func (rootDiskValidator) ValidateMap(_ context.Context, req validator.MapRequest, resp *validator.MapResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if _, ok := req.ConfigValue.Elements()[rootDiskName]; !ok {
		resp.Diagnostics.AddAttributeError(req.Path, "No root disk",
			"One of the disks must be named \"root\": the VM boots from it. "+
				"For example: disks = { root = { size_gb = 20 }, data = { size_gb = 100 } }.")
	}
}
