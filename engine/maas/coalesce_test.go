package maas

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
)

func machineIDs(n int) []string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("m%03d", i))
	}
	return list
}

// readAll reads all machines at the same time.
func readAll(t *testing.T, c *Client, ids []string) {
	var wg sync.WaitGroup
	for _, id := range ids {
		wg.Go(func() {
			if m, err := c.Machines.Machine(t.Context(), id); err != nil || m.SystemID != id {
				t.Errorf("machine %s: got %v, %v", id, m.SystemID, err)
			}
		})
	}
	wg.Wait()
}

func TestReadsCoalesce(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		reads  []string
		calls  int
	}{
		"One":       {"A single read takes the same path.", machineIDs(1), 1},
		"Ten":       {"Terraform's parallelism.", machineIDs(10), 1},
		"Same":      {"Everybody wants the same machine.", []string{"m001", "m001", "m001"}, 1},
		"Chunk":     {"A full chunk is one request.", machineIDs(200), 1},
		"TwoChunks": {"A URL has an end.", machineIDs(201), 2},
		"Many":      {"And so on.", machineIDs(480), 3},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newFakeMAAS(machineIDs(480)...)
				readAll(t, testClient(t, w), tc.reads)
				if got := len(w.requests()); got != tc.calls {
					t.Errorf("%s: %d calls, want %d", tc.reason, got, tc.calls)
				}
				for _, s := range w.requests() {
					if n := len(s.Query["id"]); n > 200 {
						t.Errorf("%d ids in one request", n)
					}
				}
			})
		})
	}
}

// TestReadsCoalesceAtTheirPace reads as Terraform does. Many walkers run at once, and
// Terraform's own work between two reads sets their pace. Nothing was written yet, as in a
// plan.
func TestReadsCoalesceAtTheirPace(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason      string
		parallelism int
		work        time.Duration // of which one is done at a time
		uneven      bool          // one in ten takes nine times as long as others, all together as long
		calls       int           // at most, for 400 machines
		took        time.Duration // at most; the work alone is a share of it
	}{
		"Quick":        {"Work is nearly nothing.", 10, time.Millisecond, false, 40, 1200 * time.Millisecond},
		"Idle":         {"A computer with nothing else to do.", 10, 5 * time.Millisecond, false, 40, 2800 * time.Millisecond},
		"Busy":         {"Readers come further apart than the shortest window.", 10, 30 * time.Millisecond, false, 40, 15 * time.Second},
		"Loaded":       {"And ever further.", 10, 100 * time.Millisecond, false, 40, 49 * time.Second},
		"Uneven":       {"A long gap is not the end of the crowd.", 10, 50 * time.Millisecond, true, 44, 25 * time.Second},
		"Crowd":        {"More readers share a call, and lose no time but at the end.", 64, 5 * time.Millisecond, false, 7, 3500 * time.Millisecond},
		"BusyCrowd":    {"The same where a computer is busy.", 64, 30 * time.Millisecond, false, 7, 14 * time.Second},
		"LoadedCrowd":  {"Nor does a crowd get lost when each reader is late.", 64, 100 * time.Millisecond, false, 7, 45 * time.Second},
		"UnevenCrowd":  {"Or some are.", 64, 50 * time.Millisecond, true, 10, 23 * time.Second},
		"SmallerCrowd": {"A crowd smaller than was assumed is waited for once.", 30, 5 * time.Millisecond, false, 14, 4 * time.Second},
		"Lonely": {
			"A single caller waits for no other caller, once it is known to be alone.", 1, 200 * time.Millisecond, false, 400,
			400*(200+15+10)*time.Millisecond + time.Second,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newFakeMAAS(machineIDs(400)...)
				w.setLatency(10 * time.Millisecond)
				c := testClient(t, w)
				began := time.Now()
				readByWalkers(t, c, machineIDs(400), tc.parallelism, workDurations(tc.work, tc.uneven))
				if got := len(w.requests()); got > tc.calls {
					t.Errorf("%s: %d calls, want at most %d", tc.reason, got, tc.calls)
				}
				if took := time.Since(began); took > tc.took {
					t.Errorf("%s: it took %v, want at most %v", tc.reason, took, tc.took)
				}
			})
		})
	}
}

// TestReadsOfAGrowingCrowd: calls that begin soon with ten readers notice that there are
// more.
func TestReadsOfAGrowingCrowd(t *testing.T) {
	t.Parallel()
	for _, work := range []time.Duration{time.Millisecond, 5 * time.Millisecond, 30 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			w := newFakeMAAS(machineIDs(600)...)
			w.setLatency(10 * time.Millisecond)
			c := testClient(t, w)
			readByWalkers(t, c, machineIDs(200), 10, workDurations(work, false))
			before := len(w.requests())
			readByWalkers(t, c, machineIDs(600)[200:], 64, workDurations(work, false))
			if got := len(w.requests()) - before; got > 15 { // 7 and the search
				t.Errorf("work of %v: %d calls for 400 machines, want at most 15", work, got)
			}
		})
	}
}

