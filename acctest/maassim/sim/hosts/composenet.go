package hosts

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

const noHostNetwork = "Unable to compose machine because: Failed talking to pod: No host network to attach VM interfaces to"

// readNICs finds the subnets that interfaces= names among those of the host's
// bridges, then of its NICs. Without interfaces= the VM gets one NIC on a
// bridge with DHCP.
func (v *WantedVM) readNICs(w *world.World, parts []map[string]string) *rest.Reply {
	if len(parts) == 0 {
		return nil
	}
	if bad := checkIPs(w, parts); bad != nil {
		return bad
	}
	dhcp := false
	for _, part := range parts {
		n := hostSubnet(w, v.Host, part)
		if n == nil {
			bad := rest.BadText("This pod does not match the specified networks.")
			return &bad
		}
		dhcp = dhcp || n.VLAN.DHCP
		v.nics = append(v.nics, wantedNIC{label: part[labelKey], subnet: n, ip: part["ip"], isUnconfigured: part["mode"] == "unconfigured"})
	}
	if !dhcp {
		bad := rest.BadText("MAAS DHCP must be enabled on at least one VLAN attached to the specified interfaces.")
		return &bad
	}
	return nil
}

// checkIPs refuses an address outside all subnets: an internal error in MAAS.
// One that is taken is found only after LXD made the VM.
func checkIPs(w *world.World, parts []map[string]string) *rest.Reply {
	for _, part := range parts {
		ip, err := netip.ParseAddr(part["ip"])
		if part["ip"] != "" && (err != nil || w.SubnetOf(ip) == nil) {
			bad := InternalError("Could not find a subnet for " + part["ip"] + ".")
			return &bad
		}
	}
	return nil
}

// hostSubnet is the subnet of an interface of the host that fits a constraint.
// Where no bridge does, MAAS attaches the VM to another interface by macvlan
// (forms/pods.py, ComposeMachineForm).
func hostSubnet(w *world.World, h *world.VMHost, part map[string]string) *world.Subnet {
	for _, kind := range []string{"bridge", "physical"} {
		for _, n := range attachable(w, h, kind) {
			if n.fits(part) {
				return n.subnet
			}
		}
	}
	return nil
}

// attachment is an interface of a host machine with its subnet.
type attachment struct {
	name   string
	subnet *world.Subnet
}

// attachable are the interfaces of a kind that MAAS knows of the host.
func attachable(w *world.World, h *world.VMHost, kind string) (out []attachment) {
	if h.Machine == nil {
		return nil
	}
	for _, n := range h.Machine.NICs {
		if s := w.SubnetOn(n.VLAN); s != nil && n.Kind == kind {
			out = append(out, attachment{name: n.Name, subnet: s})
		}
	}
	return out
}

func (b attachment) fits(part map[string]string) bool {
	for key, value := range part {
		ok := true
		switch key {
		case "subnet":
			ok = value == strconv.Itoa(b.subnet.ID) || value == b.subnet.Name
		case "subnet_cidr":
			ok = value == b.subnet.CIDR.String()
		case "name":
			ok = value == b.name
		case "vlan", "vid":
			ok = value == strconv.Itoa(b.subnet.VLAN.VID) || strings.HasSuffix(value, ":"+strconv.Itoa(b.subnet.VLAN.ID))
		case "fabric":
			ok = value == b.subnet.VLAN.Fabric.Name || value == strconv.Itoa(b.subnet.VLAN.Fabric.ID)
		case "dhcp":
			ok = rest.Truth(value) == b.subnet.VLAN.DHCP
		case "space":
			ok = value == "undefined"
		case "ip":
			ip, err := netip.ParseAddr(value)
			ok = err != nil || b.subnet.CIDR.Contains(ip)
		}
		if !ok {
			return false
		}
	}
	return true
}

// linkNICs names and links the NICs as interfaces= says. The link of a NIC with
// mode=unconfigured has no address (models/bmc.py, _assign_ip_addresses).
func (v *WantedVM) linkNICs(w *world.World, m *world.Machine) {
	for n, want := range v.nics {
		l := &world.Link{ID: w.NextID("link"), Mode: "auto", Subnet: want.subnet, IP: want.ip}
		if want.isUnconfigured {
			l.Mode, l.IP = "link_up", ""
		}
		m.NICs[n].Name, m.NICs[n].Links = want.label, []*world.Link{l}
	}
}

// subnets are the networks that the instance is attached to: what was wanted,
// or the first bridge with DHCP.
func (v *WantedVM) subnets(w *world.World) []*world.Subnet {
	var out []*world.Subnet
	for _, n := range v.nics {
		out = append(out, n.subnet)
	}
	if len(out) > 0 {
		return out
	}
	for _, b := range attachable(w, v.Host, "bridge") {
		if b.subnet.VLAN.DHCP {
			return []*world.Subnet{b.subnet}
		}
	}
	return nil
}
