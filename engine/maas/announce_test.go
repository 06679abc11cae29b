package maas

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// TestAnnouncedReads: MAAS answers announced reads while their readers still work, in as many
// calls as without an announcement.
func TestAnnouncedReads(t *testing.T) {
	t.Parallel()
	const machines, work, latency = 400, 3 * time.Millisecond, 20 * time.Millisecond
	refresh := func(t *testing.T, announced bool) (calls int, took time.Duration) {
		w := newFakeMAAS(machineIDs(machines)...)
		w.setLatency(latency)
		c := testClient(t, w)
		began := time.Now()
		walkMachines(t, c, machineIDs(machines), 10, func(doWork func(func() time.Duration), id string) {
			doWork(workDurations(work, false))
			if announced {
				c.Machines.AnnounceRead(t.Context(), id)
			}
			doWork(workDurations(work, false))
		})
		return len(w.requests()), time.Since(began)
	}
	synctest.Test(t, func(t *testing.T) {
		callsBefore, before := refresh(t, false)
		calls, took := refresh(t, true)
		if calls > callsBefore || calls > machines/10 {
			t.Errorf("%d calls with announcements and %d without, want at most %d", calls, callsBefore, machines/10)
		}
		if limit := machines * 2 * work * 12 / 10; took > limit || before < limit {
			t.Errorf("it took %v with announcements and %v without, want that only the latter is above %v", took, before, limit)
		}
	})
}

// TestAnnouncements announces one read after others, and counts the calls.
func TestAnnouncements(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason        string
		before        int // reads at the same time before
		write         bool
		wait          time.Duration // between the announcement and the read; negative: no read
		status        engine.Status // of what the read got: MAAS has another status after a second
		calls         int           // after those before
		secondCounted bool          // a second announcement makes a call, too
	}{
		"Walk": {
			reason: "The answer is there when the reader comes.", before: 10, wait: 2 * time.Second,
			status: engine.StatusReady, calls: 1, secondCounted: true,
		},
		"First": {
			reason: "Nothing tells that this client reads at all.", before: 0, wait: 2 * time.Second,
			status: engine.StatusDeployed, calls: 1,
		},
		"Single": {
			reason: "Reads that come one by one gain nothing.", before: 1, wait: 2 * time.Second,
			status: engine.StatusDeployed, calls: 1,
		},
		"Write": {
			reason: "After a write, no answer is older than its question.", before: 10, write: true, wait: 2 * time.Second,
			status: engine.StatusDeployed, calls: 3, // the announced one, the write, the read
		},
		"Late": {
			reason: "An answer from too long ago is not used.", before: 10, wait: 6 * time.Second,
			status: engine.StatusDeployed, calls: 2,
		},
		"Never": {
			reason: "A client that does not read what it announces makes one such call.", before: 10, wait: -1,
			calls: 1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newFakeMAAS(machineIDs(20)...)
				w.setField("m015", "status", int(engine.StatusReady))
				c := testClient(t, w)
				readAll(t, c, machineIDs(tc.before))
				before := len(w.requests())
				c.Machines.AnnounceRead(t.Context(), "m015")
				time.Sleep(time.Second)
				w.setField("m015", "status", int(engine.StatusDeployed))
				if tc.write {
					if err := c.Machines.Deploy(t.Context(), "m001", engine.Deployment{}); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(max(0, tc.wait-time.Second))
				if tc.wait > 0 {
					if m, err := c.Machines.Machine(t.Context(), "m015"); err != nil || m.Status != tc.status {
						t.Errorf("%s: got %v, %v, want %v", tc.reason, m.Status, err, tc.status)
					}
				}
				if got := len(w.requests()) - before; got != tc.calls {
					t.Errorf("%s: %d calls, want %d: %v", tc.reason, got, tc.calls, w.routes()[before:])
				}
				time.Sleep(10 * time.Second)
				before = len(w.requests())
				c.Machines.AnnounceRead(t.Context(), "m016")
				time.Sleep(10 * time.Second)
				if got := len(w.requests()) - before; got != 0 != tc.secondCounted {
					t.Errorf("%s: the second announcement made %d calls", tc.reason, got)
				}
			})
		})
	}
}

// TestAnnouncedTwice: two announcements of one read are one reader.
func TestAnnouncedTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFakeMAAS(machineIDs(20)...)
		c := testClient(t, w)
		readAll(t, c, machineIDs(10))
		for range 2 {
			c.Machines.AnnounceRead(t.Context(), "m015")
		}
		readAll(t, c, []string{"m015", "m016"})
		if got := len(w.requests()); got != 2 {
			t.Errorf("%d calls, want 2: %v", got, w.routes())
		}
	})
}
