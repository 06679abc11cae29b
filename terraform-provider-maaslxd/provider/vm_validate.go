package provider

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
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
		checkUserData("VM", d.UserDataWO, d.UserDataWOVersion, &resp.Diagnostics)
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

// checkUserData warns of a version of nothing, and of user-data without a
// version. what is made with it.
func checkUserData(what string, data types.String, version types.Int64, diags *diag.Diagnostics) {
	at := path.Root("deploy")
	switch {
	case version.IsUnknown():
	case data.IsNull() && !version.IsNull():
		diags.AddAttributeWarning(at.AtName("user_data_wo_version"), "A version of no user-data",
			fmt.Sprintf("user_data_wo_version is set and user_data_wo is not. A change of the version replaces the %s all the same.", what))
	case !data.IsNull() && version.IsNull():
		diags.AddAttributeWarning(at.AtName("user_data_wo"), "Changes of the user-data will not be seen",
			fmt.Sprintf("user_data_wo is write-only, so nothing tells a later value from this one. Set user_data_wo_version, "+
				"and change it with the user-data. Giving it for the first time changes nothing on the %s.", what))
	}
}
