package maas

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
)

// TestCallsAreTold: OnCall receives each attempt, and never an id.
func TestCallsAreTold(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var told []api.Call
	f := newRouteFake(map[string]func() *http.Response{
		"GET zones/": jsonReply([]wireNamed{{Name: "az1"}}),
	})
	c := testClient(t, f, func(c *Config) {
		c.OnCall = func(call api.Call) {
			mu.Lock()
			defer mu.Unlock()
			call.Took = 0
			told = append(told, call)
		}
	})
	if _, err := c.Names.Zones(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Machines.Deploy(t.Context(), "abc123", engine.Deployment{Image: "ubuntu/noble"}); err == nil {
		t.Fatal("the machine is not there, and was deployed")
	}
	want := []api.Call{
		{Method: "GET", Route: "zones/", Status: 200},
		{Method: "POST", Route: "machines/{id}/?op=deploy", Status: 404},
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if slices.ContainsFunc(told, func(c api.Call) bool { return strings.Contains(c.Route, "abc123") }) {
		t.Error("a route has an id in it")
	}
}
