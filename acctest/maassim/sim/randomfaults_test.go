package sim_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestEachRandomFault applies each random fault to one compose.
func TestEachRandomFault(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason   string
		nasty    sim.RandomFaults
		status   int // 0 without an answer
		text     string
		lost     error
		machine  string   // the hostname in MAAS, or empty
		leaks    []string // instances that MAAS does not know
		struckAs string
	}{
		"ErrorBefore":     {"The call has no effect.", sim.RandomFaults{ErrorBefore: 1}, 503, "", nil, "", nil, "error_before"},
		"ErrorAfter":      {"The call has its effect.", sim.RandomFaults{ErrorAfter: 1}, 503, "", nil, "x", nil, "error_after"},
		"Reset":           {"The call has no effect.", sim.RandomFaults{Reset: 1}, 0, "", syscall.ECONNRESET, "", nil, "reset"},
		"LostReply":       {"The call has its effect.", sim.RandomFaults{LostReply: 1}, 0, "", io.ErrUnexpectedEOF, "x", nil, "lost_reply"},
		"Delay":           {"The call only takes longer.", sim.RandomFaults{Delay: 1}, 200, "system_id", nil, "x", nil, "delay"},
		"LeakCompose":     {"LXD made it, MAAS lost it.", sim.RandomFaults{LeakCompose: 1}, 503, "timed out", nil, "", []string{"x"}, "leak_compose"},
		"LeakComposeLost": {"The reply is lost, too.", sim.RandomFaults{LeakComposeLost: 1}, 0, "", io.ErrUnexpectedEOF, "", []string{"x"}, "leak_compose_lost"},
		"LateCompose":     {"The compose ends later.", sim.RandomFaults{LateCompose: 1, MaxLate: time.Minute}, 200, "system_id", nil, "x", nil, "late_compose"},
		"SyncInCompose":   {"The newborn is adopted.", sim.RandomFaults{SyncInCompose: 1}, 400, "already exists", nil, "x", nil, "sync_in_compose"},
		"SyncOverCompose": {"The newborn is removed.", sim.RandomFaults{SyncOverCompose: 1}, 200, "system_id", nil, "", nil, "sync_over_compose"},
		"RandomNames":     {"The adopted machine loses its name.", sim.RandomFaults{SyncInCompose: 1, RandomNames: 1}, 200, "system_id", nil, "x", nil, "random_names"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := oneHost()
				m.RandomFaults = tc.nasty
				c := newMAASClient(t, m)
				got := c.call("POST", "vm-hosts/1/?op=compose", "hostname=x")
				if got.status != tc.status || !strings.Contains(got.text, tc.text) || !errors.Is(got.err, tc.lost) {
					t.Errorf("%s got %d %q %v", tc.reason, got.status, got.text, got.err)
				}
				if err := c.sim.SetRandomFaults(sim.RandomFaults{}); err != nil {
					t.Fatal(err)
				}
				if list := c.call("GET", "machines/?hostname=x"); strings.Contains(list.text, `"hostname":"x"`) != (tc.machine == "x") {
					t.Errorf("%s MAAS has %s", tc.reason, list.text)
				}
				if diff := cmp.Diff(append([]string{}, tc.leaks...), leakedInstances(c.sim)); diff != "" {
					t.Errorf("%s leaks (-want +got):\n%s", tc.reason, diff)
				}
				if c.sim.RandomFaultCounts()[tc.struckAs] != 1 {
					t.Errorf("%s struck: %v", tc.reason, c.sim.RandomFaultCounts())
				}
			})
		})
	}
}

// TestNastyDelete: a delete answers 204, but the instance stays and is adopted again.
func TestNastyDelete(t *testing.T) {
	t.Parallel()
	m := oneHost()
	m.RandomFaults = sim.RandomFaults{LeakDelete: 1, RandomNames: 1}
	c := newMAASClient(t, m)
	id := c.composeReady("x")
	wantStatus(t, c.call("DELETE", "machines/"+id+"/"), 204, "")
	if diff := cmp.Diff([]string{"x"}, leakedInstances(c.sim)); diff != "" {
		t.Errorf("leaks (-want +got):\n%s", diff)
	}
	if err := c.sim.SetInstanceRunning("h1", "", "x", true); err != nil {
		t.Fatal(err)
	}
	c.mustCall("POST", "vm-hosts/1/?op=refresh")
	for _, m := range c.sim.Machines() {
		if m.Host != "" && (m.Hostname == "x" || m.SystemID == id || m.StatusMessage != "Power cycling") {
			t.Errorf("adopted as %+v", m)
		}
	}
}

