package network

import (
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// nicForm is the form of a new or an existing interface (forms/interface.py).
type nicForm struct {
	*request.Call
	machine *world.Machine
	oldNIC  *world.NIC // nil for a new interface
	newNIC  *world.NIC // the interface after the change
	errs    rest.FormErrors
}

// newNICForm is the form of a new interface. It has no known link.
func newNICForm(c *request.Call, m *world.Machine, kind string) *nicForm {
	return &nicForm{c, m, nil, &world.NIC{Kind: kind, Params: rest.Object{}, Down: true}, rest.FormErrors{}}
}

// editNICForm is the form of an existing interface.
func editNICForm(c *request.Call, m *world.Machine, was *world.NIC) *nicForm {
	n := *was
	n.Params = maps.Clone(was.Params)
	if n.Params == nil {
		n.Params = rest.Object{}
	}
	return &nicForm{c, m, was, &n, rest.FormErrors{}}
}

func (f *nicForm) isNew() bool { return f.oldNIC == nil }

// read reads the fields for the interface's kind.
func (f *nicForm) read() {
	f.readCommon()
	switch f.newNIC.Kind {
	case "vlan":
		f.readVLANKind()
	case "bond":
		f.readBond()
	case "bridge":
		f.readBridge()
	default:
		f.readPhysical()
	}
}

// readCommon reads the fields of every kind. If an update does not name tags, MAAS keeps
// only the last one, because it passes the list to a field for one text.
func (f *nicForm) readCommon() {
	n := f.newNIC
	if f.HasField("tags") {
		n.Tags = rest.SplitTags(f.Form["tags"][len(f.Form["tags"])-1:])
	} else if len(n.Tags) > 0 {
		n.Tags = n.Tags[len(n.Tags)-1:]
	}
	if truth, known := readNullBoolean(f.Field("accept_ra")); known {
		n.Params["accept-ra"] = truth
	}
	if mtu, given := f.readNumber("mtu", minMTU, -1); given {
		n.Params["mtu"] = mtu
	} else if f.HasField("mtu") && f.Field("mtu") == "" {
		delete(n.Params, "mtu")
	}
	if n.Kind != "physical" || f.machine.Status != world.StatusDeployed {
		f.readVLAN()
	}
	f.readLinkState()
}

// readLinkState reads whether a cable is plugged in, and the link's speed.
func (f *nicForm) readLinkState() {
	n := f.newNIC
	if f.HasField("link_connected") {
		n.Down = !readCheckbox(f.Field("link_connected"))
	}
	if speed, given := f.readNumber("interface_speed", 0, -1); given {
		n.Speed = speed
	}
	speed, given := f.readNumber("link_speed", 0, -1)
	if !given {
		speed = n.LinkSpeed
	}
	if n.Down && f.oldNIC != nil && f.oldNIC.Down && speed != 0 {
		f.errs.Add("__all__", "link_speed cannot be set when link_connected is false.")
	}
	n.LinkSpeed = speed
	if n.Down {
		n.LinkSpeed = 0
	}
}

// readCheckbox reads a checkbox as Django does, and readNullBoolean a field that may be
// empty.
func readCheckbox(text string) bool {
	return text != "" && !slices.Contains([]string{"false", "0"}, strings.ToLower(text))
}

func readNullBoolean(text string) (truth, known bool) {
	switch strings.ToLower(text) {
	case "true", "1":
		return true, true
	case "false", "0":
		return false, true
	}
	return false, false
}

// readNumber reads a whole number within bounds. A negative most means no upper bound.
func (f *nicForm) readNumber(field string, least, most int) (int, bool) {
	text := strings.TrimSpace(f.Field(field))
	if text == "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		f.errs.Add(field, rest.MsgWhole)
	case n < least:
		f.errs.Add(field, fmt.Sprintf("Ensure this value is greater than or equal to %d.", least))
	case most >= 0 && n > most:
		f.errs.Add(field, fmt.Sprintf("Ensure this value is less than or equal to %d.", most))
	default:
		return n, true
	}
	return 0, false
}

func (f *nicForm) readVLAN() {
	text := f.Field("vlan")
	if !f.HasField("vlan") {
		return
	}
	v := vlanWithID(f.World, text)
	if v == nil && text != "" {
		f.errs.Add("vlan", rest.InvalidChoice)
		return
	}
	f.newNIC.VLAN = v
}

// interfaceNamePattern is MAAS's pattern of an interface's name (models/interface.py,
// INTERFACE_NAME_REGEXP).
var interfaceNamePattern = regexp.MustCompile(`^[\pL\pN_.:-]+$`)

