package request

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// listOptions are parameters of GET machines/ that are no filters.
var listOptions = []string{"op", "format"}

// stringFilters compare one text of a machine with the wanted ones.
var stringFilters = map[string]func(*world.Machine) string{
	"hostname":    func(m *world.Machine) string { return m.Hostname },
	"id":          func(m *world.Machine) string { return m.SystemID },
	"system_id":   func(m *world.Machine) string { return m.SystemID },
	"domain":      func(m *world.Machine) string { return m.Domain.Name },
	"zone":        func(m *world.Machine) string { return m.Zone.Name },
	"pool":        func(m *world.Machine) string { return m.Pool.Name },
	"agent_name":  func(m *world.Machine) string { return m.AgentName },
	"power_state": func(m *world.Machine) string { return m.PowerState },
	"pod":         PodName,
	"pod_type":    PodType,
	"owner":       OwnerText,
}

// PodName is the name of the VM host that the machine is a VM of, empty for none.
func PodName(m *world.Machine) string {
	if h := m.Host(); h != nil {
		return h.Name
	}
	return ""
}

// PodType is the type of that VM host.
func PodType(m *world.Machine) string {
	if m.Host() != nil {
		return "lxd"
	}
	return ""
}

// OwnerText is the owner's name, empty for none.
func OwnerText(m *world.Machine) string {
	if m.Owner == nil {
		return ""
	}
	return m.Owner.Name
}

// Filter finds the machines that a list wants and the caller may see.
func (c *Call) Filter() ([]*world.Machine, *rest.Reply) {
	if bad := checkFilters(c.World, c.Query); bad != nil {
		return nil, bad
	}
	var found []*world.Machine
	for _, m := range world.SortedMachines(c.World.Machines) {
		if c.May(ViewAll, m) && machineMatches(m, c.Query) {
			found = append(found, m)
		}
	}
	return found, nil
}

// checkFilters refuses what MAAS's form refuses: unknown filters, statuses and
// tags, and what is no MAC.
func checkFilters(w *world.World, query url.Values) *rest.Reply {
	errs := rest.FormErrors{}
	for name, values := range query {
		switch {
		case slices.Contains(listOptions, name) || stringFilters[name] != nil:
		case name == "mac_address":
			checkMACs(errs, values)
		case name == "status":
			checkStatuses(errs, values)
		case name == "tags" || name == "not_tags":
			CheckTags(w, errs, name, values)
		default:
			errs.Add(name, "No such constraint.")
		}
	}
	if len(errs) == 0 {
		return nil
	}
	bad := rest.BadForm(errs)
	return &bad
}

func checkMACs(errs rest.FormErrors, values []string) {
	for _, mac := range values {
		if _, err := net.ParseMAC(mac); err != nil {
			errs.Add("mac_address", fmt.Sprintf("'%s' is not a valid MAC address.", mac))
		}
	}
}

func checkStatuses(errs rest.FormErrors, values []string) {
	for _, value := range values {
		if !slices.ContainsFunc(world.StatusWords, func(w world.StatusWord) bool { return w.Filter == value }) {
			errs.Add("status", fmt.Sprintf("Select a valid choice. %s is not one of the available choices.", value))
		}
	}
}

// CheckTags is why a filter by these tags is refused, nil if it is not.
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

func machineMatches(m *world.Machine, query url.Values) bool {
	for name, values := range query {
		if !slices.Contains(listOptions, name) && !matchesFilter(m, name, values) {
			return false
		}
	}
	return true
}

func matchesFilter(m *world.Machine, name string, values []string) bool {
	if text := stringFilters[name]; text != nil {
		return slices.Contains(values, text(m))
	}
	has := func(tag string) bool { return slices.Contains(m.Tags, tag) }
	switch name {
	case "mac_address": // lower case only, as stored
		return slices.ContainsFunc(m.NICs, func(n *world.NIC) bool { return slices.Contains(values, n.MAC) })
	case "status":
		return slices.Contains(values, world.StatusWords[m.Status].Filter)
	case "tags":
		return !slices.ContainsFunc(rest.SplitTags(values), func(tag string) bool { return !has(tag) })
	}
	return !slices.ContainsFunc(rest.SplitTags(values), has) // not_tags
}