// TestLateComposeGoesOn: MAAS continues a compose after its caller has gone.
func TestLateComposeGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := oneHost()
		m.RandomFaults, m.Seed = sim.RandomFaults{LateCompose: 1}, 3
		c := newMAASClient(t, m)
		ctx, cancel := contextWithTimeout(t, time.Second)
		defer cancel()
		r := c.request("POST", "vm-hosts/1/?op=compose", formOf("hostname=x"))
		if out := c.send(r.WithContext(ctx)); out.err == nil {
			t.Fatalf("answered at once: %d %s", out.status, out.text)
		}
		if known := len(c.sim.Machines()); known != 1 {
			t.Fatalf("%d machines, want the host's alone", known)
		}
		time.Sleep(2 * time.Minute)
		if got := leakedInstances(c.sim); len(c.sim.Machines()) != 2 || len(got) != 0 {
			t.Errorf("machines %+v, leaks %v", c.sim.Machines(), got)
		}
	})
}

// TestStrangersSync: others refresh VM hosts until the test stops them.
func TestStrangersSync(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := oneHost()
		m.RandomFaults.SyncEvery, m.Latency.Refresh = 10*time.Second, time.Second
		c := newMAASClient(t, m)
		add := func(name string) {
			if err := c.sim.AddInstance(sim.Instance{Host: "h1", Name: name}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		add("one")
		if got := leakedInstances(c.sim); len(got) != 0 {
			t.Errorf("nobody has refreshed: %v", got)
		}
		if n := c.sim.RandomFaultCounts()["sync_every"]; n < 3 || n > 20 {
			t.Errorf("%d refreshes in a minute", n)
		}
		wantStatus(t, c.postSteering("PUT", "nasty", `{}`), 204, "")
		time.Sleep(2 * time.Second)
		add("two")
		if diff := cmp.Diff([]string{"two"}, leakedInstances(c.sim)); diff != "" {
			t.Errorf("still refreshed (-want +got):\n%s", diff)
		}
	})
}

// randomFaultSession does some work in a world with a seed, and returns the results.
func randomFaultSession(t *testing.T, seed int64, names []string) []string {
	t.Helper()
	m := oneHost()
	m.Seed, m.RandomFaults = seed, sim.AllRandomFaults(0.2)
	m.RandomFaults.SyncEvery = 0 // it would depend on the clock
	m.RandomFaults.MaxDelay, m.RandomFaults.MaxLate = time.Millisecond, time.Millisecond
	c := newMAASClient(t, m)
	outcomes := map[string]string{}
	for _, name := range names {
		out := c.call("POST", "vm-hosts/1/?op=compose", "hostname="+name, "skip_commissioning=true")
		outcomes[name] = fmt.Sprint(out.status, out.err)
	}
	var all []string
	for name, outcome := range outcomes {
		all = append(all, name+" "+outcome)
	}
	return append(sortedTexts(all), fmt.Sprint(sortedTexts(instanceNames(c.sim)), c.sim.RandomFaultCounts()))
}

// TestNastyRepeats: a seed repeats the random faults, whatever the order of calls.
func TestNastyRepeats(t *testing.T) {
	t.Parallel()
	first := randomFaultSession(t, 7, []string{"a", "b", "c", "d"})
	if diff := cmp.Diff(first, randomFaultSession(t, 7, []string{"d", "b", "a", "c"})); diff != "" {
		t.Errorf("the same seed (-first +second):\n%s", diff)
	}
	other := false
	for seed := range int64(5) {
		other = other || !cmp.Equal(first, randomFaultSession(t, seed, []string{"a", "b", "c", "d"}))
	}
	if !other {
		t.Error("the seed changes nothing")
	}
}

// TestOvercommit: a MAAS composes more than it should allow, and Overcommits shows that.
func TestOvercommit(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		fields []string
		want   []string
	}{
		"Fits":    {"Two VMs just fit.", []string{"cores=4", "memory=8192", "storage=50"}, []string{}},
		"Cores":   {"Two VMs exceed the cores.", []string{"cores=5"}, []string{"h1: 10 cores held of 8"}},
		"Memory":  {"Two VMs slightly exceed the memory.", []string{"memory=8193"}, []string{"h1: 16386 MiB of memory held of 16384"}},
		"Storage": {"A pool.", []string{"storage=30(fast)"}, []string{"h1: 60000000000 bytes of pool fast held of 50000000000"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newMAASClient(t, oneHost())
			c.compose(append(tc.fields, "hostname=a")...)
			if len(tc.want) > 0 {
				if out := c.call("POST", "vm-hosts/1/?op=compose", append(tc.fields, "hostname=b")...); out.status < 500 {
					t.Errorf("MAAS keeps to its ratios, unless asked: %d %s", out.status, out.text)
				}
			}
			wantStatus(t, c.postSteering("PUT", "nasty", `{"overcommit": true}`), 204, "")
			id := c.compose(append(tc.fields, "hostname=b")...)
			c.sim.Settle()
			c.mustCall("DELETE", "machines/"+id+"/")
			if diff := cmp.Diff(tc.want, c.sim.Overcommits()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			l := c.sim.LXDs()[0]
			if l.Peak.Cores != 2*l.Used.Cores || l.Peak.MemoryMiB != 2*l.Used.MemoryMiB {
				t.Errorf("used %+v, peak %+v", l.Used, l.Peak)
			}
			c.sim.Reset()
			if again := c.sim.Overcommits(); len(again) != 0 {
				t.Errorf("after a reset: %v", again)
			}
		})
	}
}

