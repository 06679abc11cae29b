package network

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// createSubnet makes a subnet. It is on the default VLAN of the default fabric unless the
// form names another VLAN.
func createSubnet(c *request.Call) rest.Reply {
	n := &world.Subnet{VLAN: defaultVLAN(c.World)}
	if bad := readSubnetForm(c, n, true); bad != nil {
		return *bad
	}
	n.ID = c.World.NextID("subnet")
	n.Name = cmp.Or(n.Name, c.Field("cidr")) // as it was written, with its host bits
	c.World.Networks, c.World.Subnets = append(c.World.Networks, n), append(c.World.Subnets, n)
	made := view.Subnet(n, c.World)
	made["gateway_ip"] = n.Gateway // empty in this answer, and null in later ones
	return rest.OKReply(made)
}

func defaultVLAN(w *world.World) *world.VLAN {
	if len(w.VLANs) == 0 {
		f := world.NewFabric(w, "")
		w.Fabrics = append(w.Fabrics, f)
		return addVLAN(w, f)
	}
	return w.VLANs[0]
}

// updateSubnet changes only the fields that the form names.
func updateSubnet(c *request.Call) rest.Reply {
	n, wrong := subnetInPath(c)
	if wrong != nil {
		return *wrong
	}
	changed := *n
	if bad := readSubnetForm(c, &changed, false); bad != nil {
		return *bad
	}
	*n = changed
	return rest.OKReply(view.Subnet(n, c.World))
}

// readSubnetForm reads the fields of the form into a subnet (forms/subnet.py).
func readSubnetForm(c *request.Call, n *world.Subnet, isNew bool) *rest.Reply {
	errs := rest.FormErrors{}
	readCIDR(c, n, isNew, errs)
	readSubnetVLAN(c, n, isNew, errs)
	if c.HasField("space") {
		errs.Add("space", "Spaces may no longer be set on subnets. Set the space on the underlying VLAN.")
	}
	if c.HasField("gateway_ip") {
		n.Gateway = c.Field("gateway_ip")
	}
	if problem := gatewayProblem(n.CIDR, n.Gateway); problem != "" && len(errs["cidr"]) == 0 {
		errs.Add("gateway_ip", problem)
	}
	readSubnetServers(c, n, errs)
	readSubnetFlags(c, n, errs)
	readBootArchitectures(c, n, errs)
	n.Name = cmp.Or(c.Field("name"), n.Name)
	if c.HasField("description") {
		n.Description = c.Field("description")
	}
	if len(errs) == 0 {
		return nil
	}
	bad := rest.BadFormReply(errs)
	return &bad
}

func readCIDR(c *request.Call, n *world.Subnet, isNew bool, errs rest.FormErrors) {
	text := c.Field("cidr")
	if text == "" {
		if isNew {
			errs.Add("cidr", rest.MsgRequired)
		}
		return
	}
	network, err := netip.ParsePrefix(text)
	if err != nil {
		errs.Add("cidr", "Required format: <network>/<prefixlen>.")
		return
	}
	network = network.Masked()
	isSame := func(other *world.Subnet) bool { return other.CIDR == network && other.ID != n.ID }
	switch {
	case network.Bits() == 0:
		errs.Add("cidr", "Prefix length must be greater than 0.")
	case slices.ContainsFunc(c.World.Subnets, isSame):
		errs.Add("cidr", "Subnet with this Cidr already exists.")
	case network.Addr().BitLen()-network.Bits() < 32-world.MaxPrefixBits:
		errs.Add("cidr", "Only networks of at least 4 addresses are simulated.")
	default:
		n.CIDR = network
	}
}

// readSubnetVLAN reads a VLAN by its id. A new subnet may instead name a fabric, a VID or
// both.
func readSubnetVLAN(c *request.Call, n *world.Subnet, isNew bool, errs rest.FormErrors) {
	if text := c.Field("vlan"); text != "" {
		if v := vlanWithID(c.World, text); v != nil {
			n.VLAN = v
		} else {
			errs.Add("vlan", rest.InvalidChoice)
		}
		return
	}
	if !isNew || c.Field("fabric") == "" && c.Field("vid") == "" {
		return
	}
	f, where := n.VLAN.Fabric, "default fabric"
	if text := c.Field("fabric"); text != "" {
		if f = findFabric(c.World, text); f == nil {
			errs.Add("fabric", rest.InvalidChoice)
			return
		}
		where = "fabric name=" + f.Name
	}
	vid := c.NumberField("vid", 0)
	for _, v := range world.VLANsOf(c.World, f) {
		if v.VID == vid {
			n.VLAN = v
			return
		}
	}
	errs.Add("vid", fmt.Sprintf("No VLAN with vid %d in %s.", vid, where))
}