// readName reads the name. A new interface needs one, unless MAAS would generate it.
func (f *nicForm) readName(missing string) {
	name := f.Field("name")
	if name == "" {
		name = f.newNIC.Name
	}
	if name == "" {
		name = missing
	}
	switch {
	case name == "":
		f.errs.Add("name", rest.MsgRequired)
	case !interfaceNamePattern.MatchString(name):
		f.errs.Add("name", rest.MsgInvalid)
	default:
		f.newNIC.Name = name
	}
}

// isNameTaken tells whether another interface of the machine has the name.
func (f *nicForm) isNameTaken() bool {
	return slices.ContainsFunc(f.machine.NICs, func(other *world.NIC) bool { return other != f.oldNIC && other.Name == f.newNIC.Name })
}

// requireFreeName refuses a taken name with MAAS's message for physical interfaces and
// VLANs.
func (f *nicForm) requireFreeName() {
	if len(f.errs["name"]) == 0 && f.isNameTaken() {
		f.errs["name"] = []string{fmt.Sprintf("Node %s (%s) already has an interface named '%s'.", f.machine.SystemID, f.machine.Hostname, f.newNIC.Name)}
	}
}

// requireFreeRowName refuses a taken name with the database's message.
func (f *nicForm) requireFreeRowName() {
	if len(f.errs["name"]) == 0 && f.isNameTaken() {
		f.errs.Add("__all__", "Interface with this Node config and Name already exists.")
	}
}

func (f *nicForm) readPhysical() {
	f.readMAC(true)
	if len(f.findParents("parents")) > 0 {
		f.errs.Add("parents", "A physical interface cannot have parents.")
	}
	f.readName(nextName(f.machine))
	f.requireFreeName()
}

// readMAC reads the MAC address. Two physical interfaces cannot have the same one.
func (f *nicForm) readMAC(required bool) {
	text := strings.ToLower(f.Field("mac_address"))
	if text == "" {
		if required && f.newNIC.MAC == "" {
			f.errs.Add("mac_address", rest.MsgRequired)
		}
		return
	}
	if _, err := net.ParseMAC(text); err != nil {
		f.errs.Add("mac_address", fmt.Sprintf("'%s' is not a valid MAC address.", f.Field("mac_address")))
		return
	}
	f.newNIC.MAC = text
	if f.newNIC.Kind != "physical" {
		return
	}
	for _, other := range world.SortedMachines(f.World.Machines) {
		for _, nic := range other.NICs {
			if nic != f.oldNIC && nic.Kind == "physical" && nic.MAC == text {
				f.errs.Add("mac_address", fmt.Sprintf("This MAC address is already in use by %s (%s) on %s.", nic.Name, nic.Kind, other.Hostname))
				return
			}
		}
	}
}

// nextName is the next name of eth0, eth1, … after those in use (models/node.py,
// get_next_ifname).
func nextName(m *world.Machine) string {
	next := 0
	for _, n := range m.NICs {
		if number, err := strconv.Atoi(strings.TrimPrefix(n.Name, "eth")); err == nil {
			next = max(next, number+1)
		}
	}
	return fmt.Sprintf("eth%d", next)
}

// findParents finds interfaces of the machine by their ids.
func (f *nicForm) findParents(field string) (parents []*world.NIC) {
	given := f.Form[field]
	if len(given) == 0 {
		given = f.Form["parents"] // if the form has it, MAAS copies parent into it
	}
	for _, text := range given {
		if text == "" {
			continue
		}
		i := slices.IndexFunc(f.machine.NICs, func(n *world.NIC) bool { return strconv.Itoa(n.ID) == text })
		if _, err := strconv.Atoi(text); err != nil {
			f.errs.Add(field, fmt.Sprintf("“%s” is not a valid value.", text))
			return nil
		}
		if i < 0 {
			f.errs.Add(field, rest.ChoiceProblem(text))
			return nil
		}
		if !slices.Contains(parents, f.machine.NICs[i]) {
			parents = append(parents, f.machine.NICs[i])
		}
	}
	slices.SortFunc(parents, func(a, b *world.NIC) int { return a.ID - b.ID })
	return parents
}

// readParents reads the parents if they are given. A new interface needs some.
func (f *nicForm) readParents(field string) {
	if f.isNew() || f.HasField(field) {
		f.newNIC.Parents = f.findParents(field)
	}
}

// childrenOf are the interfaces of the given kinds above another one, except for this one.
func (f *nicForm) childrenOf(p *world.NIC, kinds ...string) (children []*world.NIC) {
	for _, n := range f.machine.NICs {
		if n != f.oldNIC && slices.Contains(n.Parents, p) && slices.Contains(kinds, n.Kind) {
			children = append(children, n)
		}
	}
	return children
}
