package sim_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// postSteering sends a request to the simulator's own API, in memory.
func (c *maasClient) postSteering(method, path, body string) outcome {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, "http://maas.test/_sim/"+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	return c.send(r)
}

// TestSteeringAPI makes valid and invalid requests to the simulator's own API, and checks
// their effects.
func TestSteeringAPI(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, method, path, body string
		status                     int
		text                       string
		look, want                 string // a GET, and a part of its answer; after a ! the answer must not have the part
	}{
		"Help":           {"The list contains its own operations.", "GET", "", "", 200, `"POST /_sim/faults"`, "", ""},
		"Access":         {"A test needs the keys.", "GET", "access", "", 200, sim.DefaultUserKey, "", ""},
		"Finish":         {"Now.", "POST", "machines/x/finish", "", 204, "", "machines", `"status":4,"status_name":"Ready"`},
		"Fail":           {"Now.", "POST", "machines/x/fail", `{"message": "no luck"}`, 204, "", "machines", `"status_name":"Failed commissioning","status_message":"Failed commissioning"`},
		"FailIdle":       {"The machine has no transition.", "POST", "machines/h1/fail", `{"message": "m"}`, 400, "nothing is under way", "machines", `"status_name":"Deployed"`},
		"NoMachine":      {"The error names an unknown machine.", "POST", "machines/no/finish", "", 400, `no machine \"no\"`, "", ""},
		"Settle":         {"All transitions end.", "POST", "settle", "", 204, "", "machines", `"status_name":"Ready"`},
		"Edit":           {"Zones and tags are given by name.", "PATCH", "machines/x", `{"zone": "az1", "tags": ["a"]}`, 204, "", "machines", `"zone":"az1","pool":"default","domain":"maas","tags":["a"]`},
		"EditName":       {"A rename.", "PATCH", "machines/x", `{"hostname": "z", "description": "d"}`, 204, "", "machines", `"hostname":"z"`},
		"EditStatus":     {"A new status ends the transition.", "PATCH", "machines/x", `{"status_name": "Broken"}`, 204, "", "/machines/?hostname=x", `"status_name":"Broken"`},
		"EditLock":       {"A lock forbids changes to the client.", "PATCH", "machines/x", `{"locked": true}`, 204, "", "/machines/?hostname=x", `"locked":true`},
		"EditOwnerData":  {"All owner data are replaced.", "PATCH", "machines/x", `{"owner_data": {"k": "v"}}`, 204, "", "/machines/?hostname=x", `"owner_data":{"k":"v"}`},
		"EditPower":      {"The power changes in LXD.", "PATCH", "machines/x", `{"power_state": "off"}`, 204, "", "instances", `"running":false`},
		"EditPowerShown": {"The power changes in MAAS, too.", "PATCH", "machines/x", `{"power_state": "off"}`, 204, "", "machines", `"power_state":"off"`},
		"EditPowerError": {"MAAS alone knows it.", "PATCH", "machines/x", `{"power_state": "error"}`, 204, "", "machines", `"power_state":"error"`},
		"EditPowerWrong": {"The power state does not exist.", "PATCH", "machines/x", `{"power_state": "ON"}`, 400, "is not one of on, off, unknown, error", "machines", `!"power_state":"ON"`},
		"EditWrong":      {"The zone must exist.", "PATCH", "machines/x", `{"zone": "no"}`, 400, `no zone \"no\"`, "machines", `!"zone":"no"`},
		"EditUnknown":    {"An unknown field is an error.", "PATCH", "machines/x", `{"zzz": 1}`, 400, "zzz", "", ""},
		"EditTwice":      {"One object a body.", "PATCH", "machines/x", `{"description": "d"} {}`, 400, "there is more text after it", "machines", `!"description":"d"`},
		"Delete":         {"As the UI would.", "DELETE", "machines/x", "", 204, "", "instances", `!"name":"x"`},
		"DeleteHost":     {"A VM host runs on it.", "DELETE", "machines/h1", "", 400, "h1 run on it", "machines", `"hostname":"h1"`},
		"UserData":       {"None yet.", "GET", "machines/x/user-data", "", 200, `{"user_data":""}`, "", ""},
		"Add":            {"The default project is the host's.", "POST", "instances", `{"host": "h1", "name": "y", "running": true}`, 204, "", "instances", `"host":"h1","project":"default","name":"y","cores":1,"memory_mib":2048,"running":true`},
		"AddMACs":        {"A new VM has only one NIC.", "POST", "instances", `{"host": "h1", "name": "y", "macs": ["00:16:3e:00:00:01", "00:16:3e:00:00:02"]}`, 400, "it has 1 NICs, but macs has 2", "instances", `!"name":"y"`},
		"AddMAC":         {"MAAS recognises the VM by its MAC.", "POST", "instances", `{"host": "h1", "name": "y", "macs": ["00:16:3E:00:00:01"]}`, 204, "", "instances", `"macs":["00:16:3e:00:00:01"]`},
		"AddNegative":    {"A VM needs a positive number of cores.", "POST", "instances", `{"host": "h1", "name": "y", "cores": -1}`, 400, "must be positive", "instances", `!"name":"y"`},
		"AddTwice":       {"LXD has it.", "POST", "instances", `{"host": "h1", "name": "x"}`, 400, "it exists", "", ""},
		"Stop":           {"The VM stops only in LXD.", "PATCH", "instances/h1/x", `{"running": false}`, 204, "", "instances", `"running":false`},
		"StopIn":         {"The path may name the project.", "PATCH", "instances/h1/default/x", `{"running": false}`, 204, "", "instances", `"running":false`},
		"StopNothing":    {"The request must have a value.", "PATCH", "instances/h1/x", `{}`, 400, "want true or false", "instances", `"running":true`},
		"Remove":         {"Behind MAAS's back.", "DELETE", "instances/h1/x", "", 204, "", "instances", `!"name":"x"`},
		"RemoveUnseen":   {"MAAS does not know.", "DELETE", "instances/h1/x", "", 204, "", "machines", `"hostname":"x"`},
		"RemoveIn":       {"The path may name the project.", "DELETE", "instances/h1/default/x", "", 204, "", "instances", `!"name":"x"`},
		"RemoveAbsent":   {"The instance does not exist.", "DELETE", "instances/h1/no", "", 400, "no instance", "instances", `"name":"x"`},
		"Refresh":        {"The button adopts.", "POST", "hosts/h1/refresh", "", 204, "", "machines", `"hostname":"ghost"`},
		"LXDs":           {"The answer lists the listening LXDs.", "GET", "lxd", "", 200, `"name":"h1","address":"10.200.0.2:8443","version":"5.21.3","condition":"ok"`, "", ""},
		"LXDDown":        {"The list shows the condition.", "PUT", "lxd/h1", `{"condition": "unreachable"}`, 204, "", "lxd", `"condition":"unreachable"`},
		"FirstBootVM":    {"A VM is a machine as others.", "PUT", "machines/x/first-boot", `{"outcome": "never"}`, 204, "", "", ""},
		"FirstBootWrong": {"An empty outcome is an error.", "PUT", "machines/x/first-boot", `{"outcome": ""}`, 400, "is not one of ok, fails, never", "", ""},
		"FirstBootNone":  {"The machine must exist.", "PUT", "machines/no/first-boot", `{"outcome": "ok"}`, 400, `no machine \"no\"`, "", ""},
		"Nasty":          {"New random faults count from now on.", "PUT", "nasty", `{"delay": 0.5, "max_delay": "1ms"}`, 204, "", "nasty", `{"nasty":{"delay":0.5,"max_delay":"1ms"},"struck":{}}`},
		"Overcommits":    {"No limit was exceeded so far.", "GET", "overcommits", "", 200, `[]`, "", ""},
		"LXDWrong":       {"The condition does not exist.", "PUT", "lxd/h1", `{"condition": "tired"}`, 400, "is not one of ok, unreachable, slow, hanging", "", ""},
		"Renew":          {"The LXD gets another certificate.", "POST", "lxd/h1/renew", "", 200, "BEGIN CERTIFICATE", "", ""},
		"RenewNone":      {"The LXD must exist.", "POST", "lxd/no/renew", "", 400, "no", "", ""},
		"Rack":           {"The rack controller becomes unreachable.", "PUT", "rack", `{"condition": "unreachable"}`, 204, "", "/rackcontrollers/", `"name":"rackd","status":"dead"`},
		"RackWrong":      {"A rack controller has only two conditions.", "PUT", "rack", `{"condition": "hanging"}`, 400, "neither ok nor unreachable", "/rackcontrollers/", `"name":"rackd","status":"running"`},
		"Fault":          {"It gets an id.", "POST", "faults", `{"kind": "hang", "delay": "1s"}`, 200, `{"id":1}`, "faults", `"kind":"hang","matched":0,"struck":0,"delay":"1s"`},
		"FaultStrikes":   {"And it counts.", "POST", "faults", `{"kind": "delay", "path": "zones/", "nth": 2}`, 200, `{"id":1}`, "/zones/ faults", `"matched":1,"struck":0`},
		"FaultKind":      {"The kind does not exist.", "POST", "faults", `{"kind": "boom"}`, 400, "is not one of status, hang", "faults", `[]`},
		"FaultStatus":    {"A status without a number.", "POST", "faults", `{"kind": "status"}`, 400, "0 is not the status", "faults", `[]`},
		"FaultUnknown":   {"A fault with a misspelled field would break every call.", "POST", "faults", `{"kind": "reset", "pth": "machines/"}`, 400, "pth", "faults", `[]`},
		"FaultNoID":      {"An id is a number.", "DELETE", "faults/x", "", 400, "is not the id of a fault", "", ""},
		"Journal":        {"The journal lists the calls.", "GET", "journal", "", 200, `"route":"POST vm-hosts/{id}/ compose"`, "", ""},
		"JournalEmptied": {"The journal is empty after a reset.", "DELETE", "journal", "", 204, "", "journal", `"routes":[],"calls":[]`},
		"Reset":          {"A reset restores the model.", "POST", "reset", "", 204, "", "machines", `!"hostname":"x"`},
		"ResetLXD":       {"The LXD's instances, too.", "POST", "reset", "", 204, "", "instances", `!"name":"x"`},
		"Method":         {"Not here.", "DELETE", "rack", "", 405, "no DELETE here", "", ""},
		"Path":           {"Nowhere.", "GET", "nothing", "", 404, "see GET /_sim/", "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := oneHost()
			m.Zones, m.Hosts[0].Instances = []string{"az1"}, []string{"ghost"}
			c := newMAASClient(t, m)
			c.compose("hostname=x")
			out := c.postSteering(tc.method, tc.path, tc.body)
			wantStatus(t, out, tc.status, tc.text)
			if out.text != "" && !json.Valid([]byte(out.text)) {
				t.Errorf("%s no JSON: %s", tc.reason, out.text)
			}
			c.wantAnswer(tc.look, tc.want, tc.reason)
		})
	}
}

