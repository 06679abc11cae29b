package hosts

import (
	"net/netip"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

const noHostNetworkText = "Unable to compose machine because: Failed talking to pod: No host network to attach VM interfaces to"

// AttachNetworks connects the VM to the networks that interfaces= names.
func (v *ComposeRequest) AttachNetworks(w *world.World, parts []request.InterfaceConstraint) *rest.Reply {
	return v.readNICs(w, parts)
}

// readNICs finds the subnets that interfaces= names: first among the host's bridges, then
// among its NICs (forms/pods.py, ComposeMachineForm). Without interfaces= the VM gets one
// NIC on a bridge with DHCP.
func (v *ComposeRequest) readNICs(w *world.World, parts []request.InterfaceConstraint) *rest.Reply {
	if len(parts) == 0 {
		return nil
	}
	if v.Host.Machine == nil {
		bad := rest.BadTextReply("Pod must be on a known host if interfaces are specified.")
		return &bad
	}
	dhcp := false
	for _, part := range parts {
		n, bad := hostSubnet(w, v.Host, part)
		if bad != nil {
			return bad
		}
		dhcp = dhcp || n.VLAN.DHCP
		v.nics = append(v.nics, requestedNIC{label: nameForLabel(part.Label), subnet: n, ip: part.Value("ip"), isUnconfigured: part.Value("mode") == "unconfigured"})
	}
	if !dhcp {
		bad := rest.BadTextReply("MAAS DHCP must be enabled on at least one VLAN attached to the specified interfaces.")
		return &bad
	}
	return nil
}

// hostSubnet is the subnet of a host's interface that fits a constraint. An address in the
// constraint only selects the VLAN of its subnet. If no bridge fits, MAAS attaches the VM
// to another interface by macvlan.
func hostSubnet(w *world.World, h *world.VMHost, part request.InterfaceConstraint) (*world.Subnet, *rest.Reply) {
	wanted, bad := vlanOfAddress(w, part.Value("ip"))
	if bad != nil {
		return nil, bad
	}
	chosen, bad := part.WithoutKeys("ip", "mode").BuildChoice(w)
	if bad != nil {
		return nil, bad
	}
	for _, kind := range []string{"bridge", "physical"} {
		for _, a := range attachableInterfaces(w, h, kind) {
			if (wanted == nil || a.nic.VLAN == wanted) && chosen(request.AttachedInterface{Machine: h.Machine, NIC: a.nic, Subnets: []*world.Subnet{a.subnet}}) {
				return a.subnet, nil
			}
		}
	}
	no := rest.BadTextReply("This pod does not match the specified networks.")
	return nil, &no
}

// vlanOfAddress is the VLAN of an address' subnet, or nil without an address. For an
// address outside of all subnets MAAS has an internal error. It notices a taken address
// only after LXD made the VM.
func vlanOfAddress(w *world.World, text string) (*world.VLAN, *rest.Reply) {
	if text == "" {
		return nil, nil
	}
	ip, err := netip.ParseAddr(text)
	if err != nil {
		bad := InternalErrorReply("failed to detect a valid IP address from '" + text + "'")
		return nil, &bad
	}
	n := w.SubnetOf(ip)
	if n == nil {
		bad := InternalErrorReply("'NoneType' object has no attribute 'vlan'")
		return nil, &bad
	}
	return n.VLAN, nil
}

// attachment is an interface of a host machine with its subnet.
type attachment struct {
	nic    *world.NIC
	subnet *world.Subnet
}

// attachableInterfaces are the interfaces of a kind that MAAS knows of the host.
func attachableInterfaces(w *world.World, h *world.VMHost, kind string) (out []attachment) {
	if h.Machine == nil {
		return nil
	}
	for _, n := range h.Machine.NICs {
		if s := w.SubnetOn(n.VLAN); s != nil && n.Kind == kind {
			out = append(out, attachment{nic: n, subnet: s})
		}
	}
	return out
}

// linkNICs names and links the NICs as interfaces= asks. With mode=unconfigured the NIC's
// link has no address (models/bmc.py, _assign_ip_addresses).
func (v *ComposeRequest) linkNICs(w *world.World, m *world.Machine) {
	for n, want := range v.nics {
		l := &world.Link{ID: w.NextID("link"), Mode: "auto", Subnet: want.subnet, IP: want.ip}
		if want.isUnconfigured {
			l.Mode, l.IP = "link_up", ""
		}
		m.NICs[n].Name, m.NICs[n].Links = want.label, []*world.Link{l}
	}
}

// subnets are the networks of the instance: the requested ones, or the first bridge with
// DHCP.
func (v *ComposeRequest) subnets(w *world.World) []*world.Subnet {
	var out []*world.Subnet
	for _, n := range v.nics {
		out = append(out, n.subnet)
	}
	if len(out) > 0 {
		return out
	}
	for _, b := range attachableInterfaces(w, v.Host, "bridge") {
		if b.subnet.VLAN.DHCP {
			return []*world.Subnet{b.subnet}
		}
	}
	return nil
}
