package sim

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

var eventRoutes = []route{
	{method: http.MethodGet, path: "events/", op: "query", handle: queryEvents},
}

var eventLevels = []string{"AUDIT", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"}

// maxEvents is the limit of a limit (api/events.py).
const maxEvents = 1000

// queryEvents lists events of the machines that the caller sees, newest first.
func queryEvents(c *call) reply {
	q := c.query
	limit, err := strconv.Atoi(or(q.Get("limit"), "100"))
	switch level := or(q.Get("level"), "INFO"); {
	case err != nil || limit < 0:
		return badText(fmt.Sprintf("invalid literal for int() with base 10: '%s'", q.Get("limit")))
	case limit > maxEvents:
		return badText(fmt.Sprintf("Requested number of events %d is greater than limit: %d", limit, maxEvents))
	case !slices.Contains(eventLevels, level):
		return badText(fmt.Sprintf("Unrecognised log level: %s", level))
	}
	found := c.events(limit)
	views := []object{}
	for _, e := range found {
		views = append(views, e.view())
	}
	return ok(object{"count": len(views), "events": views, "next_uri": eventsURI(q, "after", found, 0), "prev_uri": eventsURI(q, "before", found, len(found)-1)})
}

func (c *call) events(limit int) (found []*event) {
	after, before := c.bound("after", 0), c.bound("before", math.MaxInt32)
	for _, e := range slices.Backward(c.w.events) {
		if len(found) < limit && e.id > after && e.id < before && c.mayView(e.machine) && e.matches(c.query) {
			found = append(found, e)
		}
	}
	return found
}

func (c *call) bound(name string, missing int) int {
	n, err := strconv.Atoi(c.query.Get(name))
	if err != nil {
		return missing
	}
	return n
}

func (e *event) matches(q url.Values) bool {
	for name, have := range map[string]string{
		"hostname": e.machine.hostname, "id": e.machine.systemID, "domain": e.machine.domain.name,
		"zone": e.machine.zone.name, "agent_name": e.machine.agentName,
	} {
		if len(q[name]) > 0 && !slices.Contains(q[name], have) {
			return false
		}
	}
	return slices.Index(eventLevels, e.level) >= slices.Index(eventLevels, or(q.Get("level"), "INFO"))
}

func (e *event) view() object {
	return object{
		"id": e.id, "node": e.machine.systemID, "hostname": e.machine.hostname, "username": "unknown",
		"level": e.level, "created": e.created.UTC().Format("Mon, 02 Jan. 2006 15:04:05"),
		"type": e.kind, "description": e.text,
	}
}

// eventsURI is the address of the next or the previous page.
func eventsURI(q url.Values, name string, found []*event, i int) string {
	id := 0
	if len(found) > 0 {
		id = found[i].id
	}
	parts := []string{"op=query"}
	for _, key := range []string{"hostname", "id", "zone", "domain", "agent_name", "limit", "level"} {
		for _, value := range q[key] {
			parts = append(parts, key+"="+url.QueryEscape(value))
		}
	}
	return fmt.Sprintf("%sevents/?%s&%s=%d", apiRoot, strings.Join(parts, "&"), name, id)
}
