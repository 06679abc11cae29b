package machines

import (
	"cmp"
	"fmt"
	"math"
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

var eventLevels = []string{"AUDIT", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"}

// maxEvents is the limit of a limit (api/events.py).
const maxEvents = 1000

// queryEvents lists events of the machines that the caller sees, newest first.
func queryEvents(c *request.Call) rest.Reply {
	q := c.Query
	limit, err := strconv.Atoi(cmp.Or(q.Get("limit"), "100"))
	switch level := cmp.Or(q.Get("level"), "INFO"); {
	case err != nil || limit < 0:
		return rest.BadText(fmt.Sprintf("invalid literal for int() with base 10: '%s'", q.Get("limit")))
	case limit > maxEvents:
		return rest.BadText(fmt.Sprintf("Requested number of events %d is greater than limit: %d", limit, maxEvents))
	case !slices.Contains(eventLevels, level):
		return rest.BadText(fmt.Sprintf("Unrecognised log level: %s", level))
	}
	found := eventsWanted(c, limit)
	views := []rest.Object{}
	for _, e := range found {
		views = append(views, viewEvent(e))
	}
	return rest.OK(rest.Object{"count": len(views), "events": views, "next_uri": eventsURI(q, "after", found, 0), "prev_uri": eventsURI(q, "before", found, len(found)-1)})
}

func eventsWanted(c *request.Call, limit int) (found []*world.Event) {
	after, before := readBound(c, "after", 0), readBound(c, "before", math.MaxInt32)
	for _, e := range slices.Backward(c.World.Events) {
		if len(found) < limit && e.ID > after && e.ID < before && c.MayView(e.Machine) && eventMatches(e, c.Query) {
			found = append(found, e)
		}
	}
	return found
}

func readBound(c *request.Call, name string, missing int) int {
	n, err := strconv.Atoi(c.Query.Get(name))
	if err != nil {
		return missing
	}
	return n
}

func eventMatches(e *world.Event, q url.Values) bool {
	for name, have := range map[string]string{
		"hostname": e.Machine.Hostname, "id": e.Machine.SystemID, "domain": e.Machine.Domain.Name,
		"zone": e.Machine.Zone.Name, "agent_name": e.Machine.AgentName,
	} {
		if len(q[name]) > 0 && !slices.Contains(q[name], have) {
			return false
		}
	}
	return slices.Index(eventLevels, e.Level) >= slices.Index(eventLevels, cmp.Or(q.Get("level"), "INFO"))
}

func viewEvent(e *world.Event) rest.Object {
	return rest.Object{
		"id": e.ID, "node": e.Machine.SystemID, "hostname": e.Machine.Hostname, "username": "unknown",
		"level": e.Level, "created": e.Created.UTC().Format("Mon, 02 Jan. 2006 15:04:05"),
		"type": e.Kind, "description": e.Text,
	}
}

// eventsURI is the address of the next or the previous page.
func eventsURI(q url.Values, name string, found []*world.Event, i int) string {
	id := 0
	if len(found) > 0 {
		id = found[i].ID
	}
	parts := []string{"op=query"}
	for _, key := range []string{"hostname", "id", "zone", "domain", "agent_name", "limit", "level"} {
		for _, value := range q[key] {
			parts = append(parts, key+"="+url.QueryEscape(value))
		}
	}
	return fmt.Sprintf("%sevents/?%s&%s=%d", rest.APIRoot, strings.Join(parts, "&"), name, id)
}
