package request

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// textConstraints are the texts of a machine that constraints compare
// (node_constraint_filter_forms.py, FilterNodeForm).
var textConstraints = map[string]func(*world.Machine) string{
	"system_id":   func(m *world.Machine) string { return m.SystemID },
	"zone":        func(m *world.Machine) string { return m.Zone.Name },
	"pool":        func(m *world.Machine) string { return m.Pool.Name },
	"power_state": func(m *world.Machine) string { return m.PowerState },
	"pod":         PodName,
	"pod_type":    PodType,
	"owner":       OwnerText,
}

// numberConstraints are the numbers of a machine for which a constraint gives a minimum.
var numberConstraints = map[string]struct {
	have    func(*world.Machine) float64
	problem string
}{
	"cpu_count": {func(m *world.Machine) float64 { return float64(m.Cores) }, "Invalid CPU count: number required."},
	"cpu_speed": {func(*world.Machine) float64 { return 0 }, "Invalid CPU speed: number required."},
	"mem":       {func(m *world.Machine) float64 { return float64(m.MemoryMiB) }, "Invalid memory: number of MiB required."},
}

// splitNegation returns the constraint that a name negates: pod for not_pod, and zone for
// not_in_zone.
func splitNegation(name string) (string, bool) {
	base, isNot := strings.CutPrefix(name, "not_")
	if !isNot {
		return name, false
	}
	if place, isPlace := strings.CutPrefix(base, "in_"); isPlace {
		return place, true
	}
	return base, base != "zone" && base != "pool" && base != "system_id"
}

// IsKnownConstraint tells whether the simulator supports the constraint.
func IsKnownConstraint(name string) bool {
	base, isNot := splitNegation(name)
	if isOneText(name) {
		return true
	}
	return (isNot || base == name) && (textConstraints[base] != nil || numberConstraints[base].have != nil && !isNot ||
		netConstraints[base].matchesMachine != nil && !(isNot && base == "link_speed") || base == "arch" || base == "tags")
}

// isOneText tells whether a constraint has one value with its own syntax.
func isOneText(name string) bool { return name == "interfaces" || name == "devices" }

// CheckConstraint adds MAAS's errors about the values of a constraint.
func CheckConstraint(w *world.World, errs rest.FormErrors, name string, values []string) {
	base, isNot := splitNegation(name)
	switch {
	case numberConstraints[base].have != nil:
		for _, value := range values {
			if _, isNumber := rest.ReadFloat(value); !isNumber {
				errs.Add(name, numberConstraints[base].problem)
			}
		}
	case name == "tags":
		CheckTags(w, errs, name, values)
	case name == "arch":
		checkArchitectures(w, errs, values)
	case base == "zone":
		checkNames(errs, name, "No such zone(s): %s.", values, func(v string) bool { return w.ZoneNamed(v) != nil })
	case base == "pool":
		checkNames(errs, name, "No such pool(s): %s.", values, func(v string) bool { return w.PoolNamed(v) != nil })
	case isOneText(name):
		checkText(errs, name, rest.LastValue(values))
	case netConstraints[base].problem != nil:
		if problem := netConstraints[base].problem(w, values); problem != "" {
			errs.Add(name, problem)
		}
	case base == "owner" && !isNot:
		checkOwners(w, errs, values)
	case base == "power_state":
		for _, value := range values {
			if !slices.Contains(powerStates, strings.TrimPrefix(value, "=")) {
				errs.Add(name, rest.ChoiceProblem(value))
			}
		}
	}
}

func checkText(errs rest.FormErrors, name, text string) {
	problem := ""
	switch name {
	case "interfaces":
		_, problem = ReadInterfaces(text)
	case "devices":
		problem = devicesProblem(text)
	}
	if problem != "" {
		errs.Add(name, problem)
	}
}

// powerStates are the states that MAAS stores (enum.py, POWER_STATE).
var powerStates = []string{"on", "off", "unknown", "error"}

func checkNames(errs rest.FormErrors, field, problem string, values []string, known func(string) bool) {
	var missing []string
	for _, value := range values {
		if !known(value) {
			missing = append(missing, value)
		}
	}
	if len(missing) > 0 {
		errs.Add(field, fmt.Sprintf(problem, strings.Join(missing, ", ")))
	}
}

func checkOwners(w *world.World, errs rest.FormErrors, values []string) {
	for _, value := range values {
		if !slices.ContainsFunc(w.Users, func(u *world.User) bool { return u.Name == value }) {
			errs.Add("owner", fmt.Sprintf("No such owner: '%s'.", value))
			return
		}
	}
}

func checkArchitectures(w *world.World, errs rest.FormErrors, values []string) {
	for _, value := range values {
		short, kind, hasKind := strings.Cut(value, "/")
		if !slices.Contains(world.MachineArchitectures(w), short) || hasKind && kind != "generic" {
			errs.Add("arch", "Architecture not recognised.")
			return
		}
	}
}

// CheckTags adds the errors about a filter by tags, if there are any.
func CheckTags(w *world.World, errs rest.FormErrors, field string, values []string) {
	var unknown []string
	for _, name := range rest.SplitTags(values) {
		if w.Tags[name] == nil {
			unknown = append(unknown, "'"+name+"'")
		}
	}
	if len(unknown) > 0 {
		errs.Add(field, fmt.Sprintf("No such tag(s): %s.", strings.Join(unknown, ", ")))
	}
}

// MatchesConstraint tells whether the machine matches a known constraint.
func MatchesConstraint(m *world.Machine, name string, values []string) bool {
	base, isNot := splitNegation(name)
	has := func(tag string) bool { return slices.Contains(m.Tags, tag) }
	switch {
	case name == "interfaces":
		_, fits := MatchingInterfaces(m, rest.LastValue(values))
		return fits
	case name == "devices":
		return false // simulated machines have no PCI or USB devices
	case netConstraints[base].matchesMachine != nil:
		return matchesNetConstraint(m, base, isNot, values)
	case base == "tags" && isNot:
		return !slices.ContainsFunc(rest.SplitTags(values), has)
	case base == "tags":
		return !slices.ContainsFunc(rest.SplitTags(values), func(tag string) bool { return !has(tag) })
	case base == "arch":
		return slices.ContainsFunc(values, func(v string) bool { return MatchesArchitecture(m, v) }) != isNot
	case numberConstraints[base].have != nil:
		return numberConstraints[base].have(m) >= smallestNumber(values)
	case base == "power_state":
		return slices.ContainsFunc(values, func(v string) bool { return strings.TrimPrefix(v, "=") == m.PowerState }) != isNot
	}
	return slices.Contains(values, textConstraints[base](m)) != isNot
}

// MatchesArchitecture tells whether the machine has an architecture. amd64 means all its
// subarchitectures (node_constraint_filter_forms.py, clean_arch).
func MatchesArchitecture(m *world.Machine, want string) bool {
	short, _, _ := strings.Cut(m.Architecture, "/")
	return want == m.Architecture || want == short
}

// smallestNumber is the smallest of the numbers.
func smallestNumber(values []string) float64 {
	var all []float64
	for _, value := range values {
		if n, isNumber := rest.ReadFloat(value); isNumber {
			all = append(all, n)
		}
	}
	if len(all) == 0 {
		return 0
	}
	return slices.Min(all)
}

func checkMACs(errs rest.FormErrors, values []string) {
	for _, mac := range values {
		if _, err := net.ParseMAC(mac); err != nil {
			errs.Add("mac_address", fmt.Sprintf("'%s' is not a valid MAC address.", mac))
		}
	}
}
