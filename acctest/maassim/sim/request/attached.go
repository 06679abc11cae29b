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

// Attached is an interface with the subnets that it has, or had, an address of.
type Attached struct {
	Machine *world.Machine
	NIC     *world.NIC
	Subnets []*world.Subnet
	IPs     []string
}

// AttachedAs is an interface as MAAS knows it.
func AttachedAs(m *world.Machine, n *world.NIC) Attached {
	a := Attached{Machine: m, NIC: n}
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

// attachedSpecifiers choose interfaces (models/interface.py, get_specifiers_q).
var attachedSpecifiers = specifiers[Attached]{
	"": attachedByAny, "id": by(func(a Attached) string { return strconv.Itoa(a.NIC.ID) }),
	"name": by(func(a Attached) string { return a.NIC.Name }), "hostname": by(func(a Attached) string { return a.Machine.Hostname }),
	"type": by(func(a Attached) string { return a.NIC.Kind }), "fabric_class": by(fabricClass), "ip": attachedByAddress,
	"fabric": inFabric(vlanOfAttached), "vlan": inVLAN(vlanOfAttached), "vid": byVID(vlanOfAttached), "space": inSpace(vlanOfAttached),
	"subnet": attachedToSubnet, "subnet_cidr": attachedToCIDR, "mode": isUnconfigured, "tag": hasAllTags, "link_speed": isFasterThan,
}

func vlanOfAttached(a Attached) *world.VLAN { return a.NIC.VLAN }

func fabricClass(a Attached) string {
	if a.NIC.VLAN == nil {
		return ""
	}
	return a.NIC.VLAN.Fabric.ClassType
}

func attachedByAny(w *world.World, value string) (choice[Attached], *rest.Reply) {
	if id, err := strconv.Atoi(value); err == nil {
		return func(a Attached) bool { return a.NIC.ID == id }, nil
	}
	if _, err := netip.ParseAddr(value); err == nil {
		return attachedByAddress(w, value)
	}
	return func(a Attached) bool { return a.NIC.Name == value }, nil
}

func attachedByAddress(_ *world.World, value string) (choice[Attached], *rest.Reply) {
	return func(a Attached) bool { return slices.Contains(a.IPs, value) }, nil
}

func attachedToSubnet(w *world.World, value string) (choice[Attached], *rest.Reply) {
	chosen, bad := subnetSpecifiers.choose(w, ofAll(value))
	return func(a Attached) bool { return slices.ContainsFunc(a.Subnets, chosen) }, bad
}

func attachedToCIDR(w *world.World, value string) (choice[Attached], *rest.Reply) {
	return attachedToSubnet(w, "cidr:"+value)
}

func isUnconfigured(_ *world.World, value string) (choice[Attached], *rest.Reply) {
	if !strings.EqualFold(strings.TrimSpace(value), "unconfigured") {
		bad := rest.BadModel(rest.FormErrors{"__all__": {"The only valid value for 'mode' is 'unconfigured'."}})
		return nil, &bad
	}
	return func(a Attached) bool { return len(a.IPs) == 0 }, nil
}

func hasAllTags(_ *world.World, value string) (choice[Attached], *rest.Reply) {
	wanted := strings.Split(value, "&&")
	return func(a Attached) bool {
		return !slices.ContainsFunc(wanted, func(tag string) bool { return !slices.Contains(a.NIC.Tags, tag) })
	}, nil
}

func isFasterThan(_ *world.World, value string) (choice[Attached], *rest.Reply) {
	least, _ := rest.ReadFloat(value)
	return func(Attached) bool { return least <= 0 }, nil // no NIC here knows its speed
}

// InterfaceConstraint is a part of interfaces=: label:key=value,…
type InterfaceConstraint struct {
	Label string
	keys  []string // in their order
	by    map[string][]string
}

// Value is the last value of a key, empty for none.
func (c InterfaceConstraint) Value(key string) string { return rest.Last(c.by[key]) }

// Without is the constraint without some keys.
func (c InterfaceConstraint) Without(keys ...string) InterfaceConstraint {
	out := InterfaceConstraint{Label: c.Label, by: map[string][]string{}}
	for _, key := range c.keys {
		if !slices.Contains(keys, key) {
			out.keys, out.by[key] = append(out.keys, key), c.by[key]
		}
	}
	return out
}

// Chooses is what the constraint chooses: by each key, one of its values.
func (c InterfaceConstraint) Chooses(w *world.World) (func(Attached) bool, *rest.Reply) {
	var chosen choice[Attached]
	for _, key := range c.keys {
		var specs []string
		for _, value := range c.by[key] {
			specs = append(specs, key+":"+value)
		}
		next, bad := attachedSpecifiers.choose(w, specs)
		if bad != nil {
			return nil, bad
		}
		chosen = joined(chosen, next, '&')
	}
	if chosen == nil {
		chosen = func(Attached) bool { return true }
	}
	return chosen, nil
}

var labelPattern = regexp.MustCompile(`^[a-zA-Z0-9]+[a-zA-Z0-9_-]*$`)

// ReadInterfaces reads label:key=value,…;label2:… (provisioningserver's
// utils/constraints.py), or says what is wrong with it.
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
		c := InterfaceConstraint{Label: label, by: map[string][]string{}}
		for pair := range strings.SplitSeq(pairs, ",") {
			key, value, found := strings.Cut(pair, "=")
			if !found {
				return nil, fmt.Sprintf("Malformed key/value pair in constraint: '%s'", pair)
			}
			if len(c.by[key]) == 0 {
				c.keys = append(c.keys, key)
			}
			c.by[key] = append(c.by[key], value)
		}
		all = append(all, c)
	}
	return all, unknownKey(all)
}

// unknownKey is MAAS's word, without its last quote, on a key that is none
// (node_constraint_filter_forms.py, interfaces_validator).
func unknownKey(all []InterfaceConstraint) string {
	for _, c := range all {
		for _, key := range c.keys {
			base := strings.TrimPrefix(key, "not_")
			if base == "" || attachedSpecifiers[base] == nil || base != key && (base == "mode" || base == "type" || base == "link_speed") {
				return fmt.Sprintf("Unknown interfaces constraint: '%s", key)
			}
		}
	}
	return ""
}
