package values

import (
	"fmt"
	"net/netip"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/texttype"
)

// CheckAddresses refuses a fixed address outside its subnet, if the subnet is a CIDR, and one
// address for two interfaces. The labels are those of the attribute interfaces.
func CheckAddresses(labels []string, of func(label string) (subnet texttype.Subnet, ip texttype.IP), diags *diag.Diagnostics) {
	owner := map[netip.Addr]string{}
	for _, label := range labels {
		network, address := of(label)
		ip, err := netip.ParseAddr(address.ValueString())
		if err != nil {
			continue // absent, or unknown
		}
		at := path.Root("interfaces").AtMapKey(label).AtName("ip")
		if other, taken := owner[ip]; taken {
			diags.AddAttributeError(at, "Address used twice",
				fmt.Sprintf("%s is the address of interface %q too. Give each its own, or leave one out.", ip, other))
		}
		owner[ip] = label
		if subnet, err := netip.ParsePrefix(network.ValueString()); err == nil && !subnet.Contains(ip) {
			diags.AddAttributeError(at, "Address outside its subnet",
				fmt.Sprintf("%s is not in %s. Choose an address in it, or leave ip out to let MAAS assign one.", ip, subnet))
		}
	}
}
