package maas

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
)

func TestMachineFilterQuery(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		filter engine.MachineFilter
		query  string
	}{
		"All":   {"The zero filter matches all; its status is no wish for New.", engine.MachineFilter{}, "machines/"},
		"Ready": {"Statuses by their name.", engine.MachineFilter{Status: engine.StatusReady}, "machines/?status=ready"},
		"Last":  {"The last of them.", engine.MachineFilter{Status: engine.StatusFailedTesting}, "machines/?status=failed_testing"},
		"Every": {"All at once.", engine.MachineFilter{Status: engine.StatusFailedDiskErasing, Zone: "az 1", Pool: "p", Agent: "fleet", Tags: []string{"b", "a"}, Hosts: []string{"h2", "h1", "h2"}},
			"machines/?agent_name=fleet&pod=h1&pod=h2&pool=p&status=failed_disk_erasing&tags=b&tags=a&zone=az+1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newConstantFake(200, "application/json", `[{"system_id":"abc123"}]`)
			got, err := testClient(t, f).Machines.MachinesWhere(t.Context(), tc.filter)
			if err != nil || len(got) != 1 || got[0].SystemID != "abc123" {
				t.Errorf("%s: got %v, %v", tc.reason, got, err)
			}
			if diff := cmp.Diff([]string{"GET " + tc.query}, f.routes()); diff != "" {
				t.Errorf("%s: requests (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestFilterErrors(t *testing.T) {
	t.Parallel()
	const form = "application/json; charset=utf-8"
	cases := map[string]struct {
		reason string
		filter engine.MachineFilter
		answer *fakeTransport
		calls  int
		want   string
	}{
		"UnknownTag":  {"What has no such tag is nothing.", engine.MachineFilter{Tags: []string{"x"}}, newConstantFake(400, form, `{"tags":["No such tag(s): 'x'."]}`), 1, ""},
		"UnknownPool": {"Nor what has no such pool.", engine.MachineFilter{Pool: "x"}, newConstantFake(400, form, `{"pool":["No such pool."],"tags":["x"]}`), 1, ""},
		"OtherField":  {"A refused status is a fault.", engine.MachineFilter{Tags: []string{"x"}, Status: 4}, newConstantFake(400, form, `{"tags":["x"],"status":["y"]}`), 1, "ErrInvalid"},
		"Text":        {"No form, no finding.", engine.MachineFilter{Tags: []string{"x"}}, newConstantFake(400, "text/plain", `Unrecognised signature`), 1, "ErrInvalid"},
		"NoAPI":       {"A 404 of a collection speaks of the address.", engine.MachineFilter{}, newConstantFake(404, "text/plain", "Unknown API endpoint"), 1, "ErrUnavailable"},
		"NoStatus":    {"A status that MAAS does not have is not sent.", engine.MachineFilter{Status: 23}, newConstantFake(200, form, "[]"), 0, "ErrInvalid"},
		"BelowZero":   {"Nor is this.", engine.MachineFilter{Status: -1}, newConstantFake(200, form, "[]"), 0, "ErrInvalid"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := testClient(t, tc.answer).Machines.MachinesWhere(t.Context(), tc.filter)
			if errorKinds(err) != tc.want || (err == nil) != (tc.want == "") || len(got) != 0 || len(tc.answer.requests()) != tc.calls {
				t.Errorf("%s: got %v, %v after %v", tc.reason, got, err, tc.answer.routes())
			}
		})
	}
}

// TestManyHosts asks for more VM hosts than fit into one URL. MAAS shows one machine twice.
func TestManyHosts(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		hosts  int
		name   string // of a host, with its number
		most   int    // hosts in one request
	}{
		"Short": {"The answers stay small.", 50, "h%03d", maxHostsPerQuery},
		"Long":  {"The URLs stay short.", 50, strings.Repeat("h", 250) + "%03d", 14},
		"Wide":  {"What is escaped takes three times the room.", 30, strings.Repeat("ü", 120) + "%03d", 5},
		"Huge":  {"A name that fills a request is asked for alone.", 3, strings.Repeat("h", 2*maxQueryBytes) + "%03d", 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := map[string]int{}
			f := &fakeTransport{answer: func(r *http.Request, s sentRequest) (*http.Response, error) {
				pods := s.Query["pod"]
				if len(pods) > tc.most || len(pods) > 1 && len(r.URL.String()) > 4096 || s.Query.Get("zone") != "az1" {
					t.Errorf("%s: %d hosts in a URL of %d bytes", tc.reason, len(pods), len(r.URL.String()))
				}
				machines := []map[string]string{{"system_id": "same"}}
				for _, pod := range pods {
					asked[pod]++
					machines = append(machines, map[string]string{"system_id": "of-" + pod})
				}
				return replyJSON(machines), nil
			}}
			filter := engine.MachineFilter{Zone: "az1"}
			for i := range tc.hosts {
				filter.Hosts = append(filter.Hosts, fmt.Sprintf(tc.name, i))
			}
			got, err := testClient(t, f).Machines.MachinesWhere(t.Context(), filter)
			if err != nil || len(got) != tc.hosts+1 || len(asked) != tc.hosts {
				t.Errorf("%s: %d machines of %d hosts, %v", tc.reason, len(got), len(asked), err)
			}
			if want := (tc.hosts + tc.most - 1) / tc.most; len(f.requests()) != want {
				t.Errorf("%s: %d requests, want %d", tc.reason, len(f.requests()), want)
			}
		})
	}
}

func TestEachListingIsNew(t *testing.T) {
	t.Parallel()
	f := newConstantFake(200, "application/json", "[]")
	c := testClient(t, f)
	for range 2 {
		if _, err := c.Machines.MachinesWhere(t.Context(), engine.MachineFilter{Agent: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if len(f.requests()) != 2 {
		t.Errorf("%d requests for two listings", len(f.requests()))
	}
}

func TestOneBadPartSpoilsAll(t *testing.T) {
	t.Parallel()
	calls := 0
	f := &fakeTransport{answer: func(*http.Request, sentRequest) (*http.Response, error) {
		if calls++; calls > 1 {
			return reply(403, "text/plain", "no"), nil
		}
		return reply(200, "application/json", `[{"system_id":"abc123"}]`), nil
	}}
	var hosts []string
	for i := range maxHostsPerQuery + 1 {
		hosts = append(hosts, fmt.Sprint("h", i))
	}
	if got, err := testClient(t, f).Machines.MachinesWhere(t.Context(), engine.MachineFilter{Hosts: hosts}); errorKinds(err) != "ErrForbidden" || got != nil {
		t.Errorf("got %v, %v: half a list is none", got, err)
	}
}
