package sim

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

// listOptions are parameters of GET machines/ that are no filters.
var listOptions = []string{"op", "format"}

// stringFilters compare one text of a machine with the wanted ones.
var stringFilters = map[string]func(*machine) string{
	"hostname":    func(m *machine) string { return m.hostname },
	"id":          func(m *machine) string { return m.systemID },
	"system_id":   func(m *machine) string { return m.systemID },
	"domain":      func(m *machine) string { return m.domain.name },
	"zone":        func(m *machine) string { return m.zone.name },
	"pool":        func(m *machine) string { return m.pool.name },
	"agent_name":  func(m *machine) string { return m.agentName },
	"power_state": func(m *machine) string { return m.powerState },
	"pod":         (*machine).podName,
	"pod_type":    (*machine).podType,
	"owner":       (*machine).ownerText,
}

func (m *machine) podName() string {
	if h := m.host(); h != nil {
		return h.name
	}
	return ""
}

func (m *machine) podType() string {
	if m.host() != nil {
		return "lxd"
	}
	return ""
}

func (m *machine) ownerText() string {
	if m.owner == nil {
		return ""
	}
	return m.owner.name
}

// filter finds the machines that a list wants and the caller may see.
func (c *call) filter() ([]*machine, *reply) {
	if bad := c.w.checkFilters(c.query); bad != nil {
		return nil, bad
	}
	var found []*machine
	for _, m := range sortedMachines(c.w.machines) {
		if c.may(viewAll, m) && m.matches(c.query) {
			found = append(found, m)
		}
	}
	return found, nil
}

// checkFilters refuses what MAAS's form refuses: unknown filters, statuses and
// tags, and what is no MAC.
func (w *world) checkFilters(query url.Values) *reply {
	errs := formErrors{}
	for name, values := range query {
		switch {
		case slices.Contains(listOptions, name) || stringFilters[name] != nil:
		case name == "mac_address":
			checkMACs(errs, values)
		case name == "status":
			checkStatuses(errs, values)
		case name == "tags" || name == "not_tags":
			w.checkTags(errs, name, values)
		default:
			errs.add(name, "No such constraint.")
		}
	}
	if len(errs) == 0 {
		return nil
	}
	bad := badForm(errs)
	return &bad
}

func checkMACs(errs formErrors, values []string) {
	for _, mac := range values {
		if _, err := net.ParseMAC(mac); err != nil {
			errs.add("mac_address", fmt.Sprintf("'%s' is not a valid MAC address.", mac))
		}
	}
}

func checkStatuses(errs formErrors, values []string) {
	for _, value := range values {
		if !slices.ContainsFunc(statusWords, func(w struct{ name, filter string }) bool { return w.filter == value }) {
			errs.add("status", fmt.Sprintf("Select a valid choice. %s is not one of the available choices.", value))
		}
	}
}

func (w *world) checkTags(errs formErrors, field string, values []string) {
	var unknown []string
	for _, name := range splitTags(values) {
		if w.tags[name] == nil {
			unknown = append(unknown, "'"+name+"'")
		}
	}
	if len(unknown) > 0 {
		errs.add(field, fmt.Sprintf("No such tag(s): %s.", strings.Join(unknown, ", ")))
	}
}

// splitTags reads repeated and comma separated tags alike.
func splitTags(values []string) (tags []string) {
	for _, value := range values {
		for name := range strings.SplitSeq(value, ",") {
			if name = strings.TrimSpace(name); name != "" {
				tags = append(tags, name)
			}
		}
	}
	return tags
}

func (m *machine) matches(query url.Values) bool {
	for name, values := range query {
		if !slices.Contains(listOptions, name) && !m.matchesFilter(name, values) {
			return false
		}
	}
	return true
}

func (m *machine) matchesFilter(name string, values []string) bool {
	if text := stringFilters[name]; text != nil {
		return slices.Contains(values, text(m))
	}
	has := func(tag string) bool { return slices.Contains(m.tags, tag) }
	switch name {
	case "mac_address": // lower case only, as stored
		return slices.ContainsFunc(m.nics, func(n *nic) bool { return slices.Contains(values, n.mac) })
	case "status":
		return slices.Contains(values, statusWords[m.status].filter)
	case "tags":
		return !slices.ContainsFunc(splitTags(values), func(tag string) bool { return !has(tag) })
	}
	return !slices.ContainsFunc(splitTags(values), has) // not_tags
}
