package sim_test

import (
	"encoding/base64"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestInstantStates: in a world without latencies, one read shows each state on the way.
func TestInstantStates(t *testing.T) {
	t.Parallel()
	c := newMAASClient(t, oneHost())
	var seen []string
	look := func(id string) {
		m := c.readMachine(id)
		seen = append(seen, fmt.Sprintf("%v %v", m["status_name"], m["power_state"]))
	}
	id := c.compose("hostname=x")
	look(id)
	look(id)
	c.mustCall("POST", "machines/"+id+"/?op=deploy", "distro_series=noble")
	look(id)
	look(id)
	c.mustCall("POST", "machines/"+id+"/?op=release")
	look(id)
	look(id)
	want := []string{"Commissioning off", "Ready on", "Deploying on", "Deployed on", "Releasing on", "Ready off"}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
}

// TestTimedStates follows a VM by the clock.
func TestTimedStates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := oneHost()
		m.Latency = sim.Latency{Compose: time.Second, Commission: 10 * time.Second, Deploy: 5 * time.Second, Release: 2 * time.Second, PowerOn: time.Second, PowerOff: time.Second}
		c := newMAASClient(t, m)
		start := time.Now()
		id := c.compose("hostname=x")
		var seen []string
		look := func(after time.Duration) {
			time.Sleep(after)
			v := c.readMachine(id)
			seen = append(seen, fmt.Sprintf("%v %v %v", time.Since(start), v["status_name"], v["power_state"]))
		}
		look(500 * time.Millisecond)
		look(time.Second)
		look(7 * time.Second)  // 9.5 s: the last fifth of commissioning is testing
		look(2 * time.Second)  // 11.5 s
		look(18 * time.Second) // 29.5 s: MAAS has not queried the power yet
		look(2 * time.Second)
		c.mustCall("POST", "machines/"+id+"/?op=deploy")
		look(500 * time.Millisecond)
		look(5 * time.Second)
		c.mustCall("POST", "machines/"+id+"/?op=release")
		look(500 * time.Millisecond)
		look(2 * time.Second)
		want := []string{
			"1.5s Commissioning off", "2.5s Commissioning on", "9.5s Testing on", "11.5s Ready on", "29.5s Ready on", "31.5s Ready off",
			"32s Deploying off", "37s Deployed on", "37.5s Releasing on", "39.5s Ready off",
		}
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
	})
}

// TestPowerInFlight checks MAAS's answers to a second power action while one is in flight.
func TestPowerInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := oneHost()
		m.Latency = sim.Latency{PowerOn: 2 * time.Second, PowerOff: 2 * time.Second, Deploy: time.Minute}
		c := newMAASClient(t, m)
		id := c.composeReady("x")
		c.mustCall("POST", "machines/"+id+"/?op=deploy")
		wantStatus(t, c.call("POST", "machines/"+id+"/?op=abort"), 503, "another action is already in progress for that node.")
		v := c.readMachine(id)
		if v["status_name"] != "Deploying" || v["status_message"] != "Aborted deployment" {
			t.Errorf("after the refused abort: %v, %v", v["status_name"], v["status_message"])
		}
		time.Sleep(3 * time.Second)
		if old := c.mustCall("POST", "machines/"+id+"/?op=abort"); old["status_name"] != "Deploying" {
			t.Errorf("abort answers with the old status, got %v", old["status_name"])
		}
		if v := c.readMachine(id); v["status_name"] != "Allocated" || v["power_state"] != "on" {
			t.Errorf("after the abort: %v %v", v["status_name"], v["power_state"])
		}
		c.mustCall("POST", "machines/"+id+"/?op=power_off")
		wantStatus(t, c.call("POST", "machines/"+id+"/?op=power_on"), 503, "Unable to change power state to 'cycle' for node x")
	})
}

// TestDeleteLeaks: some deletes answer 204 and leave the instance. The next refresh adopts
// it under another system id.
func TestDeleteLeaks(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		before func(*maasClient)
		after  func(*maasClient)
		settle bool
		leaks  []string
	}{
		"Settled":        {"The plain case.", func(*maasClient) {}, func(*maasClient) {}, true, []string{}},
		"LXDUnreachable": {"MAAS swallows the error.", lxdCondition(sim.ConditionUnreachable), lxdCondition(sim.ConditionOK), true, []string{"x"}},
		"LXDHangs":       {"MAAS gives up and swallows that.", lxdCondition(sim.ConditionHanging), lxdCondition(sim.ConditionOK), true, []string{"x"}},
		"RackDown":       {"No rack controller can delete it.", rackCondition(sim.ConditionUnreachable), rackCondition(sim.ConditionOK), true, []string{"x"}},
		"StartInFlight":  {"LXD refuses to delete what it starts.", func(*maasClient) {}, func(*maasClient) {}, false, []string{"x"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := oneHost()
				m.Latency.PowerOn = 2 * time.Second
				c := newMAASClient(t, m)
				id := c.compose("hostname=x")
				if tc.settle {
					c.sim.Settle()
				}
				tc.before(c)
				wantStatus(t, c.call("DELETE", "machines/"+id+"/"), 204, "")
				tc.after(c)
				if diff := cmp.Diff(tc.leaks, leakedInstances(c.sim)); diff != "" {
					t.Fatalf("%s\nleaks (-want +got):\n%s", tc.reason, diff)
				}
				wantStatus(t, c.call("DELETE", "machines/"+id+"/"), 404, "No Machine matches the given query.")
				time.Sleep(3 * time.Second)
				c.mustCall("POST", "vm-hosts/1/?op=refresh")
				if again := c.call("GET", "machines/?hostname=x").text; len(tc.leaks) > 0 == (again == "[]") {
					t.Errorf("%s After a refresh: %.80s", tc.reason, again)
				}
				wantStatus(t, c.call("GET", "machines/"+id+"/"), 404, "")
			})
		})
	}
}

