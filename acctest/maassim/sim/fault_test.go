package sim_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestFaults breaks a compose in each way and checks the result, in memory and over a
// socket.
func TestFaults(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		fault  sim.Fault
		status int
		err    error
		made   int
	}{
		"StatusBefore": {"The call never reached MAAS.", sim.Fault{Kind: sim.FaultStatus, Status: 503}, 503, nil, 0},
		"StatusAfter":  {"A proxy's answer hides MAAS's.", sim.Fault{Kind: sim.FaultStatus, Status: 504, When: sim.FaultAfterEffect}, 504, nil, 1},
		"LostReply":    {"The effect is there, the answer is not.", sim.Fault{Kind: sim.FaultLostReply, When: sim.FaultAfterEffect}, 0, io.EOF, 1},
		"LostRequest":  {"The call had no effect.", sim.Fault{Kind: sim.FaultLostReply}, 0, io.EOF, 0},
		"Reset":        {"The connection was reset after the effect.", sim.Fault{Kind: sim.FaultReset, When: sim.FaultAfterEffect}, 0, syscall.ECONNRESET, 1},
		"Hang":         {"The client's own deadline ends it.", sim.Fault{Kind: sim.FaultHang}, 0, context.DeadlineExceeded, 0},
		"OtherObject":  {"The fault is for another name.", sim.Fault{Kind: sim.FaultReset, Object: "y"}, 200, nil, 1},
		"ThisObject":   {"The fault is for this name.", sim.Fault{Kind: sim.FaultStatus, Status: 500, Object: "x", Method: "post", Path: "vm-hosts/*/", Op: "compose"}, 500, nil, 0},
		"Second":       {"The fault is for the second call.", sim.Fault{Kind: sim.FaultReset, Nth: 2}, 200, nil, 1},
	}
	for name, tc := range cases {
		for _, transport := range []string{"memory", "socket"} {
			t.Run(name+"/"+transport, func(t *testing.T) {
				t.Parallel()
				c := newMAASClient(t, oneHost())
				if transport == "socket" {
					server := sim.StartServer(t, oneHost())
					client := &http.Transport{}
					t.Cleanup(client.CloseIdleConnections)
					c = &maasClient{t: t, sim: server.Sim, key: server.APIKey(), base: server.URL, via: client}
				}
				c.sim.AddFault(tc.fault)
				patience := time.Minute
				if tc.fault.Kind == sim.FaultHang {
					patience = 300 * time.Millisecond
				}
				ctx, cancel := contextWithTimeout(t, patience)
				defer cancel()
				out := c.send(c.request("POST", "vm-hosts/1/?op=compose", formOf("hostname=x")).WithContext(ctx))
				wantBroken(t, out, tc.status, tc.err)
				if got := len(c.sim.Instances()); got != tc.made {
					t.Errorf("%s %d instances", tc.reason, got)
				}
			})
		}
	}
}

// wantBroken compares the status or the error. io.EOF means any early end.
func wantBroken(t *testing.T, out outcome, status int, want error) {
	t.Helper()
	early := errors.Is(out.err, io.EOF) || errors.Is(out.err, io.ErrUnexpectedEOF)
	if out.status != status || want == nil != (out.err == nil) || want == io.EOF && !early || want != nil && want != io.EOF && !errors.Is(out.err, want) {
		t.Errorf("want %d, %v; got %d, %v", status, want, out.status, out.err)
	}
}

// TestFaultCounts checks Nth, Times and Probability over many calls.
func TestFaultCounts(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		fault sim.Fault
		want  func(broken []int) bool
	}{
		"Nth":         {sim.Fault{Nth: 3}, func(b []int) bool { return slices.Equal(b, []int{3}) }},
		"Times":       {sim.Fault{Times: 2}, func(b []int) bool { return slices.Equal(b, []int{1, 2}) }},
		"All":         {sim.Fault{}, func(b []int) bool { return len(b) == 100 }},
		"Probability": {sim.Fault{Probability: 0.3}, func(b []int) bool { return len(b) > 15 && len(b) < 45 }},
		"NoOp":        {sim.Fault{Op: "-", Path: "machines/"}, func(b []int) bool { return len(b) == 100 }},
		"OtherPath":   {sim.Fault{Path: "machines/*/"}, func(b []int) bool { return len(b) == 0 }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newMAASClient(t, sim.Model{})
			tc.fault.Kind, tc.fault.Status = sim.FaultStatus, 503
			id := c.sim.AddFault(tc.fault)
			var broken []int
			for i := range 100 {
				if c.call("GET", "machines/").status == 503 {
					broken = append(broken, i+1)
				}
			}
			if !tc.want(broken) {
				t.Errorf("broken: %v", broken)
			}
			want := tc.fault
			want.ID, want.Matched, want.Struck = id, 100, len(broken)
			if tc.fault.Path == "machines/*/" {
				want.Matched = 0
			}
			if diff := cmp.Diff([]sim.Fault{want}, c.sim.Faults()); diff != "" {
				t.Errorf("what is counted (-want +got):\n%s", diff)
			}
			c.sim.RemoveFault(id)
			wantStatus(t, c.call("GET", "machines/"), 200, "[]")
		})
	}
}

