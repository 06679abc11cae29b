package machines

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

var eventRoutes = []request.Route{
	{Method: http.MethodGet, Path: "events/", Op: "query", Handle: queryEvents},
}

// maxEvents is the maximum of the parameter limit (api/events.py).
const maxEvents = 1000

// eventQuery is the part of the event log that a call asks for.
type eventQuery struct {
	limit         int
	after, before *int
	level         string
}

// queryEvents lists events of the machines that the caller may see, newest first.
func queryEvents(c *request.Call) rest.Reply {
	q, bad := readEventQuery(c.Query)
	if bad != nil {
		return *bad
	}
	found := findEvents(c, q)
	views := []rest.Object{}
	for _, e := range found {
		views = append(views, viewEvent(e))
	}
	return rest.OKReply(rest.Object{
		"count": len(views), "events": views,
		"next_uri": nextPage(c.Query, q, found), "prev_uri": previousPage(c.Query, q, found),
	})
}

// readEventQuery reads the parameters in MAAS's order (api/events.py, query).
func readEventQuery(query url.Values) (q eventQuery, bad *rest.Reply) {
	refuse := func(text string) (eventQuery, *rest.Reply) {
		rep := rest.BadTextReply(text)
		return q, &rep
	}
	limit := 100
	for _, number := range []struct {
		name string
		to   **int
	}{{"after", &q.after}, {"before", &q.before}, {"limit", nil}} {
		text := query.Get(number.name)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(strings.TrimSpace(text))
		switch {
		case err != nil:
			return refuse("Invalid " + number.name + ": Please enter an integer value")
		case number.to == nil:
			limit = n
		default:
			*number.to = &n
		}
	}
	q.limit, q.level = max(limit, 1), cmp.Or(query.Get("level"), "INFO")
	for _, mac := range query["mac_address"] {
		if _, err := net.ParseMAC(mac); err != nil {
			return refuse("Invalid MAC address(es): " + mac)
		}
	}
	switch {
	case limit > maxEvents:
		return refuse(fmt.Sprintf("Requested number of events %d is greater than limit: %d", limit, maxEvents))
	case !slices.Contains(world.EventLevels, q.level):
		return refuse("Unrecognised log level: " + q.level)
	case q.after != nil && q.before != nil:
		return refuse("There is undetermined behaviour when both `after` and `before` are specified.")
	}
	return q, nil
}

// findEvents are the events of a page, newest first. Without an id they are the newest
// ones; after an id they are those that follow it.
func findEvents(c *request.Call, q eventQuery) (found []*world.Event) {
	for _, m := range c.World.Machines {
		if !c.CanView(m) || !matchesEventFilters(m, c.Query) {
			continue
		}
		for _, e := range m.Events {
			if matchesEventQuery(e, c.Query, q) {
				found = append(found, e)
			}
		}
	}
	slices.SortFunc(found, func(a, b *world.Event) int { return cmp.Compare(b.ID, a.ID) })
	switch {
	case len(found) <= q.limit:
		return found
	case q.after != nil:
		return found[len(found)-q.limit:]
	}
	return found[:q.limit]
}

// matchesEventQuery tells whether the event belongs to the page. The level AUDIT is not a
// lower bound: it selects only audit events.
func matchesEventQuery(e *world.Event, query url.Values, q eventQuery) bool {
	switch {
	case q.after != nil && e.ID <= *q.after, q.before != nil && e.ID >= *q.before:
		return false
	case query.Has("owner") && e.Username != query.Get("owner"):
		return false
	case q.level == world.EventLevels[0]:
		return e.Level == q.level
	}
	return e.IsAtLeast(q.level)
}

// matchesEventFilters compares a machine with the filters of a list of events
// (api/nodes.py, filtered_nodes_list_from_request).
func matchesEventFilters(m *world.Machine, query url.Values) bool {
	for name, have := range map[string]string{"hostname": m.Hostname, "id": m.SystemID, "domain": m.Domain.Name} {
		if len(query[name]) > 0 && !slices.Contains(query[name], have) {
			return false
		}
	}
	for name, have := range map[string]string{"zone": m.Zone.Name, "pool": m.Pool.Name, "agent_name": m.AgentName} {
		if query.Has(name) && rest.LastValue(query[name]) != have {
			return false
		}
	}
	return !query.Has("mac_address") || slices.ContainsFunc(m.NICs, func(n *world.NIC) bool {
		return slices.Contains(query["mac_address"], n.MAC)
	})
}

func viewEvent(e *world.Event) rest.Object {
	return rest.Object{
		"id": e.ID, "node": e.Machine.SystemID, "hostname": e.Machine.Hostname, "username": cmp.Or(e.Username, "unknown"),
		"level": e.Level, "created": e.Created.UTC().Format("Mon, 02 Jan. 2006 15:04:05"),
		"type": e.Kind, "description": e.Text,
	}
}

// nextPage is the address of the page with newer events, which may still be empty.
func nextPage(query url.Values, q eventQuery, found []*world.Event) string {
	switch {
	case len(found) > 0:
		return eventsURI(query, "after", found[0].ID)
	case q.before != nil:
		return eventsURI(query, "after", *q.before-1)
	}
	return eventsURI(query, "", 0)
}

// previousPage is the address of the page with older events, or null.
func previousPage(query url.Values, q eventQuery, found []*world.Event) any {
	switch {
	case len(found) > 0:
		return eventsURI(query, "before", found[len(found)-1].ID)
	case q.after != nil:
		return eventsURI(query, "before", *q.after+1)
	}
	return nil
}

// eventParameters are the parameters that are kept from page to page.
var eventParameters = []string{"hostname", "mac_address", "id", "domain", "zone", "agent_name", "owner", "limit", "level"}

// eventsURI is the address of another page.
func eventsURI(query url.Values, name string, id int) string {
	parts := []string{"op=query"}
	for _, key := range eventParameters {
		for _, value := range query[key] {
			parts = append(parts, key+"="+url.QueryEscape(value))
		}
	}
	if name != "" {
		parts = append(parts, name+"="+strconv.Itoa(id))
	}
	return rest.APIRoot + "events/?" + strings.Join(parts, "&")
}
