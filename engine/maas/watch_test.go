package maas

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
)

// readMachine reads a machine, as a caller does before it waits.
func readMachine(t *testing.T, c *Client, id string) engine.Machine {
	t.Helper()
	m, err := c.Machines.Machine(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// isClosedWithin reports whether a channel closes within d.
func isClosedWithin(changed <-chan struct{}, d time.Duration) bool {
	select {
	case <-changed:
		return true
	case <-time.After(d):
		return false
	}
}

func TestWhatWakesAWatch(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*fakeMAAS)
		wakes  bool
	}{
		"Status":  {"The machine changes its status.", func(w *fakeMAAS) { w.setField("a", "status", 4) }, true},
		"Message": {"Reasons of failures stand there.", func(w *fakeMAAS) { w.setField("a", "status_message", "failed") }, true},
		"Power":   {"It went off.", func(w *fakeMAAS) { w.setField("a", "power_state", "on") }, true},
		"Gone":    {"Somebody deleted it.", func(w *fakeMAAS) { w.removeMachine("a") }, true},
		"Other":   {"A new description is nothing to wait for.", func(w *fakeMAAS) { w.setField("a", "description", "x") }, false},
		"Nothing": {"Nothing happened.", func(*fakeMAAS) {}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newFakeMAAS("a")
				c := testClient(t, w)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				changed := c.Machines.WatchChange(ctx, readMachine(t, c, "a"))
				tc.change(w)
				if got := isClosedWithin(changed, 12*time.Second); got != tc.wakes {
					t.Errorf("%s: woken is %v", tc.reason, got)
				}
			})
		})
	}
}

func TestOneLookServesMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFakeMAAS(machineIDs(40)...)
		c := testClient(t, w)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		readAll(t, c, machineIDs(40))
		w.clearRequests()
		for _, id := range machineIDs(40) {
			c.Machines.WatchChange(ctx, engine.Machine{SystemID: id, Status: 1, PowerState: "off"})
			c.Machines.WatchChange(ctx, engine.Machine{SystemID: id, Status: 1, PowerState: "off"})
		}
		time.Sleep(16 * time.Second)
		if got := len(w.requests()); got != 3 {
			t.Errorf("%d looks in 16 s, want 3", got)
		}
	})
}

// TestAnothersReadWakesAWatch: a delete waits for a machine, and a create that waits for the
// name of the machine reads it every second. The create's reads postpone the polls, so they
// must wake the delete.
func TestAnothersReadWakesAWatch(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		read   func(context.Context, *Client) error
		change func(*fakeMAAS)
	}{
		"ByID": {"The row of the name has the system id.", readByID, func(w *fakeMAAS) { w.setField("a", "status", 4) }},
		"Gone": {"Somebody deleted the machine meanwhile.", readByID, func(w *fakeMAAS) { w.removeMachine("a") }},
		"ByName": {"The ledger has no row of the name.", func(ctx context.Context, c *Client) error {
			_, err := c.Machines.MachinesNamed(ctx, "vm-a")
			return err
		}, func(w *fakeMAAS) { w.setField("a", "status", 4) }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newFakeMAAS("a")
				c := testClient(t, w)
				changed := c.Machines.WatchChange(t.Context(), readMachine(t, c, "a"))
				looks := 0
				for range 3 {
					time.Sleep(time.Second)
					if err := tc.read(t.Context(), c); err != nil {
						t.Fatal(err)
					}
				}
				tc.change(w)
				w.clearRequests()
				for ; looks < 20 && !isClosedWithin(changed, time.Second); looks++ {
					_ = tc.read(t.Context(), c) // a machine that is gone is an error
				}
				if looks > 1 {
					t.Errorf("%s\nwoken after %d more reads", tc.reason, looks)
				}
				_ = readByID(t.Context(), c)
				if n := len(w.requests()); n > 4 {
					t.Errorf("%s\n%d requests, want at most one for the caller that was woken", tc.reason, n)
				}
			})
		})
	}
}

// readByID reads machine a.
func readByID(ctx context.Context, c *Client) error {
	_, err := c.Machines.Machine(ctx, "a")
	return err
}

// TestWakeUpCostsNoCall counts the calls of a caller that waits, wakes and reads.
func TestWakeUpCostsNoCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFakeMAAS("a")
		c := testClient(t, w)
		changed := c.Machines.WatchChange(t.Context(), readMachine(t, c, "a"))
		w.setField("a", "status", 4)
		w.clearRequests()
		<-changed
		if m := readMachine(t, c, "a"); m.Status != engine.StatusReady || len(w.requests()) != 1 {
			t.Errorf("status %d after %d calls, want Ready after the look", m.Status, len(w.requests()))
		}
		time.Sleep(time.Second)
		w.setField("a", "status", 6)
		if m := readMachine(t, c, "a"); m.Status != engine.StatusDeployed {
			t.Errorf("a second later: status %d", m.Status)
		}
	})
}

func TestAbsenceSeenByALookServesToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFakeMAAS("a")
		c := testClient(t, w)
		changed := c.Machines.WatchChange(t.Context(), readMachine(t, c, "a"))
		w.removeMachine("a")
		w.clearRequests()
		<-changed
		_, err := c.Machines.Machine(t.Context(), "a")
		if diff := cmp.Diff([]string{"GET machines/?id=a", whoAmI}, w.routes()); diff != "" || errorKinds(err) != "ErrNotFound" {
			t.Errorf("got %v after requests (-want +got):\n%s", err, diff)
		}
	})
}

// TestAWriteSpoilsALook: a poll result from before or during a write is not returned after
// it.
func TestAWriteSpoilsALook(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		latency time.Duration // of the look
		write   time.Duration // when, after the look began
	}{
		"After":  {"The look is older than the write.", 0, 100 * time.Millisecond},
		"During": {"The look may have been answered before the write.", time.Second, 500 * time.Millisecond},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newFakeMAAS("a")
				c := testClient(t, w)
				changed := c.Machines.WatchChange(t.Context(), readMachine(t, c, "a"))
				w.setField("a", "status", 4)
				w.setLatency(tc.latency)
				time.Sleep(defaultInterval + tc.write)
				w.setLatency(0)
				if err := c.Machines.Deploy(t.Context(), "a", engine.Deployment{}); err != nil {
					t.Fatal(err)
				}
				<-changed
				if m := readMachine(t, c, "a"); m.Status != engine.StatusDeploying {
					t.Errorf("%s: got status %d after the deploy", tc.reason, m.Status)
				}
			})
		})
	}
}

// TestALookDuringAWrite: the write ends after a poll that did not see it.
func TestALookDuringAWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFakeMAAS("a")
		c := testClient(t, w)
		changed := c.Machines.WatchChange(t.Context(), readMachine(t, c, "a"))
		w.setField("a", "status", 4)
		w.setLatency(defaultInterval + 100*time.Millisecond)
		deployed := make(chan error)
		go func() { deployed <- c.Machines.Deploy(t.Context(), "a", engine.Deployment{}) }()
		synctest.Wait()
		w.setLatency(0)
		<-changed
		if err := <-deployed; err != nil {
			t.Fatal(err)
		}
		if m := readMachine(t, c, "a"); m.Status != engine.StatusDeploying {
			t.Errorf("got status %d after the deploy", m.Status)
		}
	})
}

func TestWhoWaitsOnIsStillWoken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFakeMAAS("a", "b")
		c := testClient(t, w)
		first, leave := context.WithCancel(t.Context())
		c.Machines.WatchChange(first, engine.Machine{SystemID: "a", Status: 1, PowerState: "off"})
		changed := c.Machines.WatchChange(t.Context(), engine.Machine{SystemID: "b", Status: 1, PowerState: "off"})
		leave()
		w.setField("b", "status", 4)
		if !isClosedWithin(changed, 10*time.Second) {
			t.Error("the poller ended with the first who waited")
		}
	})
}

func TestAFailedLookIsRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFakeMAAS("a")
		var log *syncBuffer
		c := testClient(t, w, func(config *Config) { log = logTo(config) })
		changed := c.Machines.WatchChange(t.Context(), readMachine(t, c, "a"))
		w.setField("a", "status", 4)
		w.setBroken(true)
		if isClosedWithin(changed, 22*time.Second) {
			t.Fatal("a failed look woke somebody")
		}
		if !strings.Contains(log.String(), "poll of a watched machine failed") {
			t.Error("it is not in the log")
		}
		w.setBroken(false)
		if !isClosedWithin(changed, 10*time.Second) {
			t.Error("the next look did not find the change")
		}
	})
}

// TestThePollerEnds: synctest fails if a goroutine is left.
func TestThePollerEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFakeMAAS("a", "b")
		w.setLatency(time.Second)
		c := testClient(t, w)
		ctx, cancel := context.WithCancel(t.Context())
		a := c.Machines.WatchChange(ctx, engine.Machine{SystemID: "a", Status: 1, PowerState: "off"})
		c.Machines.WatchChange(ctx, engine.Machine{SystemID: "b", Status: 1, PowerState: "off"})
		time.Sleep(defaultInterval + 500*time.Millisecond) // within a look
		cancel()
		time.Sleep(20 * time.Second)
		if n := len(w.requests()); n != 1 || isClosedWithin(a, 0) {
			t.Errorf("%d looks, woken %v, want none after the ctx", n, isClosedWithin(a, 0))
		}
		gone := c.Machines.WatchChange(ctx, engine.Machine{SystemID: "a"})
		if isClosedWithin(gone, 10*time.Second) || len(w.requests()) != 1 {
			t.Error("with a ctx that has ended it looked again")
		}
		c.Machines.WatchChange(t.Context(), engine.Machine{SystemID: "a", Status: 1, PowerState: "off"})
		w.setField("a", "status", 4)
		time.Sleep(10 * time.Second)
		if n := len(w.requests()); n != 2 {
			t.Errorf("%d looks, want one more for who came later, and none after he was woken", n)
		}
	})
}
