package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/acctest/bench/report"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// measurement is one command of one side.
type measurement struct {
	Calls         int
	Polls         int            // calls that read machines by their ids, for all who wait for one
	Shared        int            // calls that can serve several VMs: polls and lists; see isShared
	Refreshes     int            // calls that let MAAS look at an LXD
	Failed        []string       // calls that were not answered with 2xx: "409 POST machines/{id}/ deploy"
	Routes        map[string]int // calls by route; polls have their own
	Objects       int            // machine objects in all answers
	Looks         int            // machine objects in answers to reads of machines
	AllowedLooks  int            // the most of them that are in pace; see allowedLooks
	Connections   int
	Wall          time.Duration
	Ideal         time.Duration   // what MAAS itself needs; zero: nothing to compare with
	Span          time.Duration   // median of the machines: from the first write to the last one
	IdealSpan     time.Duration   // what MAAS itself needs for one; zero: nothing to compare with
	OthersShare   float64         // the share of the CPUs that others used; zero, too, where that is unknown
	Boots         []time.Duration // what the first boots of hosts took, from the shortest on, where they differ
	Usage         usage
	OverFramework *frameworkRatio // compared with the framework alone; nil: not measured
}

// regionTag is the tag by which our own provider knows a MAAS.
const regionTag = "maaslxd-region"

// refreshRoute lets MAAS look at an LXD.
const refreshRoute = "POST vm-hosts/{id}/ refresh"

// isPoll tells a shared poll: one read of machines by their ids.
func isPoll(c sim.Call) bool {
	return report.RouteOf(c) == report.PollRoute
}

// isShared tells a read that is no single thing's: of machines by ids or by
// names or VM hosts, or of a list of hosts, zones, pools or images. A provider that reads
// them anew for each VM does so by its own choice, and the calls for each show
// it. What was allocated for an agent is one thing's: machines do not show
// their agents, so that nobody could tell the answers to several apart.
func isShared(c sim.Call) bool {
	if c.Route == "POST tags/" && slices.Contains(c.Form["name"], regionTag) {
		return true // made once for all that is ever made in a MAAS
	}
	return strings.HasPrefix(c.Route, http.MethodGet+" ") && !strings.Contains(c.Route, "{") && !isAgentRead(c)
}

// isAgentRead tells a look for what was allocated for one agent.
func isAgentRead(c sim.Call) bool { return report.RouteOf(c) == report.AgentRoute }

// measureJournal sums up a journal.
func measureJournal(j sim.Journal, wall time.Duration, used usage) measurement {
	m := measurement{
		Calls: j.Total(), Objects: j.MachineObjects, Connections: j.Connections,
		Wall: wall, Usage: used, Routes: map[string]int{}, AllowedLooks: allowedLooks(j.Calls), Span: medianSpan(j.Calls),
	}
	for _, c := range j.Calls {
		m.Routes[report.RouteOf(c)]++
		if isPoll(c) {
			m.Polls++
		}
		if isShared(c) {
			m.Shared++
		}
		if c.Route == refreshRoute {
			m.Refreshes++
		}
		if strings.HasPrefix(c.Route, "GET machines/") {
			m.Looks += c.MachineObjects
		}
		if c.Status < 200 || c.Status > 299 {
			m.Failed = append(m.Failed, fmt.Sprintf("%d %s", c.Status, report.RouteOf(c)))
		}
	}
	return m
}

// minReadInterval is the time between two looks at a machine that is in flight.
const minReadInterval = 5 * time.Second

// allowedLooks is how many machine objects looks at machines may bring: for
// each machine one when it is first met, and one for each interval begun from
// then until the last call that is about it.
func allowedLooks(calls []sim.Call) int {
	first, last := map[string]time.Time{}, map[string]time.Time{}
	for _, c := range calls {
		for _, id := range machinesOf(c) {
			if _, met := first[id]; !met {
				first[id] = c.At
			}
			last[id] = c.At.Add(c.Took)
		}
	}
	allowed := 0
	for id := range first {
		allowed += 1 + int((last[id].Sub(first[id])+minReadInterval-1)/minReadInterval)
	}
	return allowed
}

// medianSpan is how long a machine was worked on: the median of the times from the
// first write to the last one. What Terraform itself takes is not in it, and
// other programs on the computer hardly lengthen it: most of it is waiting.
func medianSpan(calls []sim.Call) time.Duration {
	first, last := map[string]time.Time{}, map[string]time.Time{}
	for _, c := range calls {
		if strings.HasPrefix(c.Route, http.MethodGet+" ") {
			continue
		}
		for _, id := range machinesOf(c) {
			if _, met := first[id]; !met {
				first[id] = c.At
			}
			last[id] = c.At.Add(c.Took)
		}
	}
	var spans []time.Duration
	for id := range first {
		spans = append(spans, last[id].Sub(first[id]))
	}
	if len(spans) == 0 {
		return 0
	}
	slices.Sort(spans)
	return spans[len(spans)/2]
}

// machinesOf are the system ids of the machines that a call is about.
func machinesOf(c sim.Call) []string {
	_, below, ok := strings.Cut(c.Path, "/machines/")
	if !ok {
		return nil
	}
	if id, _, _ := strings.Cut(below, "/"); id != "" {
		return []string{id}
	}
	return c.Query["id"]
}
