package report

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// The routes of reads of machines, by what the reads ask for.
const (
	PollRoute  = "GET machines/ ?id=…"
	NamesRoute = "GET machines/ ?hostname=…"
	AgentRoute = "GET machines/ ?agent_name=…"
	PodRoute   = "GET machines/ ?pod=…"
)

// RouteOf is the route under which a call is counted.
func RouteOf(c sim.Call) string {
	if c.Route != "GET machines/" {
		return c.Route
	}
	for _, read := range []struct{ parameter, route string }{
		{"id", PollRoute}, {"hostname", NamesRoute}, {"agent_name", AgentRoute}, {"pod", PodRoute},
	} {
		if len(c.Query[read.parameter]) > 0 {
			return read.route
		}
	}
	return c.Route
}

// AddRoutes adds a row for each route, the busiest first. Each row has the
// number of calls in each column.
func (g *Grid) AddRoutes(columns []map[string]int) {
	calls := map[string]int{}
	for _, c := range columns {
		for route, n := range c {
			calls[route] += n
		}
	}
	busiest := func(a, b string) int { return cmp.Or(cmp.Compare(calls[b], calls[a]), cmp.Compare(a, b)) }
	for _, route := range slices.SortedFunc(maps.Keys(calls), busiest) {
		row := []string{route}
		for _, c := range columns {
			row = append(row, formatCount(c[route]))
		}
		g.Rows = append(g.Rows, row)
	}
}

func formatCount(n int) string {
	if n == 0 {
		return NoValue
	}
	return strconv.Itoa(n)
}
