package engine

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
)

// NetworkSpec is the network that a host's machine gets in MAAS before it is deployed: bonds,
// VLAN interfaces on bonds or NICs, and bridges on any of these. Keys are the names of the
// interfaces.
type NetworkSpec struct {
	Bonds   map[string]BondSpec
	VLANs   map[string]VLANSpec
	Bridges map[string]NetworkBridgeSpec
}

// BondSpec is a bond of physical interfaces.
type BondSpec struct {
	Interfaces []string // names or MAC addresses
	BondMode
	NetworkSettings
}

// VLANSpec is the interface of a tagged VLAN.
type VLANSpec struct {
	Parent string // name or MAC address of a NIC, or name of a bond
	VID    int    // 1 to 4094
	NetworkSettings
}

// NetworkBridgeSpec is a bridge that VMs join.
type NetworkBridgeSpec struct {
	Parent string // name or MAC address of a NIC, or name of a bond or VLAN interface
	NetworkSettings
}

// NetworkSettings are settings that every interface can have.
type NetworkSettings struct {
	MTU int // 0: that of its VLAN
	// Links are its addresses. Without links, a bridge takes over the links of its parent, or
	// gets an address of the only subnet on its VLAN. Other interfaces get none.
	Links []LinkSpec
}

// LinkSpec ties an interface to a subnet.
type LinkSpec struct {
	Mode           string     // "auto", "static", "dhcp" or "link_up"
	Subnet         string     // by name or CIDR; empty for link_up
	IP             netip.Addr // of a static link
	DefaultGateway bool       // the machine's default route is that of the subnet; for auto and static
}

// The limits of MAAS and Linux (models/vlan.py).
const (
	MaxVID = 4094
	MinMTU = 552
	MaxMTU = 65535
)

// The values of a bond's settings (enum.py, BOND_MODE and others).
var (
	BondModes        = []string{"balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"}
	BondLACPRates    = []string{"fast", "slow"}
	BondHashPolicies = []string{"layer2", "layer2+3", "layer3+4", "encap2+3", "encap3+4"}
)

// lacp is the only mode with an LACP rate.
const lacp = "802.3ad"

// hashingModes are the modes that choose an interface by a hash.
var hashingModes = []string{lacp, "balance-xor", "balance-tlb"}

// NetworkInterface is one interface of a NetworkSpec.
type NetworkInterface struct {
	Kind    ChildKind
	Name    string
	Field   fieldpath.Path // the attribute that describes it: network.bonds.bond0
	Parents []string       // as the spec writes them
	VID     int
	Bond    BondMode
	NetworkSettings
}

// ParentField is the attribute that names its parents.
func (i NetworkInterface) ParentField() fieldpath.Path {
	if i.Kind == ChildBond {
		return i.Field.Child("interfaces")
	}
	return i.Field.Child("parent")
}

// interfaceField is the attribute that describes an interface, whose name may contain dots.
func interfaceField(section, name string) fieldpath.Path {
	return fieldpath.New("network", section).Key(name)
}

// LinkField is the attribute of a link.
func (i NetworkInterface) LinkField(n int) fieldpath.Path { return i.Field.Child("links").Index(n) }

// Interfaces lists all interfaces in an order in which they can be made.
func (s *NetworkSpec) Interfaces() []NetworkInterface {
	var all []NetworkInterface
	if s == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(s.Bonds)) {
		b := s.Bonds[name]
		all = append(all, NetworkInterface{ChildBond, name, interfaceField("bonds", name), b.Interfaces, 0, b.BondMode, b.NetworkSettings})
	}
	for _, name := range slices.Sorted(maps.Keys(s.VLANs)) {
		v := s.VLANs[name]
		all = append(all, NetworkInterface{ChildVLAN, name, interfaceField("vlans", name), []string{v.Parent}, v.VID, BondMode{}, v.NetworkSettings})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Bridges)) {
		b := s.Bridges[name]
		all = append(all, NetworkInterface{ChildBridge, name, interfaceField("bridges", name), []string{b.Parent}, 0, BondMode{}, b.NetworkSettings})
	}
	return all
}

// Validate checks the network without asking MAAS. The error is a *SpecError, or several joined
// ones.
func (s *NetworkSpec) Validate() error {
	if s == nil {
		return nil
	}
	if len(s.Bridges) == 0 {
		return &SpecError{Field: fieldpath.New("network", "bridges"), Message: "VMs have no bridge to join", Hint: `Describe one: bridges = { br0 = { parent = "eth0" } }.`, Err: ErrInvalid}
	}
	c := networkCheck{spec: s, byName: map[string]NetworkInterface{}}
	for _, i := range s.Interfaces() {
		for _, check := range []func(NetworkInterface) error{c.checkName, c.checkParents, c.checkBond, c.checkVLAN, c.checkMTU, c.checkLinks} {
			if err := check(i); err != nil {
				return err
			}
		}
		c.byName[i.Name] = i
	}
	return nil
}

