package sim

import (
	"net/netip"
	"strconv"
	"strings"
)

const noHostNetwork = "Unable to compose machine because: Failed talking to pod: No host network to attach VM interfaces to"

// readNICs finds the subnets that interfaces= names among those of the host's
// bridges, then of its NICs. Without interfaces= the VM gets one NIC on a
// bridge with DHCP.
func (v *wantedVM) readNICs(w *world, parts []map[string]string) *reply {
	if len(parts) == 0 {
		return nil
	}
	if bad := checkIPs(w, parts); bad != nil {
		return bad
	}
	dhcp := false
	for _, part := range parts {
		n := w.hostSubnet(v.host, part)
		if n == nil {
			bad := badText("This pod does not match the specified networks.")
			return &bad
		}
		dhcp = dhcp || n.vlan.dhcp
		v.nics = append(v.nics, wantedNIC{subnet: n, ip: part["ip"]})
	}
	if !dhcp {
		bad := badText("MAAS DHCP must be enabled on at least one VLAN attached to the specified interfaces.")
		return &bad
	}
	return nil
}

// checkIPs refuses an address outside all subnets: an internal error in MAAS.
// One that is taken is found only after LXD made the VM.
func checkIPs(w *world, parts []map[string]string) *reply {
	for _, part := range parts {
		ip, err := netip.ParseAddr(part["ip"])
		if part["ip"] != "" && (err != nil || w.subnetOf(ip) == nil) {
			bad := internalError("Could not find a subnet for " + part["ip"] + ".")
			return &bad
		}
	}
	return nil
}

// hostSubnet is the subnet of an interface of the host that fits a constraint.
// Where no bridge does, MAAS attaches the VM to another interface by macvlan
// (forms/pods.py, ComposeMachineForm).
func (w *world) hostSubnet(h *vmHost, part map[string]string) *subnet {
	for _, kind := range []string{"bridge", "physical"} {
		for _, n := range w.attachable(h, kind) {
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
	subnet *subnet
}

// attachable are the interfaces of a kind that MAAS knows of the host.
func (w *world) attachable(h *vmHost, kind string) (out []attachment) {
	if h.machine == nil {
		return nil
	}
	for _, n := range h.machine.nics {
		if s := w.subnetOn(n.vlan); s != nil && n.kind == kind {
			out = append(out, attachment{name: n.name, subnet: s})
		}
	}
	return out
}

func (b attachment) fits(part map[string]string) bool {
	for key, value := range part {
		ok := true
		switch key {
		case "subnet":
			ok = value == strconv.Itoa(b.subnet.id) || value == b.subnet.name
		case "subnet_cidr":
			ok = value == b.subnet.cidr.String()
		case "name":
			ok = value == b.name
		case "vlan", "vid":
			ok = value == strconv.Itoa(b.subnet.vlan.vid) || strings.HasSuffix(value, ":"+strconv.Itoa(b.subnet.vlan.id))
		case "fabric":
			ok = value == b.subnet.vlan.fabric.name || value == strconv.Itoa(b.subnet.vlan.fabric.id)
		case "dhcp":
			ok = truth(value) == b.subnet.vlan.dhcp
		case "space":
			ok = value == "undefined"
		case "ip":
			ip, err := netip.ParseAddr(value)
			ok = err != nil || b.subnet.cidr.Contains(ip)
		}
		if !ok {
			return false
		}
	}
	return true
}

// subnets are the networks that the instance is attached to: what was wanted,
// or the first bridge with DHCP.
func (v *wantedVM) subnets(w *world) []*subnet {
	var out []*subnet
	for _, n := range v.nics {
		out = append(out, n.subnet)
	}
	if len(out) > 0 {
		return out
	}
	for _, b := range w.attachable(v.host, "bridge") {
		if b.subnet.vlan.dhcp {
			return []*subnet{b.subnet}
		}
	}
	return nil
}