func lxdCondition(condition sim.Condition) func(*maasClient) {
	return func(c *maasClient) {
		if err := c.sim.SetLXDCondition("h1", condition); err != nil {
			c.t.Fatal(err)
		}
	}
}

func rackCondition(condition sim.Condition) func(*maasClient) {
	return func(c *maasClient) {
		if err := c.sim.SetRackCondition(condition); err != nil {
			c.t.Fatal(err)
		}
	}
}

// TestReleaseEnds checks the status after a release.
func TestReleaseEnds(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		compose []string
		want    string
	}{
		"Commissioned":      {"It goes back to Ready.", nil, "Ready"},
		"NeverCommissioned": {"MAAS wants it commissioned before it is used again.", []string{"skip_commissioning=true"}, "New"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newMAASClient(t, oneHost())
			id := c.compose(tc.compose...)
			c.sim.Settle()
			c.mustCall("POST", "machines/"+id+"/?op=deploy")
			c.sim.Settle()
			c.mustCall("POST", "machines/"+id+"/?op=release")
			c.sim.Settle()
			if got := c.readMachine(id)["status_name"]; got != tc.want {
				t.Errorf("%s got %v", tc.reason, got)
			}
		})
	}
}

// TestWhatSurvives follows description, owner data, agent name and addresses through a
// lifecycle.
func TestWhatSurvives(t *testing.T) {
	t.Parallel()
	c := newMAASClient(t, oneHost())
	id := c.compose("hostname=x", "interfaces=eth0:ip=10.77.0.20")
	c.mustCall("PUT", "machines/"+id+"/", "description=mark")
	if got := c.readMachine(id)["ip_addresses"].([]any)[0]; got != "10.77.0.20" {
		t.Errorf("address while commissioning: %v", got)
	}
	c.sim.Settle()
	links := func() string {
		n := c.readMachine(id)["boot_interface"].(map[string]any)["links"].([]any)
		l := n[0].(map[string]any)
		return fmt.Sprintf("%d %v %v", len(n), l["mode"], l["ip_address"])
	}
	if got := links(); got != "1 auto <nil>" {
		t.Errorf("compose's ip= does not survive commissioning, got %s", got)
	}
	wantStatus(t, c.call("POST", "machines/"+id+"/?op=set_owner_data", "k=v"), 409, "it hasn't been acquired.")
	nic := fmt.Sprint(c.readMachine(id)["boot_interface"].(map[string]any)["id"])
	c.mustCall("POST", "nodes/"+id+"/interfaces/"+nic+"/?op=link_subnet", "mode=STATIC", "subnet=1", "ip_address=10.77.0.30", "force=true")
	c.mustCall("POST", "machines/?op=allocate", "system_id="+id, "agent_name=me")
	c.mustCall("POST", "machines/"+id+"/?op=set_owner_data", "k=v", "empty=")
	c.mustCall("POST", "machines/"+id+"/?op=deploy", "user_data="+base64.StdEncoding.EncodeToString([]byte("#cloud-config")))
	if data, err := c.sim.UserData(id); err != nil || string(data) != "#cloud-config" {
		t.Errorf("user-data: %q, %v", data, err)
	}
	c.sim.Settle()
	if got := c.readMachine(id)["owner_data"]; !cmp.Equal(got, any(map[string]any{"k": "v"})) {
		t.Errorf("owner data: %v", got)
	}
	if got := c.call("GET", "machines/?agent_name=me").text; got == "[]" {
		t.Error("agent_name finds nothing")
	}
	c.mustCall("POST", "machines/"+id+"/?op=release")
	c.sim.Settle()
	v := c.readMachine(id)
	if len(v["owner_data"].(map[string]any)) != 0 || v["description"] != "mark" || v["owner"] != nil {
		t.Errorf("after the release: owner data %v, description %v, owner %v", v["owner_data"], v["description"], v["owner"])
	}
	if got := links(); got != "1 static 10.77.0.30" {
		t.Errorf("a static link stays, got %s", got)
	}
}

