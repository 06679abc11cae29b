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

// measurement is what one command of one side used.
type measurement struct {
	Calls         int
	Polls         int            // calls that read machines by their ids, shared by all that wait for one
	Shared        int            // calls that can serve several VMs: polls and lists; see isShared
	Refreshes     int            // calls that let MAAS look at an LXD
	Failed        []string       // calls that were not answered with 2xx: "409 POST machines/{id}/ deploy"
	Routes        map[string]int // calls by route; polls have routes of their own
	Objects       int            // machine objects in all answers
	Looks         int            // machine objects in answers to reads of machines
	AllowedLooks  int            // the most such objects that keep the pace; see allowedLooks
	Connections   int
	Wall          time.Duration
	Ideal         time.Duration   // the time that MAAS itself needs; zero: there is nothing to compare with
	Span          time.Duration   // median of the machines: from the first write to the last one
	IdealSpan     time.Duration   // the time that MAAS itself needs for one; zero: there is nothing to compare with
	OthersShare   float64         // the share of the CPUs that others used; zero, too, where it is unknown
	Boots         []time.Duration // durations of the hosts' first boots, the shortest first, where they differ
	Usage         usage
	OverFramework *frameworkRatio // compared with the framework alone; nil: not measured
}

// regionTag is the tag by which our provider recognises a MAAS.
const regionTag = "maaslxd-region"

// refreshRoute is the call that lets MAAS look at an LXD.
const refreshRoute = "POST vm-hosts/{id}/ refresh"

// isPoll reports whether a call is a shared poll: one read of machines by their
// ids.
func isPoll(c sim.Call) bool {
	return report.RouteOf(c) == report.PollRoute
}

// isShared reports whether a read can serve several VMs or hosts. Such are
// reads of machines by ids, names or VM hosts, and lists of hosts, zones, pools
// or images. A provider that repeats them for each VM chooses to, and the calls
// for each VM show it.
//
// A read of the machines of one agent serves one thing only. Machines do not
// show their agents, so nobody could tell several answers apart.
func isShared(c sim.Call) bool {
	if c.Route == "POST tags/" && slices.Contains(c.Form["name"], regionTag) {
		return true // made once for everything in a MAAS
	}
	return strings.HasPrefix(c.Route, http.MethodGet+" ") && !strings.Contains(c.Route, "{") && !isAgentRead(c)
}

// isAgentRead reports whether a call looks for the machines allocated to one
// agent.
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

// minReadInterval is the time between two looks at a machine that is in
// transition.
const minReadInterval = 5 * time.Second

// allowedLooks is how many machine objects the looks at machines may return.
// For each machine this is one when it is first seen, and one for each interval
// until the last call about it.
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

// medianSpan is the time from the first write to the last one about a machine,
// as the median of all machines. Terraform's own time is not in it. Other
// programs on the computer hardly lengthen it, because most of it is waiting.
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

// machinesOf returns the system ids of the machines that a call is about.
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
