package report

import "github.com/maaslxd/maaslxd/acctest/maassim/sim"

// Reads of machines are listed among the routes by what they ask for.
const (
	PollRoute  = "GET machines/ ?id=…"
	NamesRoute = "GET machines/ ?hostname=…"
	AgentRoute = "GET machines/ ?agent_name=…"
	PodRoute   = "GET machines/ ?pod=…"
)

// Route is the line on which a call is counted.
func Route(c sim.Call) string {
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
