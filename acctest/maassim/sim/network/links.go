package network

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// invalidChoice is MAAS's message about a value that is not one of the choices
// (utils/forms.py, compose_invalid_choice_text).
func invalidChoice(value, field string, choices []string) string {
	quoted := make([]string, 0, len(choices))
	for _, choice := range choices {
		quoted = append(quoted, "'"+choice+"'")
	}
	return fmt.Sprintf("'%s' is not a valid %s.  It should be one of: %s.", value, field, strings.Join(quoted, ", "))
}

var linkModes = []string{world.LinkAuto, world.LinkDHCP, world.LinkStatic, world.LinkUp}

// linkForm is the form of a link (forms/interface_link.py).
type linkForm struct {
	world     *world.World
	nic       *world.NIC
	mode      string
	subnet    *world.Subnet
	ip        netip.Addr
	isForced  bool
	isGateway bool
	errs      rest.FormErrors
}

// linkSubnet links an interface to a subnet with the mode auto, dhcp, static or link_up,
// in upper or lower case.
func linkSubnet(c *request.Call, m *world.Machine, n *world.NIC) rest.Reply {
	if bad := notChangeableReply(m, "link subnet"); bad != nil {
		return *bad
	}
	f := readLinkForm(c, n)
	if len(f.errs) > 0 {
		return rest.BadFormReply(f.errs)
	}
	if f.ip.IsValid() && f.mode == world.LinkStatic && world.HasAddressRow(c.World, f.ip, true) {
		return rest.ErrorReply(http.StatusNotFound, "IP address is already in use.")
	}
	if l := f.save(c.World); f.isGateway {
		m.GatewayLink = l
	}
	return rest.OKReply(view.NICView(m, n))
}

func readLinkForm(c *request.Call, n *world.NIC) *linkForm {
	f := &linkForm{world: c.World, nic: n, isForced: rest.ReadBool(c.Field("force")), isGateway: rest.ReadBool(c.Field("default_gateway")), errs: rest.FormErrors{}}
	f.readSubnet(c)
	f.readAddress(c.Field("ip_address"))
	text := strings.ToLower(c.Field("mode"))
	switch {
	case text == "":
		f.errs.Add("mode", rest.MsgRequired)
	case !slices.Contains(linkModes, text):
		f.errs.Add("mode", invalidChoice(text, "mode", linkModes))
	default:
		f.mode = text
		f.checkMode()
		f.checkGateway()
	}
	return f
}

// readSubnet accepts only subnets of the interface's VLAN, unless the interface has no
// VLAN or force is given.
func (f *linkForm) readSubnet(c *request.Call) {
	text := c.Field("subnet")
	if text == "" {
		return
	}
	s := world.FindSubnet(c.World, text)
	if s != nil && (f.nic.VLAN == nil || f.isForced || s.VLAN == f.nic.VLAN) {
		f.subnet = s
		return
	}
	problem := rest.InvalidChoice
	if _, err := strconv.Atoi(strings.TrimPrefix(text, "subnet-")); err == nil {
		problem = fmt.Sprintf("None found with id=%s.", text)
	}
	f.errs.Add("subnet", problem)
}

func (f *linkForm) readAddress(text string) {
	if text == "" {
		return
	}
	ip, err := netip.ParseAddr(text)
	if err != nil {
		f.errs.Add("ip_address", msgAddress)
		return
	}
	f.ip = ip
}

// msgAddress is Django's message about an invalid address.
const msgAddress = "Enter a valid IPv4 or IPv6 address."

// checkMode refuses fields that contradict the mode.
func (f *linkForm) checkMode() {
	switch f.mode {
	case world.LinkAuto:
		if f.subnet == nil {
			f.errs.Add("subnet", rest.MsgRequired)
		}
	case world.LinkDHCP:
		f.checkDHCP()
	case world.LinkStatic:
		f.checkStatic()
	case world.LinkUp:
		isOther := func(l *world.Link) bool { return l.Mode != world.LinkUp }
		if slices.ContainsFunc(f.nic.Links, isOther) && !f.isForced {
			f.errs.Add("mode", "Cannot configure interface to link up (with no IP address) while other links are already configured. "+
				"Specify force=True to override this behavior and delete all links.")
		}
	}
}

func (f *linkForm) checkDHCP() {
	for _, l := range f.nic.Links {
		switch {
		case l.Mode != world.LinkDHCP:
		case l.Subnet == nil:
			f.errs.Add("mode", "Interface is already set to DHCP.")
		default:
			f.errs.Add("mode", fmt.Sprintf("Interface is already set to DHCP from '%s'.", subnetText(l.Subnet)))
		}
	}
}

// subnetText is a subnet as MAAS's messages name it (models/subnet.py, __str__).
func subnetText(s *world.Subnet) string {
	return fmt.Sprintf("%s:%s(vid=%d)", s.Name, s.CIDR, s.VLAN.VID)
}

func (f *linkForm) checkStatic() {
	switch {
	case f.subnet == nil:
		f.errs.Add("subnet", rest.MsgRequired)
		return
	case !f.ip.IsValid():
		return
	case !f.subnet.CIDR.Contains(f.ip):
		f.errs.Add("ip_address", fmt.Sprintf("IP address is not in the given subnet '%s'.", subnetText(f.subnet)))
	}
	if r := world.RangeOf(f.world, f.ip); r != nil && r.Kind == "dynamic" {
		f.errs.Add("ip_address", fmt.Sprintf("IP address is inside a dynamic range %s to %s.", r.Start, r.End))
	}
}

