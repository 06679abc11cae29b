package vm

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// ValidateConfig checks what concerns several attributes at once.
func (r *vmResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config vmModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	checkHost(config, &resp.Diagnostics)
	checkAddresses(config.interfaces(ctx, &resp.Diagnostics), &resp.Diagnostics)
	if d := config.deploy(ctx, &resp.Diagnostics); d != nil {
		values.CheckUserData("VM", d.UserDataWO, d.UserDataWOVersion, &resp.Diagnostics)
		checkCloudInit(*d, &resp.Diagnostics)
	}
}

// checkAddresses refuses a fixed address outside of its subnet, where the
// subnet is given as a CIDR, and one address for two interfaces.
func checkAddresses(interfaces map[string]interfaceModel, diags *diag.Diagnostics) {
	owner := map[netip.Addr]string{}
	for _, label := range interfaceOrder(interfaces) {
		i := interfaces[label]
		ip, err := netip.ParseAddr(i.IP.ValueString())
		if err != nil {
			continue // absent, unknown, or refused by its own validator
		}
		at := path.Root("interfaces").AtMapKey(label).AtName("ip")
		if other, taken := owner[ip]; taken {
			diags.AddAttributeError(at, "Address used twice",
				fmt.Sprintf("%s is the address of interface %q too. Give each its own, or leave one out.", ip, other))
		}
		owner[ip] = label
		if subnet, err := netip.ParsePrefix(i.Subnet.ValueString()); err == nil && !subnet.Contains(ip) {
			diags.AddAttributeError(at, "Address outside of its subnet",
				fmt.Sprintf("%s is not in %s. Choose an address in it, or leave ip out to let MAAS assign one.", ip, subnet))
		}
	}
}

// checkCloudInit refuses user-data that cloud-init would ignore, as that of a
// host is. Images that are not Ubuntu's may have something else that reads it.
func checkCloudInit(d deployModel, diags *diag.Diagnostics) {
	size := len(d.UserDataWO.ValueString())
	if size == 0 || size > engine.MaxUserDataBytes || !ofUbuntu(d.Image) {
		return
	}
	var bad *cloudinit.MergeError
	if _, err := cloudinit.Merge(nil, []byte(d.UserDataWO.ValueString())); errors.As(err, &bad) {
		diags.AddAttributeError(path.Root("deploy").AtName("user_data_wo"), "User-data that cloud-init cannot run",
			diagnostics.Sentence(bad.Message)+diagnostics.Paragraph(strings.ToUpper(bad.Hint[:min(1, len(bad.Hint))])+bad.Hint[min(1, len(bad.Hint)):]))
	}
}

// ofUbuntu tells whether an image is one of Ubuntu's, as MAAS's default is.
func ofUbuntu(image types.String) bool {
	name := image.ValueString()
	return !image.IsUnknown() && (!strings.Contains(name, "/") || strings.HasPrefix(name, "ubuntu/"))
}