// TestWrongState checks MAAS's messages about operations that a status does not allow.
func TestWrongState(t *testing.T) {
	t.Parallel()
	c := newMAASClient(t, oneHost())
	id := c.compose("hostname=x")
	for op, want := range map[string]struct {
		status int
		text   string
	}{
		"deploy":     {409, "Can't deploy a machine that is in the 'Commissioning' state"},
		"release":    {409, "Machine cannot be released in its current state ('Commissioning')."},
		"lock":       {409, "Can't lock, node is not deployed or deploying"},
		"unlock":     {409, "Machine is not locked"},
		"commission": {400, `{"__all__":["Commission is not available because of the current state of the node."]}`},
		"mark_fixed": {409, "Can't mark a non-broken node as 'Ready'."},
		"bogus":      {400, "Unrecognised signature: method=POST op=bogus"},

		"override_failed_testing": {409, "Unable to override node status. Node is not in 'Failed testing' status."},
	} {
		wantStatus(t, c.call("POST", "machines/"+id+"/?op="+op), want.status, want.text)
	}
	wantStatus(t, c.call("POST", "machines/?op=allocate", "system_id="+id), 409, "No machine with system ID "+id+" available.")
}

// TestMarkFixed makes a machine Ready that was never Ready before it was broken.
func TestMarkFixed(t *testing.T) {
	t.Parallel()
	c := newMAASClient(t, oneHost())
	id := c.compose("hostname=x")
	c.mustCall("POST", "machines/"+id+"/?op=mark_broken")
	c.mustCall("POST", "machines/"+id+"/?op=mark_fixed")
	if got := c.readMachine(id)["status_name"]; got != "Ready" {
		t.Errorf("a machine that was broken while Commissioning is %v, want Ready", got)
	}
}

// TestFailedTransitions makes transitions fail from outside.
func TestFailedTransitions(t *testing.T) {
	t.Parallel()
	c := newMAASClient(t, oneHost())
	id := c.compose("hostname=x")
	if err := c.sim.FailMachine("x", "no network"); err != nil {
		t.Fatal(err)
	}
	v := c.readMachine(id)
	if v["status_name"] != "Failed commissioning" || v["status_message"] != "Failed commissioning" || v["owner"] != "admin" {
		t.Errorf("got %v, %v, owner %v", v["status_name"], v["status_message"], v["owner"])
	}
	if err := c.sim.FailMachine("x", "again"); err == nil {
		t.Error("failing what is not under way is no error")
	}
	c.mustCall("POST", "machines/"+id+"/?op=commission")
	if err := c.sim.FinishMachine(id); err != nil {
		t.Fatal(err)
	}
	c.mustCall("POST", "machines/"+id+"/?op=deploy")
	if err := c.sim.FailMachine(id, "disk"); err != nil {
		t.Fatal(err)
	}
	if v := c.readMachine(id); v["status_name"] != "Failed deployment" || v["power_state"] != "on" || v["owner"] != "admin" {
		t.Errorf("got %v, power %v, owner %v", v["status_name"], v["power_state"], v["owner"])
	}
	wantStatus(t, c.call("POST", "machines/"+id+"/?op=release"), 200, "Releasing")
}

// TestVanishedInstance: somebody deletes an instance behind MAAS's back.
func TestVanishedInstance(t *testing.T) {
	t.Parallel()
	c := newMAASClient(t, oneHost())
	id := c.composeReady("x")
	if err := c.sim.RemoveInstance("h1", "", "x"); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, c.call("GET", "machines/"+id+"/?op=query_power_state"), 200, `{"state":"error"}`)
	wantStatus(t, c.call("GET", "machines/"+id+"/"), 200, "Ready")
	c.mustCall("POST", "vm-hosts/1/?op=refresh")
	wantStatus(t, c.call("GET", "machines/"+id+"/"), 404, "")
}

// TestRescueOfAllocated: an Allocated machine leaves rescue mode. MAAS leaves its power
// on, and takes that for a failure at the next query of the power. After it is switched
// off, it leaves rescue mode and has no owner any more.
func TestRescueOfAllocated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := oneHost()
		m.Latency = sim.Latency{Commission: time.Second, PowerOn: time.Second, PowerOff: time.Second}
		c := newMAASClient(t, m)
		id := c.compose("hostname=x")
		time.Sleep(time.Minute)
		var seen []string
		act := func(op string, after time.Duration) {
			if op != "" {
				c.mustCall("POST", "machines/"+id+"/?op="+op)
			}
			time.Sleep(after)
			v := c.readMachine(id)
			seen = append(seen, fmt.Sprintf("%v %v, owned %t", v["status_name"], v["power_state"], v["owner"] != nil && v["owner"] != ""))
		}
		c.mustCall("POST", "machines/?op=allocate", "system_id="+id)
		act("rescue_mode", 10*time.Second)
		act("exit_rescue_mode", 4*time.Minute)
		act("", 2*time.Minute)
		act("power_off", 10*time.Second)
		act("exit_rescue_mode", 6*time.Minute)
		want := []string{
			"Rescue mode on, owned true", "Exiting rescue mode on, owned true", "Failed to exit rescue mode on, owned true",
			"Failed to exit rescue mode off, owned true", "Allocated off, owned false",
		}
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
	})
}