// workDurations returns how long each piece of work takes.
func workDurations(work time.Duration, uneven bool) func() time.Duration {
	random := rand.New(rand.NewPCG(1, 2))
	return func() time.Duration {
		switch {
		case !uneven:
			return work
		case random.IntN(10) == 0:
			return work * 5
		default:
			return work * 5 / 9
		}
	}
}

// readByWalkers reads all machines with this many walkers. Only one of them works at a
// time, and each works before each read.
func readByWalkers(t *testing.T, c *Client, ids []string, parallelism int, work func() time.Duration) {
	walkMachines(t, c, ids, parallelism, func(doWork func(func() time.Duration), _ string) { doWork(work) })
}

// walkMachines reads all machines with this many walkers. Each prepares each read. Only one of them
// works at a time.
func walkMachines(t *testing.T, c *Client, ids []string, parallelism int, prepare func(doWork func(func() time.Duration), id string)) {
	next := make(chan string)
	processor := make(chan struct{}, 1)
	doWork := func(duration func() time.Duration) {
		processor <- struct{}{}
		time.Sleep(duration())
		<-processor
	}
	var wg sync.WaitGroup
	for range parallelism {
		wg.Go(func() {
			for id := range next {
				prepare(doWork, id)
				if m, err := c.Machines.Machine(t.Context(), id); err != nil || m.SystemID != id {
					t.Errorf("machine %s: got %v, %v", id, m.SystemID, err)
				}
			}
		})
	}
	for _, id := range ids {
		next <- id
	}
	close(next)
	wg.Wait()
}

// TestReadsOfASuddenCrowd: more readers come at once than a steady walk has had. The first
// call begins with as many as usual, and the next one waits for all others.
func TestReadsOfASuddenCrowd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFakeMAAS(machineIDs(200)...)
		w.setLatency(10 * time.Millisecond)
		c := testClient(t, w)
		readByWalkers(t, c, machineIDs(100), 10, workDurations(time.Millisecond, false))
		before := len(w.requests())
		readAll(t, c, machineIDs(200)[100:164])
		if got := len(w.requests()) - before; got > 2 {
			t.Errorf("%d calls for 64 machines, want at most 2", got)
		}
	})
}

// TestReadsAfterAWriteWaitLittle: after a write, each change has its own pace, and a call
// does not wait for the former number of readers.
func TestReadsAfterAWriteWaitLittle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := testClient(t, newFakeMAAS(machineIDs(64)...))
		readAll(t, c, machineIDs(64))
		if err := c.Machines.Deploy(t.Context(), "m001", engine.Deployment{}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := c.Machines.Machine(t.Context(), "m001"); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 45*time.Millisecond {
			t.Errorf("a read waited %v for others, want 45 ms at most", took)
		}
	})
}

// TestReadsGather reads as a manager does: each object is read at its own time, and none is
// urgent.
func TestReadsGather(t *testing.T) {
	t.Parallel()
	const readers, apart = 30, 120 * time.Millisecond
	cases := map[string]struct {
		reason string
		gather time.Duration
		calls  int
	}{
		"InAHurry": {"A caller that reads again after each answer does not wait 120 ms for the next one.", 0, readers},
		"Manager":  {"Those who come within 200 ms of each other share a call.", 200 * time.Millisecond, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newFakeMAAS(machineIDs(readers)...)
				c := testClient(t, w, func(config *Config) { config.Gather = tc.gather })
				readAll(t, c, machineIDs(readers))
				if err := c.Machines.Deploy(t.Context(), "m001", engine.Deployment{}); err != nil {
					t.Fatal(err)
				}
				before, wg := len(w.requests()), sync.WaitGroup{}
				for _, id := range machineIDs(readers) {
					wg.Go(func() { readAll(t, c, []string{id}) })
					time.Sleep(apart)
				}
				wg.Wait()
				if got := len(w.requests()) - before; got != tc.calls {
					t.Errorf("%s: %d calls, want %d", tc.reason, got, tc.calls)
				}
			})
		})
	}
}

func TestReadsOfNamesCoalesce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFakeMAAS("a", "b", "c")
		w.setField("c", "hostname", "vm-b") // MAAS allows it in different domains
		c := testClient(t, w)
		want := map[string]int{"vm-a": 1, "vm-b": 2, "none": 0}
		var wg sync.WaitGroup
		for name, n := range want {
			wg.Go(func() {
				if found, err := c.Machines.MachinesNamed(t.Context(), name); err != nil || len(found) != n {
					t.Errorf("%s: got %d machines, %v, want %d", name, len(found), err, n)
				}
			})
		}
		wg.Wait()
		if diff := cmp.Diff([]string{"GET machines/?hostname=none&hostname=vm-a&hostname=vm-b"}, w.routes()); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
	})
}

