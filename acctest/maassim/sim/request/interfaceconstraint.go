package request

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// AttachedInterface is an interface with the subnets of its current and observed
// addresses.
type AttachedInterface struct {
	Machine *world.Machine
	NIC     *world.NIC
	Subnets []*world.Subnet
	IPs     []string
}

// NewAttachedInterface is an interface as MAAS knows it.
func NewAttachedInterface(m *world.Machine, n *world.NIC) AttachedInterface {
	a := AttachedInterface{Machine: m, NIC: n}
	for _, l := range n.Links {
		if l.Subnet != nil {
			a.Subnets = append(a.Subnets, l.Subnet)
		}
		if l.IP != "" {
			a.IPs = append(a.IPs, l.IP)
		}
	}
	for _, d := range n.Discovered {
		a.Subnets, a.IPs = append(a.Subnets, d.Subnet), append(a.IPs, d.IP)
	}
	return a
}

// interfaceSpecifiers select interfaces (models/interface.py, get_specifiers_q).
var interfaceSpecifiers = specifiers[AttachedInterface]{
	"": attachedByAny, "id": byText(func(a AttachedInterface) string { return strconv.Itoa(a.NIC.ID) }),
	"name": byText(func(a AttachedInterface) string { return a.NIC.Name }), "hostname": byText(func(a AttachedInterface) string { return a.Machine.Hostname }),
	"type": byText(func(a AttachedInterface) string { return a.NIC.Kind }), "fabric_class": byText(fabricClass), "ip": attachedByAddress,
	"fabric": byFabric(vlanOfAttached), "vlan": byVLAN(vlanOfAttached), "vid": byVID(vlanOfAttached), "space": bySpace(vlanOfAttached),
	"subnet": bySubnet, "subnet_cidr": bySubnetCIDR, "mode": byMode, "tag": byTags, "link_speed": byLinkSpeed,
}

func vlanOfAttached(a AttachedInterface) *world.VLAN { return a.NIC.VLAN }

func fabricClass(a AttachedInterface) string {
	if a.NIC.VLAN == nil {
		return ""
	}
	return a.NIC.VLAN.Fabric.ClassType
}

func attachedByAny(w *world.World, value string) (choice[AttachedInterface], *rest.Reply) {
	if id, err := strconv.Atoi(value); err == nil {
		return func(a AttachedInterface) bool { return a.NIC.ID == id }, nil
	}
	if _, err := netip.ParseAddr(value); err == nil {
		return attachedByAddress(w, value)
	}
	return func(a AttachedInterface) bool { return a.NIC.Name == value }, nil
}

func attachedByAddress(_ *world.World, value string) (choice[AttachedInterface], *rest.Reply) {
	return func(a AttachedInterface) bool { return slices.Contains(a.IPs, value) }, nil
}

func bySubnet(w *world.World, value string) (choice[AttachedInterface], *rest.Reply) {
	chosen, bad := subnetSpecifiers.choose(w, allSpecifiers(value))
	return func(a AttachedInterface) bool { return slices.ContainsFunc(a.Subnets, chosen) }, bad
}

func bySubnetCIDR(w *world.World, value string) (choice[AttachedInterface], *rest.Reply) {
	return bySubnet(w, "cidr:"+value)
}

func byMode(_ *world.World, value string) (choice[AttachedInterface], *rest.Reply) {
	if !strings.EqualFold(strings.TrimSpace(value), "unconfigured") {
		bad := rest.BadModelReply(rest.FormErrors{"__all__": {"The only valid value for 'mode' is 'unconfigured'."}})
		return nil, &bad
	}
	return func(a AttachedInterface) bool { return len(a.IPs) == 0 }, nil
}

func byTags(_ *world.World, value string) (choice[AttachedInterface], *rest.Reply) {
	wanted := strings.Split(value, "&&")
	return func(a AttachedInterface) bool {
		return !slices.ContainsFunc(wanted, func(tag string) bool { return !slices.Contains(a.NIC.Tags, tag) })
	}, nil
}