// TestOvercommitRatio: the over-commit ratios count.
func TestOvercommitRatio(t *testing.T) {
	t.Parallel()
	m := oneHost()
	m.Hosts[0].CPUOvercommit = 1.5
	c := newMAASClient(t, m)
	c.compose("cores=6", "hostname=a")
	c.compose("cores=6", "hostname=b")
	if got := c.sim.Overcommits(); len(got) != 0 {
		t.Errorf("12 cores of 8 times 1.5: %v", got)
	}
}

// TestNastyJSON converts RandomFaults to JSON and back. Errors name the wrong field.
func TestNastyJSON(t *testing.T) {
	t.Parallel()
	want := sim.AllRandomFaults(0.25)
	want.MaxDelay, want.MaxLate, want.Overcommit = time.Second, time.Minute, true
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got sim.RandomFaults
	if err := json.Unmarshal(text, &got); err != nil || got != want {
		t.Errorf("%v\n%s\n%+v", err, text, got)
	}
	for body, problem := range map[string]string{
		`{"error_before": 2}`: "nasty.error_before: 2 is not between 0 and 1", `{"reset": -1}`: "nasty.reset",
		`{"sync_every": "soon"}`: "nasty.sync_every", `{"sync_every": "-1s"}`: "nasty.sync_every: -1s is negative", `{"zzz": 1}`: "zzz",
	} {
		c := newMAASClient(t, oneHost())
		wantStatus(t, c.postSteering("PUT", "nasty", body), 400, problem)
		_, err := sim.ReadModel(bytes.NewReader([]byte(`{"nasty": ` + body + `}`)))
		if err == nil {
			var n sim.RandomFaults
			if err := json.Unmarshal([]byte(body), &n); err != nil {
				t.Fatal(err)
			}
			_, err = sim.New(sim.Model{RandomFaults: n})
			if err == nil || !strings.Contains(err.Error(), problem) {
				t.Errorf("%s as a model: %v", body, err)
			}
		}
	}
}

// TestNastyCrowd runs many clients at a time with all random faults, and looks for
// impossible results: bugs, two machines for one instance, or power that is stuck.
func TestNastyCrowd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := sim.DefaultModel()
		m.RandomFaults, m.Latency.Compose, m.Latency.Commission, m.Latency.Refresh = sim.AllRandomFaults(0.1), time.Second, 5*time.Second, time.Second
		m.RandomFaults.SyncEvery, m.RandomFaults.Overcommit = time.Second, true
		c := newMAASClient(t, m)
		var all sync.WaitGroup
		for n := range 48 {
			all.Go(func() {
				name := fmt.Sprintf("vm%d", n)
				for range 5 {
					out := c.call("POST", fmt.Sprintf("vm-hosts/%d/?op=compose", n%3+1), "hostname="+name)
					if strings.Contains(out.text, "bug of the simulator") {
						t.Error(out.text)
					}
					time.Sleep(time.Duration(n) * 100 * time.Millisecond)
					var made struct {
						SystemID string `json:"system_id"`
					}
					if out.status == 200 && json.Unmarshal([]byte(out.text), &made) == nil {
						c.call("DELETE", "machines/"+made.SystemID+"/")
					}
				}
			})
		}
		all.Wait()
		c.endRandomFaults()
	})
}

// endRandomFaults ends the random faults and everything under way. Then MAAS must know
// each instance once, and each must start and be deleted.
func (c *maasClient) endRandomFaults() {
	t := c.t
	if err := c.sim.SetRandomFaults(sim.RandomFaults{}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(5 * time.Minute)
	for _, h := range []string{"host1", "host2", "host3"} {
		if err := c.sim.RefreshHost(h); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(time.Minute)
	if left := leakedInstances(c.sim); len(left) != 0 {
		t.Errorf("a refresh adopts all, but not %v", left)
	}
	seen := map[string]bool{}
	for _, i := range c.sim.Instances() {
		if seen[i.MachineID] {
			t.Errorf("%s is a machine twice", i.Name)
		}
		seen[i.MachineID] = true
		wantStatus(t, c.call("DELETE", "machines/"+i.MachineID+"/"), 204, "")
	}
	if left := c.sim.Instances(); len(left) != 0 {
		t.Errorf("a delete at rest removes all, but not %+v", left)
	}
	if struck := c.sim.RandomFaultCounts(); len(struck) != 13 {
		t.Errorf("want all 13 kinds to strike: %v", struck)
	}
}
