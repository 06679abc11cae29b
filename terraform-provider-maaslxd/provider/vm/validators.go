package vm

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

var hostnameLabel = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// vmName passes hostnames that MAAS and LXD both take.
func vmName() validator.String {
	return values.StringRule("one DNS label: 1 to 63 lower-case letters, digits and hyphens, which begins with a letter", wrongName)
}

func wrongName(name string) string {
	switch {
	case strings.Contains(name, "."):
		label, domain, _ := strings.Cut(name, ".")
		return fmt.Sprintf("%q has a dot. LXD refuses it in the name of a VM; the domain is a matter of its own: "+
			"write name = %q and domain = %q.", name, label, domain)
	case name != strings.ToLower(name):
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

func groupName() validator.String {
	return stringvalidator.RegexMatches(groupPattern, "must be 1 to 128 letters, digits, dots, hyphens, underscores and slashes")
}

// rootDisk refuses disks without a root disk.
type rootDisk struct{}

func (rootDisk) Description(context.Context) string { return `has a disk named "root"` }

func (r rootDisk) MarkdownDescription(ctx context.Context) string {
	return r.Description(ctx)
}

func (rootDisk) ValidateMap(_ context.Context, req validator.MapRequest, resp *validator.MapResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if _, ok := req.ConfigValue.Elements()[rootDiskName]; !ok {
		resp.Diagnostics.AddAttributeError(req.Path, "No root disk",
			"One of the disks must be named \"root\": the VM boots from it. "+
				"For example: disks = { root = { size_gb = 20 }, data = { size_gb = 100 } }.")
	}
}