// TestFaultJSON converts a fault to JSON and back. Its delay is a text.
func TestFaultJSON(t *testing.T) {
	t.Parallel()
	f := sim.Fault{ID: 1, Method: "GET", Path: "machines/*/", Nth: 2, When: sim.FaultAfterEffect, Kind: sim.FaultDelay, Delay: 300 * time.Millisecond}
	data, err := json.Marshal(f)
	if err != nil || !strings.Contains(string(data), `"300ms"`) {
		t.Fatalf("%s, %v", data, err)
	}
	var back sim.Fault
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(f, back); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFaultSlips: an unknown field of a fault is an error, also in a list.
func TestFaultSlips(t *testing.T) {
	t.Parallel()
	var fs []sim.Fault
	for _, text := range []string{`[{"kind": "reset", "Pth": "x"}]`, `[{"kind": "delay", "delay": "soon"}]`, `[{"kind": 1}]`} {
		if err := json.Unmarshal([]byte(text), &fs); err == nil {
			t.Errorf("%s was read as %+v", text, fs)
		}
	}
}

// TestDelays tests a delay and a slow LXD on the virtual clock.
func TestDelays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := oneHost()
		m.Latency.Call = 100 * time.Millisecond
		c := newMAASClient(t, m)
		c.sim.AddFault(sim.Fault{Kind: sim.FaultDelay, Delay: 5 * time.Second, Path: "machines/"})
		start := time.Now()
		c.mustCall("GET", "vm-hosts/")
		if took := time.Since(start); took != 100*time.Millisecond {
			t.Errorf("a call took %v", took)
		}
		c.mustCall("GET", "machines/")
		if took := time.Since(start); took != 5200*time.Millisecond {
			t.Errorf("a delayed call took %v", took)
		}
		lxdCondition(sim.ConditionSlow)(c)
		c.compose("hostname=x")
		if took := time.Since(start); took < 8*time.Second {
			t.Errorf("composing on a slow LXD took no longer: %v", took)
		}
	})
}

// TestJournal counts calls, machine objects and bytes, and hides secrets.
func TestJournal(t *testing.T) {
	t.Parallel()
	c := newMAASClient(t, oneHost())
	c.compose("hostname=x")
	c.call("GET", "machines/")
	c.call("GET", "machines/nobody/")
	c.call("PUT", "vm-hosts/1/", "password=hush-hush")
	j := c.sim.Journal()
	if j.Count("POST vm-hosts/{id}/ compose") != 1 || j.Count("GET machines/{id}/") != 1 || j.Total() != 4 {
		t.Errorf("routes: %+v", j.Routes)
	}
	if j.MachineObjects != 2 || j.Bytes < 1000 {
		t.Errorf("%d machine objects, %d bytes", j.MachineObjects, j.Bytes)
	}
	text, err := json.Marshal(j)
	if err != nil || strings.Contains(string(text), "hush-hush") || !strings.Contains(string(text), "hostname") {
		t.Errorf("the journal tells secrets, or too little: %s", text)
	}
	c.sim.ResetJournal()
	if got := c.sim.Journal().Total(); got != 0 {
		t.Errorf("%d calls after a reset", got)
	}
}

// TestReset restores the model and ends what was under way.
func TestReset(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := oneHost()
		m.Latency.Compose, m.Latency.Commission = 10*time.Second, 10*time.Second
		c := newMAASClient(t, m)
		c.compose("hostname=x")
		late := make(chan outcome, 1)
		go func() { late <- c.call("POST", "vm-hosts/1/?op=compose", "hostname=late") }()
		time.Sleep(time.Second)
		c.sim.AddFault(sim.Fault{Kind: sim.FaultReset})
		c.sim.Reset()
		<-late
		time.Sleep(time.Minute)
		if len(c.sim.Instances()) != 0 || len(c.sim.Machines()) != 1 || len(c.sim.Faults()) != 0 {
			t.Errorf("left: %+v, %+v", c.sim.Instances(), c.sim.Machines())
		}
		wantStatus(t, c.call("GET", "vm-hosts/1/"), 200, `"name":"h1"`)
	})
}
