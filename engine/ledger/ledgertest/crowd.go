package ledgertest

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
)

// checkOneWinner lets many callers place, and then move, one key. Each time exactly one of them
// is told that it may compose.
func checkOneWinner(t *testing.T, handle func() engine.Ledger) {
	all := openFourHandles(handle)
	r := newReservation(t, all[0], testKey, candidate(1, "az1", 64), candidate(2, "az1", 64))
	for _, do := range []func(engine.Ledger) (engine.Row, bool, error){
		func(l engine.Ledger) (engine.Row, bool, error) { return l.Place(t.Context(), r) },
		func(l engine.Ledger) (engine.Row, bool, error) { return l.Move(t.Context(), 2, r) },
	} {
		var winners atomic.Int64
		runConcurrently(32, all, func(_ int, l engine.Ledger) {
			_, fresh, err := do(l)
			wantNoError(t, err)
			if fresh {
				winners.Add(1)
			}
		})
		if winners.Load() != 1 {
			t.Errorf("%d of 32 won", winners.Load())
		}
	}
}

// openFourHandles opens four handles. Call it before the inventory is read: a handle refuses an
// inventory from before its own opening.
func openFourHandles(handle func() engine.Ledger) []engine.Ledger {
	return []engine.Ledger{handle(), handle(), handle(), handle()}
}

// runConcurrently runs n callers at once, on all handles.
func runConcurrently(n int, handles []engine.Ledger, do func(int, engine.Ledger)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { do(i, handles[i%len(handles)]) })
	}
	wg.Wait()
}

// checkCrowd starts more creators than there is room for, all with the same inventory.
func checkCrowd(t *testing.T, handle func() engine.Ledger) {
	hosts := []engine.Candidate{candidate(1, "az1", 10), candidate(2, "az1", 20), candidate(3, "az2", 10)}
	for name, scarce := range map[string]func(*engine.Need){
		"Cores": func(n *engine.Need) {
			n.MemoryMiB, n.HugePagesMiB, n.DiskBytes = math.MaxInt64/2, math.MaxInt64, map[string]int64{"default": math.MaxInt64 / 2}
		},
		"Memory": func(n *engine.Need) {
			n.Cores, n.HugePagesMiB, n.DiskBytes = 1<<40, math.MaxInt64, map[string]int64{"default": math.MaxInt64 / 2}
		},
		"HugePages": func(n *engine.Need) {
			n.Cores, n.MemoryMiB, n.DiskBytes = 1<<40, math.MaxInt64/2, map[string]int64{"default": math.MaxInt64 / 2}
		},
		"Disk": func(n *engine.Need) { n.Cores, n.MemoryMiB, n.HugePagesMiB = 1<<40, math.MaxInt64/2, math.MaxInt64 },
	} {
		t.Run(name, func(t *testing.T) {
			all := openFourHandles(handle)
			r := newReservation(t, all[0], testKey)
			for _, h := range hosts {
				scarce(&h.Free)
				r.Candidates = append(r.Candidates, h)
			}
			var mu sync.Mutex
			got, busy := map[string]int{}, 0
			runConcurrently(64, all, func(i int, l engine.Ledger) {
				mine := r
				mine.Key = engine.Key(fmt.Sprintf("%s-%d", name, i))
				dropRowsAfter(t, l, mine.Key)
				row, _, err := l.Place(t.Context(), mine)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					wantError(t, "A run that finds no room is told to wait.", err, engine.ErrBusy)
					busy++
					return
				}
				got[row.HostKey]++
			})
			if diff := cmp.Diff(map[string]int{"h1": 10, "h2": 20, "h3": 10}, got); diff != "" || busy != 24 {
				t.Errorf("%d had to wait, want 24; VMs by host, -want +got:\n%s", busy, diff)
			}
		})
	}
}

// checkSpread places many VMs at the same moment with the same inventory. They must not all get
// the best host.
func checkSpread(t *testing.T, handle func() engine.Ledger) {
	hosts := []engine.Candidate{candidate(1, "az1", 64), candidate(2, "az1", 64), candidate(3, "az2", 64), candidate(4, "az2", 64)}
	cases := map[string]struct {
		hosts []engine.Candidate
		group string
		step  int64
		n     int
		want  map[string]int
	}{
		"EightOnTwo": {hosts[:2], "", 2, 8, map[string]int{"h1": 4, "h2": 4}},
		"Group":      {hosts, "web", 0, 32, map[string]int{"h1": 8, "h2": 8, "h3": 8, "h4": 8}},
		"Packed":     {hosts, "", 0, 32, map[string]int{"h1": 32}},
		"PackedMore": {hosts, "", -2, 32, map[string]int{"h1": 32}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			all := openFourHandles(handle)
			r := newReservation(t, all[0], testKey, tc.hosts...)
			r.Candidates = slices.Clone(r.Candidates)
			for n := range r.Candidates {
				r.Candidates[n].Step = tc.step
			}
			r.Group = tc.group
			var mu sync.Mutex
			got := map[string]int{}
			runConcurrently(tc.n, all, func(i int, l engine.Ledger) {
				mine := r
				mine.Key = engine.Key(fmt.Sprintf("%s-%d", name, i))
				dropRowsAfter(t, l, mine.Key)
				row, _, err := l.Place(t.Context(), mine)
				wantNoError(t, err)
				mu.Lock()
				defer mu.Unlock()
				got[row.HostKey]++
			})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("VMs by host, -want +got:\n%s", diff)
			}
		})
	}
}
