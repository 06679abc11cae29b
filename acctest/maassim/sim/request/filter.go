package request

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// listOptions are the parameters of GET machines/ that are not filters.
var listOptions = []string{"op", "format"}

// listTexts are filters for lists only. They compare one text of a machine with the given
// ones (node_constraint_filter_forms.py, ReadNodesForm).
var listTexts = map[string]func(*world.Machine) string{
	"hostname":   func(m *world.Machine) string { return m.Hostname },
	"id":         func(m *world.Machine) string { return m.SystemID },
	"domain":     func(m *world.Machine) string { return m.Domain.Name },
	"agent_name": func(m *world.Machine) string { return m.AgentName },
	"status":     func(m *world.Machine) string { return world.StatusWords[m.Status].Filter },
}

// PodName is the name of the machine's VM host, or empty if the machine is not a VM of
// one.
func PodName(m *world.Machine) string {
	if h := m.Host(); h != nil {
		return h.Name
	}
	return ""
}

// PodType is the type of the machine's BMC, whether it is a VM host or not.
func PodType(m *world.Machine) string {
	if m.BMC != nil {
		return "lxd"
	}
	return m.PowerType
}

// OwnerText is the owner's name, or empty.
func OwnerText(m *world.Machine) string {
	if m.Owner == nil {
		return ""
	}
	return m.Owner.Name
}

// FilterMachines finds the machines that match the list's filters and that the caller may
// see.
func (c *Call) FilterMachines() ([]*world.Machine, *rest.Reply) {
	if bad := checkFilters(c.World, c.Query); bad != nil {
		return nil, bad
	}
	var found []*world.Machine
	for _, m := range world.SortedMachines(c.World.Machines) {
		if c.HasPermission(ViewAll, m) && matchesFilters(m, c.Query) {
			found = append(found, m)
		}
	}
	return found, nil
}

// checkFilters refuses what MAAS's form refuses: unknown filters, statuses and tags, and
// invalid MACs. A filter that the simulator does not support is 501.
func checkFilters(w *world.World, query url.Values) *rest.Reply {
	errs := rest.FormErrors{}
	for name, values := range query {
		base, isNot := strings.CutPrefix(name, "not_")
		switch {
		case slices.Contains(listOptions, name):
		case name == "mac_address":
			checkMACs(errs, values)
		case base == "status" || name == "not_status":
			checkStatuses(errs, name, values)
		case listTexts[base] != nil && (isNot || base == name):
		case IsKnownConstraint(name):
			CheckConstraint(w, errs, name, values)
		case name == "storage":
			bad := rest.ErrorReply(http.StatusNotImplemented, "The simulator does not simulate the filter storage of machines.")
			return &bad
		default:
			errs.Add(name, "No such constraint.")
		}
	}
	if len(errs) == 0 {
		return nil
	}
	bad := rest.BadFormReply(errs)
	return &bad
}

func checkStatuses(errs rest.FormErrors, field string, values []string) {
	for _, value := range values {
		if !slices.ContainsFunc(world.StatusWords, func(w world.StatusWord) bool { return w.Filter == strings.TrimPrefix(value, "=") }) {
			errs.Add(field, rest.ChoiceProblem(value))
		}
	}
}

func matchesFilters(m *world.Machine, query url.Values) bool {
	for name, values := range query {
		if !slices.Contains(listOptions, name) && !matchesFilter(m, name, values) {
			return false
		}
	}
	return true
}

func matchesFilter(m *world.Machine, name string, values []string) bool {
	base, isNot := strings.CutPrefix(name, "not_")
	switch text := listTexts[base]; {
	case name == "mac_address": // in lower case only, as MAAS stores it
		return slices.ContainsFunc(m.NICs, func(n *world.NIC) bool { return slices.Contains(values, n.MAC) })
	case text != nil:
		return slices.ContainsFunc(values, func(v string) bool {
			return v == text(m) || base == "status" && strings.TrimPrefix(v, "=") == text(m)
		}) != isNot
	}
	return MatchesConstraint(m, name, values)
}
