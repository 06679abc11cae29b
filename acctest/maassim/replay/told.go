package replay

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
)

// projectOfHost is the LXD project of a VM host: of its registration, of the
// machines in it, or else the host's name.
func (v *evidence) projectOfHost(recordedID, name string) string {
	for i, e := range v.exchanges {
		if e.Request.Method == http.MethodPost && len(e.Route()) == 1 && len(v.hostsIn(i)) == 1 && textOf(v.hostsIn(i)[0]["id"]) == recordedID {
			return cmp.Or(e.FormValues().Get("project"), "default")
		}
	}
	in := map[string]bool{}
	for _, seen := range v.seen {
		for _, s := range seen {
			if s.PodID == recordedID {
				in[s.ID] = true
			}
		}
	}
	for i, e := range v.exchanges {
		if e.Op() == "power_parameters" && in[machineOf(e)] {
			if o, ok := v.bodies[i].(map[string]any); ok && textOf(o["project"]) != "" {
				return textOf(o["project"])
			}
		}
	}
	return name
}

// syncBefore is the last exchange before i in which MAAS looked into the LXD of
// the machine's VM host; -1 if none did.
func (v *evidence) syncBefore(i int, s sighting) int {
	for j := i; j >= 0; j-- {
		e := v.exchanges[j]
		if !syncs(e) {
			continue
		}
		id := hostOf(e)
		if hosts := v.hostsIn(j); id == "" && len(hosts) == 1 {
			id = textOf(hosts[0]["id"])
		}
		if id == s.PodID {
			return j
		}
	}
	return -1
}

// existed tells whether the instance of the enlistment i was in the LXD: unless
// what MAAS says of it first is that there is none.
func (v *evidence) existed(i int) bool {
	o, _ := v.bodies[i].(map[string]any)
	id := textOf(o["system_id"])
	if id == "" {
		return true
	}
	for j := i + 1; j < len(v.exchanges); j++ {
		if there, told := v.toldOf(j, id); told {
			return there
		}
	}
	return true
}

// toldOf says whether an answer tells that a machine's instance is there, or
// that it is not.
func (v *evidence) toldOf(j int, id string) (there, told bool) {
	e := v.exchanges[j]
	if machineOf(e) == id && e.Op() == "query_power_state" && e.OK() {
		var answer struct{ State string }
		return decode(e, &answer) && answer.State != "error", true
	}
	for _, s := range v.seen[j] {
		switch {
		case s.ID != id:
		case strings.Contains(s.Message, "not found"):
			return false, true
		case s.Power == "on" || s.Power == "off" || s.Status == "Ready":
			return true, true
		}
	}
	return false, false
}

// machines are the system ids that answers show.
func (v *evidence) machines() (all []string) {
	for _, seen := range v.seen {
		for _, s := range seen {
			if !slices.Contains(all, s.ID) {
				all = append(all, s.ID)
			}
		}
	}
	return all
}
