package replay

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/recording"
)

// projectOfHost is the LXD project of a VM host. It is in the host's registration or in
// its machines. Otherwise it is the host's name.
func (v *evidence) projectOfHost(recordedID, name string) string {
	for i, e := range v.exchanges {
		if e.Request.Method == http.MethodPost && len(e.Route()) == 1 && len(v.hostsIn(i)) == 1 && textOf(v.hostsIn(i)[0]["id"]) == recordedID {
			return cmp.Or(e.FormValues().Get("project"), "default")
		}
	}
	for i, e := range v.exchanges {
		n, enlists := enlistmentOf(e)
		for _, seen := range v.seen[i] {
			if enlists && seen.PodID == recordedID && n.Project != "" {
				return n.Project
			}
		}
	}
	if project := v.shownProject(recordedID); project != "" {
		return project
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
	for _, e := range v.exchanges {
		if project := e.FormValues().Get("project"); hostOf(e) == recordedID && e.Request.Method == http.MethodPut && project != "" {
			return project
		}
	}
	return name
}

// shownProject is the LXD project in the parameters of a VM host, or empty.
func (v *evidence) shownProject(recordedID string) string {
	for i, e := range v.exchanges {
		if o, ok := v.bodies[i].(map[string]any); ok && e.Op() == "parameters" && hostOf(e) == recordedID && textOf(o["project"]) != "" {
			return textOf(o["project"])
		}
	}
	return ""
}

// lastRefreshBefore is the last exchange before i in which MAAS read the inventory of the
// machine's VM host. It is -1 if there is none.
func (v *evidence) lastRefreshBefore(i int, s sighting) int {
	for j := i; j >= 0; j-- {
		e := v.exchanges[j]
		if !triggersRefresh(e) {
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

// enlistmentOfFound returns the enlistment of an instance that MAAS found by itself in
// exchange at. MAAS made another machine with another name for it, because the MAC
// differed from the one in the enlistment. It is -1 if there is none.
func (v *evidence) enlistmentOfFound(at int, s sighting) int {
	if at < 0 {
		return -1
	}
	for j := at - 1; j >= 0; j-- {
		n, ok := enlistmentOf(v.exchanges[j])
		o, _ := v.bodies[j].(map[string]any)
		id := textOf(o["system_id"])
		if !ok || id == "" || n.MAC == s.MAC || n.Project != v.projectOfHost(s.PodID, s.PodName) {
			continue
		}
		seen := v.sightings(id)
		gone := !slices.ContainsFunc(v.exchanges[j:], func(e recording.Exchange) bool {
			return machineOf(e) == id && e.Request.Method == http.MethodDelete
		})
		if gone && (len(seen) == 0 || seen[len(seen)-1].index < at) && (s.Hostname == n.Instance || petnamePattern.MatchString(s.Hostname)) {
			return j
		}
	}
	return -1
}

// hadInstance tells whether the instance of the enlistment i was in the LXD. It was,
// unless the first answer about it says that there is none.
func (v *evidence) hadInstance(i int) bool {
	o, _ := v.bodies[i].(map[string]any)
	id := textOf(o["system_id"])
	if id == "" {
		return true
	}
	for j := i + 1; j < len(v.exchanges); j++ {
		if there, told := v.instancePresence(j, id); told {
			return there
		}
	}
	return true
}

// instancePresence tells whether an answer shows that a machine's instance exists, or that
// it does not.
func (v *evidence) instancePresence(j int, id string) (there, told bool) {
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

// machineIDs are the system ids that answers show.
func (v *evidence) machineIDs() (all []string) {
	for _, seen := range v.seen {
		for _, s := range seen {
			if !slices.Contains(all, s.ID) {
				all = append(all, s.ID)
			}
		}
	}
	return all
}

// wasLeaked tells whether the instance stayed in LXD after exchange i deleted its machine:
// MAAS finds it again later.
func (v *evidence) wasLeaked(i int) bool {
	seen := v.sightings(machineOf(v.exchanges[i]))
	if len(seen) == 0 {
		return false
	}
	for _, later := range v.seen[i:] {
		for _, s := range later {
			if s.ID != seen[0].ID && s.MAC != "" && s.MAC == seen[len(seen)-1].MAC {
				return true
			}
		}
	}
	return false
}

// wasTurnedInLXD tells whether somebody switched the machine's power in LXD. Then the last
// answer before i that shows the power shows another one, and no request about the machine
// came since.
func (v *evidence) wasTurnedInLXD(i int, id, power string) bool {
	last := sighting{index: -1}
	for _, s := range v.sightings(id) {
		if s.index < i {
			last = s
		}
	}
	if last.index < 0 || last.Power == power || last.Power != "on" && last.Power != "off" || slices.Contains(transientStatuses, last.Status) {
		return false
	}
	return !slices.ContainsFunc(v.exchanges[last.index:i], func(e recording.Exchange) bool {
		return machineOf(e) == id && e.Request.Method == http.MethodPost
	})
}