// networkCheck checks a NetworkSpec, in the order of its interfaces.
type networkCheck struct {
	spec     *NetworkSpec
	byName   map[string]NetworkInterface // the interfaces that were checked
	gateways []fieldpath.Path            // attributes that ask for a default gateway
}

func (c *networkCheck) fieldError(field fieldpath.Path, message, hint string) error {
	return &SpecError{Field: field, Message: message, Hint: hint, Err: ErrInvalid}
}

func (c *networkCheck) checkName(i NetworkInterface) error {
	other, taken := c.byName[i.Name]
	switch {
	case len(i.Name) > MaxInterfaceName:
		return c.fieldError(i.Field, fmt.Sprintf("the name %q has %d characters", i.Name, len(i.Name)), fmt.Sprintf("Linux takes at most %d.", MaxInterfaceName))
	case !interfaceNamePattern.MatchString(i.Name):
		return c.fieldError(i.Field, fmt.Sprintf("%q is not a valid interface name", i.Name), `Use a letter, then letters, digits, ".", "_" and "-": "bond0", "br0".`)
	case taken:
		return c.fieldError(i.Field, fmt.Sprintf("%s describes an interface of the same name", other.Field), "Give each interface a name of its own.")
	}
	return nil
}

// checkParents refuses stacks that MAAS or Linux cannot build. It does not check that the
// machine has the parents: the engine does that later.
func (c *networkCheck) checkParents(i NetworkInterface) error {
	seen := map[string]bool{}
	for _, p := range i.Parents {
		parent, described := c.byName[p]
		_, isBridge := c.spec.Bridges[p]
		switch {
		case p == "":
			return c.fieldError(i.ParentField(), "an interface has no name", "Name a NIC by its name or MAC address, or an interface of this network.")
		case seen[strings.ToLower(p)]:
			return c.fieldError(i.ParentField(), fmt.Sprintf("%s is named twice", p), "Name it once.")
		case p == i.Name, isBridge:
			return c.fieldError(i.ParentField(), fmt.Sprintf("%s is a bridge, or the interface itself", p), "Put it on a NIC, a bond or a VLAN interface.")
		case i.Kind == ChildBridge && described && slices.ContainsFunc(parent.Links, func(l LinkSpec) bool { return l.Mode != LinkUp }):
			return c.fieldError(i.ParentField(), fmt.Sprintf("%s has links, but is below the bridge %s", p, i.Name), "Put the links on the bridge: an interface below a bridge has no addresses.")
		case i.Kind == ChildBond && c.isDescribed(p):
			return c.fieldError(i.ParentField(), fmt.Sprintf("%s is not a physical interface", p), "MAAS makes bonds of physical interfaces only.")
		case i.Kind == ChildVLAN && described && parent.Kind == ChildVLAN, i.Kind == ChildVLAN && c.isVLAN(p):
			return c.fieldError(i.ParentField(), fmt.Sprintf("%s is a VLAN interface itself", p), "Put it on a NIC or a bond.")
		}
		if other := c.findConflicting(i, p); other != "" {
			return c.fieldError(i.ParentField(), fmt.Sprintf("%s is below %s already", p, other), "An interface can be in one bond or below one bridge only. Put this one on that bond or bridge instead.")
		}
		seen[strings.ToLower(p)] = true
	}
	return nil
}

func (c *networkCheck) isVLAN(name string) bool { _, is := c.spec.VLANs[name]; return is }

func (c *networkCheck) isDescribed(name string) bool {
	_, isBond := c.spec.Bonds[name]
	return isBond || c.isVLAN(name)
}

// findConflicting names the interface that already occupies the parent, so that no other one
// fits. A bond occupies all of a parent; a bridge allows VLAN interfaces beside it.
func (c *networkCheck) findConflicting(i NetworkInterface, parent string) string {
	for _, name := range slices.Sorted(maps.Keys(c.byName)) {
		other := c.byName[name]
		on := slices.ContainsFunc(other.Parents, func(p string) bool { return strings.EqualFold(p, parent) })
		if on && (other.Kind == ChildBond || other.Kind == ChildBridge && i.Kind == ChildBridge) {
			return name
		}
	}
	return ""
}