func byLinkSpeed(_ *world.World, value string) (choice[AttachedInterface], *rest.Reply) {
	least, _ := rest.ReadFloat(value)
	return func(AttachedInterface) bool { return least <= 0 }, nil // no simulated NIC has a known speed
}

// InterfaceConstraint is a part of interfaces=: label:key=value,…
type InterfaceConstraint struct {
	Label       string
	keys        []string // in their order
	valuesByKey map[string][]string
}

// Value is the last value of a key, or empty.
func (c InterfaceConstraint) Value(key string) string { return rest.LastValue(c.valuesByKey[key]) }

// WithoutKeys is the constraint without some keys.
func (c InterfaceConstraint) WithoutKeys(keys ...string) InterfaceConstraint {
	out := InterfaceConstraint{Label: c.Label, valuesByKey: map[string][]string{}}
	for _, key := range c.keys {
		if !slices.Contains(keys, key) {
			out.keys, out.valuesByKey[key] = append(out.keys, key), c.valuesByKey[key]
		}
	}
	return out
}

// BuildChoice makes the constraint's condition: each key must match one of its values.
func (c InterfaceConstraint) BuildChoice(w *world.World) (func(AttachedInterface) bool, *rest.Reply) {
	var chosen choice[AttachedInterface]
	for _, key := range c.keys {
		var specs []string
		for _, value := range c.valuesByKey[key] {
			specs = append(specs, key+":"+value)
		}
		next, bad := interfaceSpecifiers.choose(w, specs)
		if bad != nil {
			return nil, bad
		}
		chosen = joinChoices(chosen, next, '&')
	}
	if chosen == nil {
		chosen = func(AttachedInterface) bool { return true }
	}
	return chosen, nil
}

var labelPattern = regexp.MustCompile(`^[a-zA-Z0-9]+[a-zA-Z0-9_-]*$`)

// ReadInterfaces reads label:key=value,…;label2:… (provisioningserver's
// utils/constraints.py). Otherwise it returns the problem.
func ReadInterfaces(text string) (all []InterfaceConstraint, problem string) {
	if len(text) <= 1 {
		return nil, ""
	}
	for part := range strings.SplitSeq(text, ";") {
		label, pairs, found := strings.Cut(part, ":")
		switch {
		case !found:
			return nil, fmt.Sprintf("Malformed constraint: '%s' (required format: '<label>:<key>=<value>[,<key2>=<value2>[,...]]')", part)
		case !labelPattern.MatchString(label):
			return nil, fmt.Sprintf("Invalid label name: '%s' (Must begin with an alphanumeric character, and include only alphanumeric characters, dashes, and underscores.)", label)
		case slices.ContainsFunc(all, func(c InterfaceConstraint) bool { return c.Label == label }):
			return nil, fmt.Sprintf("Constraint label defined more than once: '%s'", label)
		}
		c := InterfaceConstraint{Label: label, valuesByKey: map[string][]string{}}
		for pair := range strings.SplitSeq(pairs, ",") {
			key, value, found := strings.Cut(pair, "=")
			if !found {
				return nil, fmt.Sprintf("Malformed key/value pair in constraint: '%s'", pair)
			}
			if len(c.valuesByKey[key]) == 0 {
				c.keys = append(c.keys, key)
			}
			c.valuesByKey[key] = append(c.valuesByKey[key], value)
		}
		all = append(all, c)
	}
	return all, unknownKeyProblem(all)
}

// unknownKeyProblem is MAAS's message about an unknown key, without its last quote
// (node_constraint_filter_forms.py, interfaces_validator).
func unknownKeyProblem(all []InterfaceConstraint) string {
	for _, c := range all {
		for _, key := range c.keys {
			base := strings.TrimPrefix(key, "not_")
			if base == "" || interfaceSpecifiers[base] == nil || base != key && (base == "mode" || base == "type" || base == "link_speed") {
				return fmt.Sprintf("Unknown interfaces constraint: '%s", key)
			}
		}
	}
	return ""
}