// TestAbsentMachine asks for a machine that MAAS does not list. MAAS hides the machines of other
// users from a user who is no administrator.
func TestAbsentMachine(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		user   func() *http.Response
		want   string
		hidden bool
	}{
		"Administrator": {"An administrator sees all machines.", jsonReply(administrator), "ErrNotFound", false},
		"User":          {"It may be another user's.", jsonReply(map[string]any{"username": "ci", "is_superuser": false}), "ErrForbidden", true},
		"NoAnswer":      {"Nothing is known of the user.", statusReply(503, "text/plain", "x"), "ErrUnavailable", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newRouteFake(map[string]func() *http.Response{"GET machines/": jsonReply([]any{}), whoAmI: tc.user})
				_, err := testClient(t, f).Machines.Machine(t.Context(), "abc123")
				if errorKinds(err) != tc.want || engine.IsTerminal(err) != tc.hidden || errors.Is(err, engine.ErrHidden) != tc.hidden {
					t.Errorf("%s: got %v", tc.reason, err)
				}
			})
		})
	}
}

// TestUserIsAskedOnce looks for many absent machines.
func TestUserIsAskedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFakeMAAS()
		c := testClient(t, w)
		for _, id := range machineIDs(5) {
			if _, err := c.Machines.Machine(t.Context(), id); !errors.Is(err, engine.ErrNotFound) {
				t.Errorf("machine %s: %v", id, err)
			}
		}
		asked := 0
		for _, route := range w.routes() {
			if route == whoAmI {
				asked++
			}
		}
		if asked != 1 {
			t.Errorf("%d calls for the user, want 1: %v", asked, w.routes())
		}
	})
}

// TestListing404IsNoAbsence: a wrong address must not look like a MAAS without machines.
func TestListing404IsNoAbsence(t *testing.T) {
	t.Parallel()
	c := testClient(t, newConstantFake(404, "text/plain", "404 page not found"))
	if _, err := c.Machines.Machine(t.Context(), "abc123"); errorKinds(err) != "ErrUnavailable" {
		t.Errorf("got %v (%s)", err, errorKinds(err))
	}
}

func TestReadersWhoLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFakeMAAS("a", "b")
		w.setLatency(10 * time.Second)
		c := testClient(t, w)
		first, leave := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := c.Machines.Machine(first, "a"); !errors.Is(err, context.Canceled) {
				t.Errorf("who leaves got %v", err)
			}
		})
		synctest.Wait() // so that the call is made for who leaves
		wg.Go(func() {
			if m, err := c.Machines.Machine(t.Context(), "b"); err != nil || m.SystemID != "b" {
				t.Errorf("who stays got %v, %v", m.SystemID, err)
			}
		})
		time.Sleep(time.Second)
		leave()
		wg.Wait()
		if n := len(w.requests()); n != 1 {
			t.Errorf("%d calls, want 1", n)
		}
	})
}

func TestWhenAllLeaveTheCallEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFakeMAAS("a")
		w.setLatency(time.Hour)
		c := testClient(t, w)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		c.Machines.Machine(ctx, "a")
		synctest.Wait() // a call that goes on would keep its goroutine blocked
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %s", took)
		}
		w.setLatency(0)
		if _, err := c.Machines.Machine(t.Context(), "a"); err != nil {
			t.Errorf("the next read got %v", err)
		}
	})
}

func TestWhoLeavesWithinTheWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFakeMAAS("a")
		c := testClient(t, w)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.Machines.Machine(ctx, "a"); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if _, err := c.Machines.Machine(t.Context(), "a"); err != nil {
			t.Errorf("the next read, within the same window, got %v", err)
		}
	})
}

// TestReadAfterWriteIsNotOlder starts a slow read, writes, and reads again during the first
// read.
func TestReadAfterWriteIsNotOlder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFakeMAAS("a")
		w.setField("a", "status", 4)
		w.setLatency(10 * time.Second)
		c := testClient(t, w)
		var wg sync.WaitGroup
		wg.Go(func() {
			if m, err := c.Machines.Machine(t.Context(), "a"); err != nil || m.Status != engine.StatusReady {
				t.Errorf("the read before the write got %v, %v", m.Status, err)
			}
		})
		time.Sleep(time.Second)
		w.setLatency(0)
		if err := c.Machines.Deploy(t.Context(), "a", engine.Deployment{}); err != nil {
			t.Fatal(err)
		}
		if m, err := c.Machines.Machine(t.Context(), "a"); err != nil || m.Status != engine.StatusDeploying {
			t.Errorf("the read after the write got %v, %v", m.Status, err)
		}
		wg.Wait()
	})
}

func TestFailureReachesAllReaders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := testClient(t, newConstantFake(500, "text/plain", "broken"))
		var wg sync.WaitGroup
		for _, id := range machineIDs(5) {
			wg.Go(func() {
				if _, err := c.Machines.Machine(t.Context(), id); errorKinds(err) != "ErrUnavailable" {
					t.Errorf("got %v", err)
				}
			})
		}
		wg.Wait()
	})
}
