package v1beta1

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// resolveInterfaces returns the NICs of a VM, from whichever of the three forms
// the spec uses. The address of the first NIC is also the machine's static
// address.
func resolveInterfaces(at *field.Path, network LXDNetworkConfig, older VMConfig, m *ResolvedMachine) ([]ResolvedInterface, field.ErrorList) {
	below := at.Child("lxdConfig", "network")
	var nics []ResolvedInterface
	var errs field.ErrorList
	switch {
	case len(network.Interfaces) > 0 && len(network.Devices) > 0:
		errs = append(errs, field.Forbidden(below.Child("devices"), "devices is the short form of interfaces; leave out one of them"))
	case older.Network != "" && (len(network.Interfaces) > 0 || len(network.Devices) > 0):
		errs = append(errs, field.Forbidden(at.Child("lxd", "vmConfig", "network"), "contradicts lxdConfig.network, which describes the NICs; leave out one of them"))
	case len(network.Interfaces) > 0:
		nics, errs = listedInterfaces(below.Child("interfaces"), network)
	case len(network.Devices) > 0:
		nics, errs = deviceInterfaces(below, network)
	case older.Network != "":
		nics = subnetInterfaces(older.Network, network.Bridge)
	case network.Bridge != "" || m.StaticIP.IsValid() || len(older.InterfaceLinkModes) > 0:
		nics = []ResolvedInterface{{Name: "eth0", Bridge: network.Bridge}}
	}
	if len(errs) > 0 {
		return nil, errs
	}
	errs = append(errs, applyOlderModes(at.Child("lxd", "vmConfig", "interfaceLinkModes"), nics, older.InterfaceLinkModes)...)
	return nics, append(errs, m.assignAddresses(at, nics)...)
}

// listedInterfaces returns the NICs that the spec describes one by one.
func listedInterfaces(at *field.Path, network LXDNetworkConfig) ([]ResolvedInterface, field.ErrorList) {
	var nics []ResolvedInterface
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, n := range network.Interfaces {
		nic := ResolvedInterface{Name: n.Name, Bridge: n.Bridge, Subnet: n.Subnet, VLAN: n.VLAN, Mode: n.Mode}
		if nic.Bridge == "" && nic.Subnet == "" && nic.VLAN == nil {
			nic.Bridge = network.Bridge
		}
		if err := checkNICName(at.Index(i).Child("name"), n.Name, seen); err != nil {
			errs = append(errs, err)
		}
		if n.IP != "" {
			ip, err := netip.ParseAddr(n.IP)
			switch {
			case err != nil || ip.Zone() != "":
				errs = append(errs, field.Invalid(at.Index(i).Child("ip"), n.IP, `is not an IP address; write it without a prefix, such as "10.0.0.5"`))
			case n.Mode != "" && n.Mode != LinkStatic:
				errs = append(errs, field.Invalid(at.Index(i).Child("mode"), n.Mode, "contradicts ip, which needs the mode static; leave out mode or ip"))
			}
			nic.IP, nic.Mode = ip, LinkStatic
		}
		nics = append(nics, nic)
	}
	return nics, errs
}

// deviceInterfaces returns NICs that all join the same bridge.
func deviceInterfaces(at *field.Path, network LXDNetworkConfig) ([]ResolvedInterface, field.ErrorList) {
	var nics []ResolvedInterface
	var errs field.ErrorList
	if network.Bridge == "" {
		errs = append(errs, field.Required(at.Child("bridge"), "name the bridge of the host that the devices join"))
	}
	seen := map[string]bool{}
	for i, name := range network.Devices {
		if err := checkNICName(at.Child("devices").Index(i), name, seen); err != nil {
			errs = append(errs, err)
		}
		nics = append(nics, ResolvedInterface{Name: name, Bridge: network.Bridge})
	}
	return nics, errs
}

// subnetInterfaces returns one NIC for each subnet of a list divided by commas.
func subnetInterfaces(subnets, bridge string) []ResolvedInterface {
	var nics []ResolvedInterface
	for subnet := range strings.SplitSeq(subnets, ",") {
		if subnet = strings.TrimSpace(subnet); subnet != "" {
			nics = append(nics, ResolvedInterface{Name: fmt.Sprintf("eth%d", len(nics)), Subnet: subnet, Bridge: bridge})
		}
	}
	return nics
}

// checkNICName refuses an invalid name and a repeated one.
func checkNICName(at *field.Path, name string, seen map[string]bool) *field.Error {
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || strings.Trim(name, "-") != name || name == "" || len(name) > 15 {
		return field.Invalid(at, name, "is not a valid NIC name; use up to 15 lower-case letters, digits and hyphens, such as eth0")
	}
	if seen[name] {
		return field.Duplicate(at, name)
	}
	seen[name] = true
	return nil
}

// applyOlderModes sets the modes of NICs that interfaceLinkModes names.
func applyOlderModes(at *field.Path, nics []ResolvedInterface, modes map[string]LinkMode) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(modes)) {
		i := slices.IndexFunc(nics, func(n ResolvedInterface) bool { return n.Name == name })
		switch {
		case i < 0:
			errs = append(errs, field.Invalid(at.Key(name), modes[name], "the VM has no such NIC; NICs are numbered from eth0"))
		case nics[i].Mode != "" && nics[i].Mode != modes[name]:
			errs = append(errs, field.Invalid(at.Key(name), modes[name], "contradicts lxdConfig.network.interfaces; leave out one of them"))
		default:
			nics[i].Mode = modes[name]
		}
	}
	return errs
}

// assignAddresses gives the first NIC the static address, and each NIC a mode.
func (m *ResolvedMachine) assignAddresses(at *field.Path, nics []ResolvedInterface) field.ErrorList {
	var errs field.ErrorList
	for i := range nics {
		nic := &nics[i]
		if i == 0 && m.StaticIP.IsValid() {
			switch {
			case nic.IP.IsValid() && nic.IP != m.StaticIP:
				errs = append(errs, contradictionError(at, "staticIP", m.StaticIP.String(), "lxdConfig.network.interfaces[0].ip", nic.IP.String()))
			case nic.Mode != "" && nic.Mode != LinkStatic:
				errs = append(errs, field.Forbidden(at.Child("staticIP"), fmt.Sprintf("contradicts the mode %s of the NIC %s; leave out one of them", nic.Mode, nic.Name)))
			}
			nic.IP, nic.Mode = m.StaticIP, LinkStatic
		}
		if nic.Mode == LinkStatic && !nic.IP.IsValid() && !(i == 0 && m.WaitForStaticIP) {
			errs = append(errs, field.Invalid(at.Child("lxdConfig", "network"), nic.Name, "the mode static needs an address; set the NIC's ip, or staticIP for the first NIC"))
		}
		if nic.Mode == "" {
			nic.Mode = LinkDHCP
			if i == 0 {
				nic.Mode = LinkAuto
			}
		}
	}
	return errs
}