func (f *linkForm) checkGateway() {
	switch {
	case !f.isGateway:
	case f.mode != world.LinkAuto && f.mode != world.LinkStatic:
		f.errs.Add("default_gateway", fmt.Sprintf("Cannot use in mode '%s'.", f.mode))
	case f.subnet == nil:
		f.errs.Add("default_gateway", "Subnet is required when default_gateway is True.")
	case f.subnet.Gateway == "":
		f.errs.Add("default_gateway", fmt.Sprintf("Cannot set as default gateway because subnet %s doesn't provide a gateway IP address.", subnetText(f.subnet)))
	}
}

// save makes the link. With force it removes all other links and may move the interface to
// another VLAN.
func (f *linkForm) save(w *world.World) *world.Link {
	if f.mode == world.LinkUp || f.isForced {
		f.nic.Links = nil
	}
	if f.isForced && f.subnet != nil {
		f.nic.VLAN = nil
	}
	var ip string
	if f.mode == world.LinkStatic {
		ip = f.ip.String()
		if !f.ip.IsValid() {
			ip = w.FreeAddress(f.subnet)
		}
	}
	return f.nic.AddLink(w, f.mode, f.subnet, ip)
}

func unlinkSubnet(c *request.Call, m *world.Machine, n *world.NIC) rest.Reply {
	if bad := notChangeableReply(m, "unlink subnet"); bad != nil {
		return *bad
	}
	text := c.Field("id")
	var choices []string
	for _, l := range n.Links {
		choices = append(choices, strconv.Itoa(l.ID))
	}
	for _, d := range n.Discovered {
		choices = append(choices, strconv.Itoa(d.ID))
	}
	switch {
	case text == "":
		return rest.BadFieldReply("id", rest.MsgRequired)
	case !slices.Contains(choices, text):
		return rest.BadFieldReply("id", invalidChoice(text, "id", choices))
	}
	n.Discovered = slices.DeleteFunc(n.Discovered, func(d world.Discovery) bool { return strconv.Itoa(d.ID) == text })
	for _, l := range n.Links {
		if strconv.Itoa(l.ID) == text {
			n.RemoveLink(c.World, l)
			break
		}
	}
	return rest.OKReply(view.NICView(m, n))
}

// disconnectInterface removes the links, the discovered addresses, and the VLAN.
func disconnectInterface(c *request.Call, m *world.Machine, n *world.NIC) rest.Reply {
	if bad := notChangeableReply(m, "disconnect"); bad != nil {
		return *bad
	}
	if needsVLAN(n) {
		return rest.BadModelReply(rest.FormErrors{"vlan": {"VLAN interface requires connection to a VLAN."}})
	}
	was := n.VLAN
	n.Links, n.Discovered, n.VLAN = nil, nil, nil
	f := &nicForm{c, m, n, n, rest.FormErrors{}}
	f.updateRelatedNICs(was, n.Params["mtu"])
	return rest.OKReply(view.NICView(m, n))
}

// needsVLAN tells whether an interface must have a VLAN: a VLAN interface, and one that
// moves the interface below with it (models/interface.py, _update_parents).
func needsVLAN(n *world.NIC) bool {
	return n.Kind == "vlan" || n.Kind != "physical" && slices.ContainsFunc(n.Parents, needsVLAN)
}

// setDefaultGateway makes a link's gateway the machine's default: that of link_id, or the
// only one of the interface (forms/interface_link.py, InterfaceSetDefaultGatwayForm).
func setDefaultGateway(c *request.Call, m *world.Machine, n *world.NIC) rest.Reply {
	if bad := notChangeableReply(m, "set default gateway"); bad != nil {
		return *bad
	}
	var ids []string
	gateways := map[string]bool{}
	for _, l := range n.Links {
		if l.Subnet != nil && l.Subnet.Gateway != "" {
			ids = append(ids, strconv.Itoa(l.ID))
			gateways[l.Subnet.Gateway] = true
		}
	}
	text, errs := c.Field("link_id"), rest.FormErrors{}
	switch {
	case text != "" && !slices.Contains(ids, text):
		errs.Add("link_id", invalidChoice(text, "link_id", ids))
	case text == "" && len(gateways) > 1:
		errs.Add("link_id", "This field is required; Interface has more than one usable IPv4 gateway.")
	}
	if len(ids) == 0 {
		errs.Add("__all__", "This interface has no usable gateways.")
	}
	if len(errs) > 0 {
		return rest.BadFormReply(errs)
	}
	if text == "" {
		text = ids[0]
	}
	for _, l := range n.Links {
		if strconv.Itoa(l.ID) == text {
			m.GatewayLink = l
		}
	}
	return rest.OKReply(view.NICView(m, n))
}

func tagInterface(c *request.Call, m *world.Machine, n *world.NIC) rest.Reply {
	tag := c.Field("tag")
	if tag == "" {
		return rest.BadTextReply("No provided tag!")
	}
	if !slices.Contains(n.Tags, tag) {
		n.Tags = append(n.Tags, tag)
	}
	return rest.OKReply(view.NICView(m, n))
}

func untagInterface(c *request.Call, m *world.Machine, n *world.NIC) rest.Reply {
	tag := c.Field("tag")
	if tag == "" {
		return rest.BadTextReply("No provided tag!")
	}
	n.Tags = slices.DeleteFunc(n.Tags, func(t string) bool { return t == tag })
	return rest.OKReply(view.NICView(m, n))
}
