package request

import (
	"fmt"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// netConstraint is a constraint on what a machine's interfaces are attached to.
type netConstraint struct {
	problem func(w *world.World, values []string) string
	fits    func(m *world.Machine, values []string) bool
}

// netConstraints are those that are not interfaces= itself
// (node_constraint_filter_forms.py, FilterNodeForm); each but link_speed may be
// negated.
var netConstraints = map[string]netConstraint{
	"fabrics":        {fits: onAny(func(v *world.VLAN) string { return v.Fabric.Name })},
	"fabric_classes": {fits: onAny(func(v *world.VLAN) string { return v.Fabric.ClassType })},
	"subnets":        {problem: noSubnets, fits: inSubnets},
	"vlans":          {problem: noVLANs, fits: onVLANs},
	"link_speed":     {problem: noSpeed, fits: func(_ *world.Machine, values []string) bool { return least(values) <= 0 }},
}

func onAny(text func(*world.VLAN) string) func(*world.Machine, []string) bool {
	return func(m *world.Machine, values []string) bool {
		return slices.ContainsFunc(m.NICs, func(n *world.NIC) bool { return n.VLAN != nil && slices.Contains(values, text(n.VLAN)) })
	}
}

func noSubnets(w *world.World, values []string) string {
	found, bad := SubnetsCalled(w, values)
	return noneFound("subnets", len(found), bad)
}

func noVLANs(w *world.World, values []string) string {
	found, bad := VLANsCalled(w, values)
	return noneFound("VLANs", len(found), bad)
}

func noneFound(plural string, found int, bad *rest.Reply) string {
	switch {
	case bad != nil:
		return string(bad.Body)
	case found == 0:
		return "No matching " + plural + " found."
	}
	return ""
}

func noSpeed(_ *world.World, values []string) string {
	for _, value := range values {
		if _, isNumber := rest.ReadFloat(value); !isNumber {
			return "Invalid link speed: number required."
		}
	}
	return ""
}

// inSubnets needs an address, or a link, in each of the subnets.
func inSubnets(m *world.Machine, values []string) bool {
	wanted, _ := SubnetsCalled(m.World, values)
	return !slices.ContainsFunc(wanted, func(s *world.Subnet) bool { return !isIn(m, s) })
}

func isIn(m *world.Machine, s *world.Subnet) bool {
	return slices.ContainsFunc(m.NICs, func(n *world.NIC) bool { return slices.Contains(AttachedAs(m, n).Subnets, s) })
}

func onVLANs(m *world.Machine, values []string) bool {
	wanted, _ := VLANsCalled(m.World, values)
	return slices.ContainsFunc(m.NICs, func(n *world.NIC) bool { return n.VLAN != nil && slices.Contains(wanted, n.VLAN) })
}

// fulfilsNet compares a machine with a constraint on its networks. One that is
// negated excludes those in any of the subnets.
func fulfilsNet(m *world.Machine, base string, isNot bool, values []string) bool {
	if base == "subnets" && isNot {
		wanted, _ := SubnetsCalled(m.World, values)
		return !slices.ContainsFunc(wanted, func(s *world.Subnet) bool { return isIn(m, s) })
	}
	return netConstraints[base].fits(m, values) != isNot
}

// BadInterfaces is what MAAS trips over as it looks for interfaces, as a space that
// there is not; nil for nothing.
func BadInterfaces(w *world.World, text string) *rest.Reply {
	parts, _ := ReadInterfaces(text)
	for _, part := range parts {
		if _, bad := part.Chooses(w); bad != nil {
			return bad
		}
	}
	return nil
}

// Interfaces are the ids of the interfaces that fulfil each part of interfaces=, by
// its label; false where one part has none.
func Interfaces(m *world.Machine, text string) (map[string][]int, bool) {
	parts, _ := ReadInterfaces(text)
	found := map[string][]int{}
	for _, part := range parts {
		chosen, bad := part.Chooses(m.World)
		if bad != nil {
			return nil, false
		}
		for _, n := range m.NICs {
			if chosen(AttachedAs(m, n)) {
				found[part.Label] = append(found[part.Label], n.ID)
			}
		}
		if len(found[part.Label]) == 0 {
			return nil, false
		}
	}
	return found, true
}

// deviceKeys are what a device may be looked for by (DEVICE_CONSTRAINT_NAMES).
var deviceKeys = []string{"vendor_id", "product_id", "vendor_name", "product_name", "commissioning_driver"}

// devicesProblem is MAAS's word, without its last quote, on devices= (devices_validator).
func devicesProblem(text string) string {
	for pair := range strings.SplitSeq(text, ",") {
		if key, _, _ := strings.Cut(pair, "="); !slices.Contains(deviceKeys, key) {
			return fmt.Sprintf("Unknown devices constraint: '%s", key)
		}
	}
	return ""
}
