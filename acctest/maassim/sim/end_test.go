package sim_test

import (
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestEndWakesSleepers ends a world in which calls sleep. They wake at once, and the end waits for
// them.
func TestEndWakesSleepers(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		end    func(*sim.Sim)
	}{
		"Close": {"The test ends.", (*sim.Sim).Close},
		"Twice": {"The test's cleanup closes it again.", func(s *sim.Sim) { s.Close(); s.Close() }},
		"Reset": {"The next test begins.", (*sim.Sim).Reset},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := oneHost()
				m.Latency.Compose, m.Latency.Refresh = 200*time.Second, 100*time.Second
				c := newMAASClient(t, m)
				c.sim.AddFault(sim.Fault{Kind: sim.FaultHang, Path: "zones/"})
				c.sim.AddFault(sim.Fault{Kind: sim.FaultDelay, Delay: time.Hour, Path: "tags/"})
				broken := make(chan outcome, 2)
				for _, path := range []string{"zones/", "tags/"} {
					go func() { broken <- c.call("GET", path) }()
				}
				composed, refreshed := make(chan outcome, 1), make(chan error, 1)
				go func() { composed <- c.call("POST", "vm-hosts/1/?op=compose", "hostname=x") }()
				go func() { refreshed <- c.sim.RefreshHost("h1") }()
				synctest.Wait()
				start := time.Now()
				tc.end(c.sim)
				wantStatus(t, <-composed, 503, "reset or closed")
				for range 2 {
					if out := <-broken; !errors.Is(out.err, io.ErrUnexpectedEOF) {
						t.Errorf("%s a fault's call got %d, %v", tc.reason, out.status, out.err)
					}
				}
				if err := <-refreshed; err == nil {
					t.Errorf("%s the refresh was none", tc.reason)
				}
				if took := time.Since(start); took > 0 {
					t.Errorf("%s it took %v", tc.reason, took)
				}
			})
		})
	}
}

// TestStopEndsCalls stops a server while a call sleeps.
func TestStopEndsCalls(t *testing.T) {
	t.Parallel()
	m := oneHost()
	m.Latency.Compose = 4 * time.Minute
	server := sim.StartServer(t, m)
	c := &maasClient{t: t, sim: server.Sim, key: server.APIKey(), base: server.URL, via: server.RoundTripper()}
	out := make(chan outcome, 1)
	go func() { out <- c.call("POST", "vm-hosts/1/?op=compose", "hostname=x") }()
	for len(server.Instances()) == 0 {
		time.Sleep(time.Millisecond)
	}
	start := time.Now()
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
	wantStatus(t, <-out, 503, "reset or closed")
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("Stop took %v", took)
	}
}
