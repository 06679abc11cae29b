package request

import (
	"fmt"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// netConstraint is a constraint on the networks of a machine's interfaces.
type netConstraint struct {
	problem        func(w *world.World, values []string) string
	matchesMachine func(m *world.Machine, values []string) bool
}

// netConstraints are all of these except interfaces= (node_constraint_filter_forms.py,
// FilterNodeForm). All but link_speed can be negated.
var netConstraints = map[string]netConstraint{
	"fabrics":        {matchesMachine: matchesAnyVLAN(func(v *world.VLAN) string { return v.Fabric.Name })},
	"fabric_classes": {matchesMachine: matchesAnyVLAN(func(v *world.VLAN) string { return v.Fabric.ClassType })},
	"subnets":        {problem: subnetsProblem, matchesMachine: isInSubnets},
	"vlans":          {problem: vlansProblem, matchesMachine: isOnVLANs},
	"link_speed":     {problem: linkSpeedProblem, matchesMachine: func(_ *world.Machine, values []string) bool { return smallestNumber(values) <= 0 }},
}

func matchesAnyVLAN(text func(*world.VLAN) string) func(*world.Machine, []string) bool {
	return func(m *world.Machine, values []string) bool {
		return slices.ContainsFunc(m.NICs, func(n *world.NIC) bool { return n.VLAN != nil && slices.Contains(values, text(n.VLAN)) })
	}
}

func subnetsProblem(w *world.World, values []string) string {
	found, bad := SubnetsBySpecifiers(w, values)
	return noneFoundProblem("subnets", len(found), bad)
}

func vlansProblem(w *world.World, values []string) string {
	found, bad := VLANsBySpecifiers(w, values)
	return noneFoundProblem("VLANs", len(found), bad)
}

func noneFoundProblem(plural string, found int, bad *rest.Reply) string {
	switch {
	case bad != nil:
		return string(bad.Body)
	case found == 0:
		return "No matching " + plural + " found."
	}
	return ""
}

func linkSpeedProblem(_ *world.World, values []string) string {
	for _, value := range values {
		if _, isNumber := rest.ReadFloat(value); !isNumber {
			return "Invalid link speed: number required."
		}
	}
	return ""
}

// isInSubnets tells whether the machine has an address or a link in each of the subnets.
func isInSubnets(m *world.Machine, values []string) bool {
	wanted, _ := SubnetsBySpecifiers(m.World, values)
	return !slices.ContainsFunc(wanted, func(s *world.Subnet) bool { return !isInSubnet(m, s) })
}

func isInSubnet(m *world.Machine, s *world.Subnet) bool {
	return slices.ContainsFunc(m.NICs, func(n *world.NIC) bool { return slices.Contains(NewAttachedInterface(m, n).Subnets, s) })
}

func isOnVLANs(m *world.Machine, values []string) bool {
	wanted, _ := VLANsBySpecifiers(m.World, values)
	return slices.ContainsFunc(m.NICs, func(n *world.NIC) bool { return n.VLAN != nil && slices.Contains(wanted, n.VLAN) })
}

// matchesNetConstraint compares a machine with a constraint on its networks. A negated
// constraint excludes machines in any of the subnets.
func matchesNetConstraint(m *world.Machine, base string, isNot bool, values []string) bool {
	if base == "subnets" && isNot {
		wanted, _ := SubnetsBySpecifiers(m.World, values)
		return !slices.ContainsFunc(wanted, func(s *world.Subnet) bool { return isInSubnet(m, s) })
	}
	return netConstraints[base].matchesMachine(m, values) != isNot
}

// InterfacesProblem is MAAS's error while it evaluates interfaces=, for example about an
// unknown space. It is nil without an error.
func InterfacesProblem(w *world.World, text string) *rest.Reply {
	parts, _ := ReadInterfaces(text)
	for _, part := range parts {
		if _, bad := part.BuildChoice(w); bad != nil {
			return bad
		}
	}
	return nil
}

// MatchingInterfaces are the ids of the interfaces that match each part of interfaces=, by
// label. It returns false if a part has no match.
func MatchingInterfaces(m *world.Machine, text string) (map[string][]int, bool) {
	parts, _ := ReadInterfaces(text)
	found := map[string][]int{}
	for _, part := range parts {
		chosen, bad := part.BuildChoice(m.World)
		if bad != nil {
			return nil, false
		}
		for _, n := range m.NICs {
			if chosen(NewAttachedInterface(m, n)) {
				found[part.Label] = append(found[part.Label], n.ID)
			}
		}
		if len(found[part.Label]) == 0 {
			return nil, false
		}
	}
	return found, true
}

// deviceKeys are the keys of the constraint devices= (DEVICE_CONSTRAINT_NAMES).
var deviceKeys = []string{"vendor_id", "product_id", "vendor_name", "product_name", "commissioning_driver"}

// devicesProblem is MAAS's message about devices=, without its last quote
// (devices_validator).
func devicesProblem(text string) string {
	for pair := range strings.SplitSeq(text, ",") {
		if key, _, _ := strings.Cut(pair, "="); !slices.Contains(deviceKeys, key) {
			return fmt.Sprintf("Unknown devices constraint: '%s", key)
		}
	}
	return ""
}
