package sim_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// steer sends a steering request to the in-memory simulator.
func (c *caller) steer(method, path, body string) outcome {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, "http://maas.test/_sim/"+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	return c.send(r)
}

// TestSteering goes through what can be done over HTTP, good and bad.
func TestSteering(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, method, path, body string
		status                     int
		text                       string
	}{
		"Help":         {"It lists itself.", "GET", "", "", 200, `"POST /_sim/faults"`},
		"Access":       {"A test needs the keys.", "GET", "access", "", 200, sim.DefaultUserKey},
		"Finish":       {"Now.", "POST", "machines/x/finish", "", 204, ""},
		"Fail":         {"Now.", "POST", "machines/x/fail", `{"message": "m"}`, 204, ""},
		"FailIdle":     {"Nothing is under way.", "POST", "machines/h1/fail", `{"message": "m"}`, 400, "nothing is under way"},
		"NoMachine":    {"A name that is wrong is said.", "POST", "machines/no/finish", "", 400, `no machine \"no\"`},
		"Edit":         {"By name.", "PATCH", "machines/x", `{"zone": "default", "status_name": "Broken", "tags": ["a"]}`, 204, ""},
		"EditWrong":    {"Zones exist or not.", "PATCH", "machines/x", `{"zone": "no"}`, 400, `no zone \"no\"`},
		"EditUnknown":  {"A field that is not known is a slip.", "PATCH", "machines/x", `{"zzz": 1}`, 400, "zzz"},
		"Delete":       {"As the UI would.", "DELETE", "machines/x", "", 204, ""},
		"UserData":     {"None yet.", "GET", "machines/x/user-data", "", 200, `{"user_data":""}`},
		"Add":          {"In the host's project.", "POST", "instances", `{"host": "h1", "name": "y"}`, 204, ""},
		"AddTwice":     {"LXD has it.", "POST", "instances", `{"host": "h1", "name": "x"}`, 400, "it exists"},
		"Remove":       {"Behind MAAS's back.", "DELETE", "instances/h1/x", "", 204, ""},
		"RemoveIn":     {"From a project.", "DELETE", "instances/h1/default/x", "", 204, ""},
		"RemoveAbsent": {"It is not there.", "DELETE", "instances/h1/no", "", 400, "no instance"},
		"Refresh":      {"The button.", "POST", "hosts/h1/refresh", "", 204, ""},
		"LXD":          {"A condition that there is.", "PUT", "lxd/h1", `{"condition": "slow"}`, 204, ""},
		"LXDWrong":     {"And one that there is not.", "PUT", "lxd/h1", `{"condition": "tired"}`, 400, "none of ok, unreachable, slow, hanging"},
		"Rack":         {"It has two.", "PUT", "rack", `{"condition": "hanging"}`, 400, "neither ok nor unreachable"},
		"Trust":        {"As lxc config trust add.", "POST", "lxd/h1/trust", `{"certificate": "PEM"}`, 204, ""},
		"Fault":        {"It gets an id.", "POST", "faults", `{"kind": "hang", "delay": "1s"}`, 200, `{"id":1}`},
		"FaultKind":    {"A kind that is none.", "POST", "faults", `{"kind": "boom"}`, 400, "none of status, hang"},
		"FaultStatus":  {"A status without a number.", "POST", "faults", `{"kind": "status"}`, 400, "0 is no status"},
		"Journal":      {"What was called.", "GET", "journal", "", 200, `"route":"POST vm-hosts/{id}/ compose"`},
		"Method":       {"Not here.", "DELETE", "rack", "", 405, "no DELETE here"},
		"Path":         {"Nowhere.", "GET", "nothing", "", 404, "see GET /_sim/"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := world(t, oneHost())
			c.compose("hostname=x")
			out := c.steer(tc.method, tc.path, tc.body)
			wantStatus(t, out, tc.status, tc.text)
			if out.text != "" && !json.Valid([]byte(out.text)) {
				t.Errorf("%s no JSON: %s", tc.reason, out.text)
			}
		})
	}
}

// TestOperator changes things behind the client's back.
func TestOperator(t *testing.T) {
	t.Parallel()
	m := oneHost()
	m.Zones = []string{"az1"}
	c := world(t, m)
	id := c.ready("x")
	name, zone, off := "renamed", "az1", "off"
	if err := c.sim.EditMachine("x", sim.MachineEdit{Hostname: &name, Zone: &zone, PowerState: &off, Tags: &[]string{"new"}}); err != nil {
		t.Fatal(err)
	}
	v := c.machine(id)
	if diff := cmp.Diff([]any{"renamed", "az1", "off", []any{"new"}}, []any{v["hostname"], v["zone"].(map[string]any)["name"], v["power_state"], v["tag_names"]}); diff != "" {
		t.Errorf("after the edit (-want +got):\n%s", diff)
	}
	if got := c.must("GET", "machines/"+id+"/?op=power_parameters")["instance_name"]; got != "x" {
		t.Errorf("a rename does not touch the instance, got %v", got)
	}
	if err := c.sim.DeleteMachine(id); err != nil {
		t.Fatal(err)
	}
	if len(c.sim.Instances()) != 0 {
		t.Errorf("left: %+v", c.sim.Instances())
	}
}

// TestConnections counts connections that call the API, not those that steer.
func TestConnections(t *testing.T) {
	t.Parallel()
	server := sim.Start(t, oneHost())
	client := &http.Transport{}
	t.Cleanup(client.CloseIdleConnections)
	c := &caller{t: t, sim: server.Sim, key: server.APIKey(), base: server.URL, via: client}
	for range 3 {
		c.must("GET", "vm-hosts/1/")
	}
	other := &http.Transport{DisableKeepAlives: true}
	r, err := http.NewRequestWithContext(t.Context(), "GET", strings.TrimSuffix(server.URL, "MAAS")+"_sim/journal", nil)
	if err != nil {
		t.Fatal(err)
	}
	steering := &caller{t: t, via: other}
	wantStatus(t, steering.send(r), 200, `"connections":1,`)
	server.ResetJournal()
	if got := server.Journal().Connections; got != 0 {
		t.Errorf("%d connections in an empty journal", got)
	}
	for range 2 {
		c.must("GET", "vm-hosts/1/")
	}
	if got := server.Journal().Connections; got != 1 {
		t.Errorf("%d connections, with one that is older than the journal", got)
	}
}

// TestCalls leaves the calls out of a journal that a script reads.
func TestCalls(t *testing.T) {
	t.Parallel()
	c := world(t, oneHost())
	c.must("GET", "vm-hosts/1/")
	if out := c.steer("GET", "journal?calls=0", ""); strings.Contains(out.text, `"calls":[`) || !strings.Contains(out.text, `"route":"GET vm-hosts/{id}/"`) {
		t.Errorf("got %s", out.text)
	}
	wantStatus(t, c.steer("GET", "journal?calls=1", ""), 200, `"calls":[{"route":"GET vm-hosts/{id}/"`)
	wantStatus(t, c.steer("GET", "journal?calls=some", ""), 400, "neither 0 nor 1")
}