func (c *networkCheck) checkBond(i NetworkInterface) error {
	switch {
	case i.Kind != ChildBond:
		return nil
	case len(i.Parents) == 0:
		return c.fieldError(i.ParentField(), "the bond joins no interface", "Name the NICs that it joins.")
	case i.Bond.Mode != "" && !slices.Contains(BondModes, i.Bond.Mode):
		return c.fieldError(i.Field.Child("mode"), fmt.Sprintf("%q is not a bond mode", i.Bond.Mode), "Use one of "+strings.Join(BondModes, ", ")+".")
	case i.Bond.LACPRate != "" && i.Bond.Mode != lacp:
		return c.fieldError(i.Field.Child("lacp_rate"), "only the mode 802.3ad has an LACP rate", `Set mode = "802.3ad", or leave lacp_rate out.`)
	case i.Bond.LACPRate != "" && !slices.Contains(BondLACPRates, i.Bond.LACPRate):
		return c.fieldError(i.Field.Child("lacp_rate"), fmt.Sprintf("%q is not an LACP rate", i.Bond.LACPRate), "Use fast or slow.")
	case i.Bond.HashPolicy != "" && !slices.Contains(hashingModes, i.Bond.Mode):
		return c.fieldError(i.Field.Child("xmit_hash_policy"), "this mode uses no hash policy", "Use it with one of the modes "+strings.Join(hashingModes, ", ")+", or leave it out.")
	case i.Bond.HashPolicy != "" && !slices.Contains(BondHashPolicies, i.Bond.HashPolicy):
		return c.fieldError(i.Field.Child("xmit_hash_policy"), fmt.Sprintf("%q is not a hash policy", i.Bond.HashPolicy), "Use one of "+strings.Join(BondHashPolicies, ", ")+".")
	}
	return nil
}

func (c *networkCheck) checkVLAN(i NetworkInterface) error {
	if i.Kind != ChildVLAN {
		return nil
	}
	if i.VID < 1 || i.VID > MaxVID {
		return c.fieldError(i.Field.Child("vlan"), fmt.Sprintf("%d is not a VLAN tag", i.VID), fmt.Sprintf("Give one from 1 to %d.", MaxVID))
	}
	for _, name := range slices.Sorted(maps.Keys(c.byName)) {
		if other := c.byName[name]; other.Kind == ChildVLAN && other.VID == i.VID && strings.EqualFold(other.Parents[0], i.Parents[0]) {
			return c.fieldError(i.Field.Child("vlan"), fmt.Sprintf("%s is on VLAN %d of %s already", name, i.VID, i.Parents[0]), "Keep one interface for each VLAN of a parent.")
		}
	}
	return nil
}

// checkMTU refuses an interface with a larger MTU than its parent: MAAS would silently change
// the parent.
func (c *networkCheck) checkMTU(i NetworkInterface) error {
	if i.MTU != 0 && (i.MTU < MinMTU || i.MTU > MaxMTU) {
		return c.fieldError(i.Field.Child("mtu"), fmt.Sprintf("%d is not a valid MTU", i.MTU), fmt.Sprintf("Give one from %d to %d.", MinMTU, MaxMTU))
	}
	for _, p := range i.Parents {
		if parent := c.byName[p]; parent.MTU != 0 && i.MTU > parent.MTU {
			return c.fieldError(i.Field.Child("mtu"), fmt.Sprintf("%d is more than the %d of %s below it", i.MTU, parent.MTU, p), "Lower this MTU, or raise that of the parent.")
		}
	}
	return nil
}

func (c *networkCheck) checkLinks(i NetworkInterface) error {
	for n, l := range i.Links {
		field := i.LinkField(n)
		switch {
		case !slices.Contains(LinkModes, l.Mode):
			return c.fieldError(field.Child("mode"), fmt.Sprintf("%q is not a link mode", l.Mode), "Use auto, static, dhcp or link_up.")
		case l.Mode == LinkUp && len(i.Links) > 1:
			return c.fieldError(field.Child("mode"), "link_up means an interface without an address, but it has other links", "Remove this link, or the others.")
		case l.Mode == LinkUp && l.Subnet != "":
			return c.fieldError(field.Child("subnet"), "a link in the mode link_up takes no subnet", "Remove subnet, or choose another mode.")
		case l.Mode != LinkUp && l.Subnet == "":
			return c.fieldError(field.Child("subnet"), "no subnet is named", "Give the name or CIDR of a subnet of MAAS.")
		case l.Mode == LinkStatic && !l.IP.IsValid():
			return c.fieldError(field.Child("ip"), "a static link has no address", "Set ip, or let MAAS choose with the mode auto.")
		case l.Mode != LinkStatic && l.IP.IsValid():
			return c.fieldError(field.Child("ip"), fmt.Sprintf("the mode %s takes no address", l.Mode), `Set mode = "static", or leave ip out.`)
		case l.DefaultGateway && l.Mode != LinkAuto && l.Mode != LinkStatic:
			return c.fieldError(field.Child("default_gateway"), fmt.Sprintf("MAAS sets no default gateway in the mode %s", l.Mode), "Use auto or static.")
		case l.DefaultGateway && len(c.gateways) > 0:
			return c.fieldError(field.Child("default_gateway"), c.gateways[0].String()+" is the default gateway already", "Keep one: a machine has one default gateway.")
		case l.DefaultGateway:
			c.gateways = append(c.gateways, field.Child("default_gateway"))
		}
	}
	return nil
}