func readSubnetServers(c *request.Call, n *world.Subnet, errs rest.FormErrors) {
	if !c.HasField("dns_servers") {
		return
	}
	n.DNSServers = nil
	for _, values := range c.Form["dns_servers"] {
		for _, text := range strings.FieldsFunc(values, func(r rune) bool { return r == ',' || r == ' ' }) {
			if !isAddress(text) {
				errs.Add("__all__", fmt.Sprintf("Invalid IP address: %s; provide a list of space-separated IP addresses", text))
				return
			}
			n.DNSServers = append(n.DNSServers, text)
		}
	}
}

// rdnsModes is the number of MAAS's modes: none, for whole networks, and for small ones,
// too.
const rdnsModes = 3

// readSubnetFlags reads the flags. An update without allow_dns, allow_proxy or
// managed sets each to true, as in MAAS.
func readSubnetFlags(c *request.Call, n *world.Subnet, errs rest.FormErrors) {
	isOff := func(field string) bool { return c.HasField(field) && !rest.ReadBool(c.Field(field)) }
	n.ForbidsDNS, n.ForbidsProxy, n.IsUnmanaged = isOff("allow_dns"), isOff("allow_proxy"), isOff("managed")
	if c.HasField("active_discovery") {
		n.IsActivelyLooked = rest.ReadBool(c.Field("active_discovery"))
	}
	if text := c.Field("rdns_mode"); text != "" {
		mode, err := strconv.Atoi(text)
		if err != nil || mode < 0 || mode >= rdnsModes {
			errs.Add("rdns_mode", rest.ChoiceProblem(text))
			return
		}
		n.RDNSMode = mode - (rdnsModes - 1)
	}
}

// bootMethods are the ways in which a machine may boot, with their DHCP numbers
// (provisioningserver/boot).
var bootMethods = map[string]string{
	"00:00": "pxe", "00:07": "uefi_amd64_tftp", "00:09": "uefi_ebc_tftp", "00:0B": "uefi_arm64_tftp", "00:0C": "open-firmware_ppc64el",
	"00:0E": "powernv", "00:10": "uefi_amd64_http", "00:13": "uefi_arm64_http", "00:1F": "s390x", "00:20": "s390x_partition", "ipxe": "ipxe",
}

// readBootArchitectures reads the disabled boot methods of a subnet, by name or number.
func readBootArchitectures(c *request.Call, n *world.Subnet, errs rest.FormErrors) {
	if !c.HasField("disabled_boot_architectures") {
		return
	}
	n.DisabledBoot = nil
	for _, value := range c.Form["disabled_boot_architectures"] {
		for text := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == ',' || r == ' ' }) {
			name := bootMethods[strings.Replace(text, "0x", "00:", 1)]
			for _, known := range bootMethods {
				if known == text {
					name = known
				}
			}
			if name == "" {
				errs.Add("disabled_boot_architectures", "Unknown boot architecture "+text)
			} else if !slices.Contains(n.DisabledBoot, name) {
				n.DisabledBoot = append(n.DisabledBoot, name)
			}
		}
	}
}

func gatewayProblem(network netip.Prefix, text string) string {
	ip, err := netip.ParseAddr(text)
	switch {
	case text == "":
	case err != nil:
		return msgAddress
	case !network.Contains(ip):
		return "Gateway IP must be within CIDR range."
	}
	return ""
}

// deleteSubnet refuses to delete a subnet whose dynamic range DHCP serves
// (models/subnet.py). It deletes the subnet's links and ranges, too.
func deleteSubnet(c *request.Call) rest.Reply {
	n, wrong := subnetInPath(c)
	if wrong != nil {
		return *wrong
	}
	w := c.World
	isOwn := func(r *world.IPRange) bool { return r.Subnet == n }
	if n.VLAN.DHCP && slices.ContainsFunc(w.IPRanges, func(r *world.IPRange) bool { return isOwn(r) && r.Kind == "dynamic" }) {
		return rest.BadTextReply("Cannot delete a subnet that is actively servicing a dynamic IP range. (Delete the dynamic range or disable DHCP first.)")
	}
	w.Subnets = slices.DeleteFunc(w.Subnets, func(other *world.Subnet) bool { return other == n })
	w.IPRanges = slices.DeleteFunc(w.IPRanges, isOwn)
	w.ReservedIPs = slices.DeleteFunc(w.ReservedIPs, func(r *world.ReservedIP) bool { return r.Subnet == n })
	for id, r := range w.StaticRoutes {
		if r.Source == n || r.Destination == n {
			delete(w.StaticRoutes, id)
		}
	}
	for _, m := range w.Machines {
		for _, nic := range m.NICs {
			nic.Links = slices.DeleteFunc(nic.Links, func(l *world.Link) bool { return l.Subnet == n })
		}
	}
	return rest.DeletedReply()
}