// wantAnswer reads paths one after the other. A path with a slash in front is MAAS's. The
// last answer must have the text, or after a ! must not have it.
func (c *maasClient) wantAnswer(look, want, reason string) {
	c.t.Helper()
	var seen outcome
	for path := range strings.FieldsSeq(look) {
		if maas, isMAAS := strings.CutPrefix(path, "/"); isMAAS {
			seen = c.call("GET", maas)
		} else {
			seen = c.postSteering("GET", path, "")
		}
	}
	text, isAbsent := strings.CutPrefix(want, "!")
	if strings.Contains(seen.text, text) == isAbsent && look != "" {
		c.t.Errorf("%s GET %s: want %s, got %d %s", reason, look, want, seen.status, seen.text)
	}
}

// TestSteeringLasts checks effects that only a further call shows.
func TestSteeringLasts(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason             string
		steer              [][3]string
		method, path, form string
		status             int
		text               string
	}{
		"LXDUnreachable": {"MAAS cannot reach it.", [][3]string{{"PUT", "lxd/h1", `{"condition": "unreachable"}`}}, "POST", "vm-hosts/1/?op=refresh", "", 503, "Failed to connect"},
		"LXDBack":        {"MAAS can reach the LXD again.", [][3]string{{"PUT", "lxd/h1", `{"condition": "unreachable"}`}, {"PUT", "lxd/h1", `{"condition": "ok"}`}}, "POST", "vm-hosts/1/?op=refresh", "", 200, ""},
		"ResetLXD":       {"A reset makes it well.", [][3]string{{"PUT", "lxd/h1", `{"condition": "unreachable"}`}, {"POST", "reset", ""}}, "POST", "vm-hosts/1/?op=refresh", "", 200, ""},
		"ResetFaults":    {"A reset removes faults.", [][3]string{{"POST", "faults", `{"kind": "status", "status": 500}`}, {"POST", "reset", ""}}, "GET", "zones/", "", 200, ""},
		"Fault":          {"It strikes.", [][3]string{{"POST", "faults", `{"kind": "status", "status": 500}`}}, "GET", "zones/", "", 500, ""},
		"FaultRemoved":   {"The id selects the fault.", [][3]string{{"POST", "faults", `{"kind": "status", "status": 500}`}, {"DELETE", "faults/1", ""}}, "GET", "zones/", "", 200, ""},
		"FaultOther":     {"Removing another fault changes nothing.", [][3]string{{"POST", "faults", `{"kind": "status", "status": 500}`}, {"DELETE", "faults/2", ""}}, "GET", "zones/", "", 500, ""},
		"FaultsRemoved":  {"All faults are removed.", [][3]string{{"POST", "faults", `{"kind": "status", "status": 500}`}, {"DELETE", "faults", ""}}, "GET", "zones/", "", 200, ""},
		"Untrusted":      {"Without trust MAAS discovers nothing.", nil, "POST", "vm-hosts/", "name=new", 200, `"version":""`},
		"Trusted":        {"The certificate lets MAAS in.", [][3]string{{"POST", "lxd/h1/trust", "certificate"}}, "POST", "vm-hosts/", "name=new", 200, `"version":"5.21.3"`},
		"Broken":         {"Commissioning does not go on.", [][3]string{{"PATCH", "machines/x", `{"status_name": "broken"}`}, {"POST", "settle", ""}}, "GET", "machines/?hostname=x", "", 200, `"status_name":"Broken"`},
		"Locked":         {"Nobody may delete a locked machine.", [][3]string{{"PATCH", "machines/x", `{"locked": true}`}}, "DELETE", "machines/{x}/", "", 403, ""},
		"Stopped":        {"MAAS knows when it asks.", [][3]string{{"PATCH", "instances/h1/x", `{"running": false}`}}, "GET", "machines/{x}/?op=query_power_state", "", 200, `{"state":"off"}`},
		"Off":            {"A power action that was under way is over.", [][3]string{{"PATCH", "machines/x", `{"power_state": "off"}`}}, "GET", "machines/{x}/?op=query_power_state", "", 200, `{"state":"off"}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newMAASClient(t, oneHost())
			id := c.compose("hostname=x")
			mine := newClientPair(t)
			trust, err := json.Marshal(map[string]string{"certificate": mine.certificate})
			if err != nil {
				t.Fatal(err)
			}
			for _, op := range tc.steer {
				if op[2] == "certificate" {
					op[2] = string(trust)
				}
				if out := c.postSteering(op[0], op[1], op[2]); out.status > 299 {
					t.Fatalf("%v: %d %s", op, out.status, out.text)
				}
			}
			fields := []string{}
			if tc.form != "" {
				fields = []string{tc.form, "type=lxd", "power_address=https://10.200.0.2:8443", "certificate=" + mine.certificate, "key=" + mine.key}
			}
			wantStatus(t, c.call(tc.method, strings.Replace(tc.path, "{x}", id, 1), fields...), tc.status, tc.text)
		})
	}
}

// TestSettleDeletedMachine finishes operations of an LXD for a machine that is deleted.
func TestSettleDeletedMachine(t *testing.T) {
	t.Parallel()
	m := oneHost()
	m.Latency.PowerOn, m.Latency.Commission = time.Hour, time.Hour
	c := newMAASClient(t, m)
	c.composeReady("settled")
	id := c.compose("hostname=x")
	c.call("DELETE", "machines/"+id+"/")
	if got := c.sim.Instances()[1]; got.Running || got.MachineID != "" {
		t.Fatalf("the instance that starts: %+v", got)
	}
	c.sim.Settle()
	if got := c.sim.Instances()[1]; !got.Running {
		t.Errorf("it never started: %+v", got)
	}
}

// TestChangesByAnOperator changes objects behind the client's back.
func TestChangesByAnOperator(t *testing.T) {
	t.Parallel()
	m := oneHost()
	m.Zones = []string{"az1"}
	c := newMAASClient(t, m)
	id := c.composeReady("x")
	name, zone, off := "renamed", "az1", "off"
	if err := c.sim.EditMachine("x", sim.MachineEdit{Hostname: &name, Zone: &zone, PowerState: &off, Tags: &[]string{"new"}}); err != nil {
		t.Fatal(err)
	}
	v := c.readMachine(id)
	if diff := cmp.Diff([]any{"renamed", "az1", "off", []any{"new"}}, []any{v["hostname"], v["zone"].(map[string]any)["name"], v["power_state"], v["tag_names"]}); diff != "" {
		t.Errorf("after the edit (-want +got):\n%s", diff)
	}
	if got := c.mustCall("GET", "machines/"+id+"/?op=power_parameters")["instance_name"]; got != "x" {
		t.Errorf("a rename does not touch the instance, got %v", got)
	}
	if err := c.sim.DeleteMachine(id); err != nil {
		t.Fatal(err)
	}
	if len(c.sim.Instances()) != 0 {
		t.Errorf("left: %+v", c.sim.Instances())
	}
}

// TestCountConnections counts connections with API calls, and not those with only /_sim/.
func TestCountConnections(t *testing.T) {
	t.Parallel()
	server := sim.StartServer(t, oneHost())
	client := &http.Transport{}
	t.Cleanup(client.CloseIdleConnections)
	c := &maasClient{t: t, sim: server.Sim, key: server.APIKey(), base: server.URL, via: client}
	for range 3 {
		c.mustCall("GET", "vm-hosts/1/")
	}
	other := &http.Transport{DisableKeepAlives: true}
	r, err := http.NewRequestWithContext(t.Context(), "GET", strings.TrimSuffix(server.URL, "MAAS")+"_sim/journal", nil)
	if err != nil {
		t.Fatal(err)
	}
	steering := &maasClient{t: t, via: other}
	wantStatus(t, steering.send(r), 200, `"connections":1,`)
	server.ResetJournal()
	if got := server.Journal().Connections; got != 0 {
		t.Errorf("%d connections in an empty journal", got)
	}
	for range 2 {
		c.mustCall("GET", "vm-hosts/1/")
	}
	if got := server.Journal().Connections; got != 1 {
		t.Errorf("%d connections, with one that is older than the journal", got)
	}
}

// TestJournalWithoutCalls reads a journal without the single calls, as scripts do.
func TestJournalWithoutCalls(t *testing.T) {
	t.Parallel()
	c := newMAASClient(t, oneHost())
	c.mustCall("GET", "vm-hosts/1/")
	if out := c.postSteering("GET", "journal?calls=0", ""); strings.Contains(out.text, `"calls":[`) || !strings.Contains(out.text, `"route":"GET vm-hosts/{id}/"`) {
		t.Errorf("got %s", out.text)
	}
	wantStatus(t, c.postSteering("GET", "journal?calls=1", ""), 200, `"calls":[{"route":"GET vm-hosts/{id}/"`)
	wantStatus(t, c.postSteering("GET", "journal?calls=some", ""), 400, "neither 0 nor 1")
}

// TestRefreshWithoutRack: the UI's Refresh needs a rack controller, as the API's does.
func TestRefreshWithoutRack(t *testing.T) {
	t.Parallel()
	c := newMAASClient(t, oneHost())
	if err := c.sim.SetRackCondition(sim.ConditionUnreachable); err != nil {
		t.Fatal(err)
	}
	if err := c.sim.RefreshHost("h1"); err == nil || !strings.Contains(err.Error(), "no rack controller") {
		t.Errorf("got %v", err)
	}
}

// TestModelIsKept: a world does not change its caller's model.
func TestModelIsKept(t *testing.T) {
	t.Parallel()
	certificates := []string{"one", "untouched"}
	m := oneHost()
	m.Hosts[0].TrustedCertificates = certificates[:1]
	c := newMAASClient(t, m)
	if err := c.sim.TrustCertificate("h1", "two"); err != nil {
		t.Fatal(err)
	}
	if certificates[1] != "untouched" {
		t.Errorf("the caller's certificates are %q", certificates)
	}
}
