package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
)

// checkShownRows checks which reservations an inventory shows already.
func checkShownRows(t *testing.T, handle func() engine.Ledger) {
	l := handle()
	one := candidate(1, "az1", 1)
	cases := map[string]struct {
		reason  string
		between func(t *testing.T) // changes the row before the inventory is read
		after   func(t *testing.T) // changes it afterwards
		want    error
	}{
		"Pending": {
			reason:  "An inventory does not show what is not yet composed.",
			between: func(*testing.T) {}, want: engine.ErrBusy,
		},
		"BoundBefore": {
			reason: "An inventory that began after the bind shows the VM.",
			between: func(t *testing.T) {
				wantNoError(t, l.Bind(t.Context(), engine.Row{Key: testKey, HostKey: "h1", SystemID: "abc123"}))
			},
		},
		"BoundAfter": {
			reason:  "An inventory that began before the bind may lack the VM.",
			between: func(*testing.T) {},
			after: func(t *testing.T) {
				wantNoError(t, l.Bind(t.Context(), engine.Row{Key: testKey, HostKey: "h1", SystemID: "abc123"}))
			},
			want: engine.ErrBusy,
		},
		"Leaving": {
			reason: "MAAS forgets a VM before its instance is gone.",
			between: func(t *testing.T) {
				wantNoError(t, l.Bind(t.Context(), engine.Row{Key: testKey, HostKey: "h1", SystemID: "abc123"}))
				wantNoError(t, l.MarkLeaving(t.Context(), testKey))
			},
			want: engine.ErrBusy,
		},
		"Forgotten": {
			reason: "A forgotten row takes no room.",
			between: func(t *testing.T) {
				wantNoError(t, l.MarkLeaving(t.Context(), testKey))
				wantNoError(t, DropRow(t.Context(), l, testKey))
			},
		},
		"MovedAway": {
			reason: "The room of an attempt that was given up is free.",
			between: func(t *testing.T) {
				_, _, err := l.Move(t.Context(), 2, newReservation(t, l, testKey, candidate(2, "az1", 1)))
				wantNoError(t, err)
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			mustPlace(t, l, testKey, one)
			dropRowsAfter(t, l, testKey, "other")
			tc.between(t)
			r := newReservation(t, l, "other", one)
			if tc.after != nil {
				tc.after(t)
			}
			_, _, err := l.Place(t.Context(), r)
			wantError(t, tc.reason, err, tc.want)
		})
	}
}

// checkPools checks the room of storage pools beside the cores and memory of the host.
func checkPools(t *testing.T, handle func() engine.Ledger) {
	l := handle()
	host := engine.Candidate{HostKey: "h1", DefaultPool: "fast", Free: engine.Need{
		Cores: 100, MemoryMiB: 1 << 20, DiskBytes: map[string]int64{"fast": 10e9, `a "pool".x`: 20e9, "whole": math.MaxInt64},
	}}
	unknown := host
	unknown.DefaultPool = ""
	cases := map[string]struct {
		reason string
		host   engine.Candidate
		have   map[string]int64 // bytes of another VM
		want   map[string]int64
		err    error
		row    map[string]int64
	}{
		"Fits":       {"", host, nil, map[string]int64{"fast": 10e9}, nil, map[string]int64{"fast": 10e9}},
		"Default":    {"The host's default pool is known once there is a host.", host, nil, map[string]int64{"": 4e9, "fast": 6e9}, nil, map[string]int64{"fast": 10e9}},
		"DefaultToo": {"Two disks of one pool add up, whatever they call it.", host, map[string]int64{"": 1}, map[string]int64{"": 4e9, "fast": 6e9}, engine.ErrBusy, nil},
		"Beside":     {"One VM's disks leave the rest to the other's.", host, map[string]int64{"fast": 4e9}, map[string]int64{"fast": 6e9}, nil, map[string]int64{"fast": 6e9}},
		"Taken":      {"A byte too many is too many.", host, map[string]int64{"fast": 4e9 + 1}, map[string]int64{"fast": 6e9}, engine.ErrBusy, nil},
		"OtherPool":  {"Pools do not share.", host, map[string]int64{"fast": 10e9}, map[string]int64{`a "pool".x`: 20e9}, nil, map[string]int64{`a "pool".x`: 20e9}},
		"Unlimited":  {"The largest number does not overflow.", host, map[string]int64{"whole": 1e15}, map[string]int64{"whole": 1e15}, nil, map[string]int64{"whole": 1e15}},
		"None":       {"A VM need not have disks.", host, map[string]int64{"fast": 10e9}, nil, nil, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dropRowsAfter(t, l, testKey, "other")
			r := newReservation(t, l, "other", tc.host)
			r.Need = engine.Need{Cores: 1, DiskBytes: tc.have}
			_, _, err := l.Place(t.Context(), r)
			wantNoError(t, err)
			r.Key, r.Need.DiskBytes = testKey, tc.want
			row, _, err := l.Place(t.Context(), r)
			wantError(t, tc.reason, err, tc.err)
			if diff := cmp.Diff(tc.row, row.Need.DiskBytes); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
	for name, r := range map[string]engine.Reservation{
		"UnknownPool":    {Need: engine.Need{DiskBytes: map[string]int64{"slow": 1}}, Candidates: []engine.Candidate{host}},
		"UnknownDefault": {Need: engine.Need{DiskBytes: map[string]int64{"": 1}}, Candidates: []engine.Candidate{unknown}},
	} {
		t.Run(name, func(t *testing.T) {
			r.Key, r.Name, r.Inventory = testKey, "web-1", newReservation(t, l, testKey).Inventory
			_, _, err := l.Place(t.Context(), r)
			if e, ok := errors.AsType[*engine.Error](err); !ok || e.Type != engine.InsufficientResources {
				t.Errorf("A pool that the inventory does not list has no room.\ngot %v", err)
			}
		})
	}
}

// checkHostOrder checks which of several hosts with room a VM gets.
func checkHostOrder(t *testing.T, handle func() engine.Ledger) {
	a1, a2, b1 := candidate(1, "az1", 4), candidate(2, "az1", 4), candidate(3, "az2", 4)
	stepping := func(c engine.Candidate) engine.Candidate { c.Step = 2; return c }
	ranked := func(c engine.Candidate, rank, step int64) engine.Candidate {
		c.Rank, c.Step = rank, step
		return c
	}
	cases := map[string]struct {
		reason string
		group  string
		hosts  []engine.Candidate
		want   []string // hosts of VMs that are placed one after the other with one inventory
	}{
		"Rank":        {"The least rank wins, in whatever order the hosts come.", "", []engine.Candidate{b1, a2, a1}, []string{"h1", "h1", "h1", "h1", "h2"}},
		"Step":        {"VMs that the inventory lacks move a host back.", "", []engine.Candidate{stepping(a1), stepping(a2)}, []string{"h1", "h2", "h1", "h2", "h1", "h2", "h1", "h2"}},
		"Share":       {"Hosts of different size fill in proportion.", "", []engine.Candidate{ranked(a1, 1, 3), ranked(a2, 2, 1)}, []string{"h1", "h2", "h2", "h1", "h2", "h2"}},
		"Less":        {"A host that is the better the fuller it is stays first.", "", []engine.Candidate{ranked(a1, 1, 0), ranked(a2, 0, -5)}, []string{"h2", "h2", "h2", "h2", "h1"}},
		"Whole":       {"Ranks are whole numbers of 64 bits: the last one counts.", "", []engine.Candidate{ranked(a1, 1<<60+1, 1<<40), ranked(a2, 1<<60, 1<<40)}, []string{"h2", "h1", "h2", "h1"}},
		"Ties":        {"Equal ranks fall to the first id, so callers make them differ.", "", []engine.Candidate{ranked(a2, 7, 7), ranked(a1, 7, 7)}, []string{"h1", "h2", "h1", "h2"}},
		"Zones":       {"A group spreads over zones before hosts.", "web", []engine.Candidate{a1, a2, b1}, []string{"h1", "h3", "h2", "h3"}},
		"Hosts":       {"Within a zone a group spreads over hosts.", "web", []engine.Candidate{a1, a2}, []string{"h1", "h2", "h1", "h2"}},
		"FullZone":    {"Spreading is a wish, room is not.", "web", []engine.Candidate{a1, candidate(3, "az2", 1)}, []string{"h1", "h3", "h1", "h1", "h1"}},
		"GroupOfNone": {"No group is no group of its own.", "", []engine.Candidate{a1, a2, b1}, []string{"h1", "h1", "h1", "h1", "h2"}},
	}
	l := handle()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			r := newReservation(t, l, testKey, tc.hosts...)
			r.Group = tc.group
			for i := range tc.want {
				r.Key = engine.Key(fmt.Sprintf("vm-%d", i))
				dropRowsAfter(t, l, r.Key)
				row, _, err := l.Place(t.Context(), r)
				wantNoError(t, err)
				got = append(got, row.HostKey)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
	t.Run("BoundPeers", func(t *testing.T) {
		for i, host := range []string{"h1", "h3"} {
			k := engine.Key(fmt.Sprintf("vm-%d", i))
			dropRowsAfter(t, l, k, testKey)
			wantNoError(t, l.Bind(t.Context(), engine.Row{Key: k, Group: "web", HostKey: host, Zone: map[string]string{"h1": "az1", "h3": "az2"}[host], SystemID: string(k)}))
		}
		wantNoError(t, l.MarkLeaving(t.Context(), "vm-0"))
		r := newReservation(t, l, testKey, a2, b1)
		r.Group = "web"
		r.Candidates[0].Rank = 99
		if row, _, err := l.Place(t.Context(), r); err != nil || row.HostKey != "h2" {
			t.Errorf("Peers count while they stay, and not once they leave.\ngot host %s, %v", row.HostKey, err)
		}
	})
	t.Run("MovedZone", func(t *testing.T) {
		for _, k := range []engine.Key{"vm-0", "vm-1"} {
			dropRowsAfter(t, l, k)
			wantNoError(t, l.Bind(t.Context(), engine.Row{Key: k, Group: "web", HostKey: "h1", Zone: "az2", SystemID: string(k)}))
		}
		r := newReservation(t, l, testKey, a1, a2, b1)
		r.Group = "web"
		if row, _, err := l.Place(t.Context(), r); err != nil || row.HostKey != "h3" {
			t.Errorf("Peers count in the zone that their host is in now.\ngot host %s, %v", row.HostKey, err)
		}
	})
}

// checkMoves checks the next attempts of a VM that failed.
func checkMoves(t *testing.T, handle func() engine.Ledger) {
	l := handle()
	hosts := []engine.Candidate{candidate(1, "az1", 1), candidate(2, "az1", 1), candidate(3, "az2", 1)}
	_, _, err := l.Move(t.Context(), 2, newReservation(t, l, testKey, hosts...))
	wantError(t, "There must be an attempt before the next.", err, engine.ErrNotFound)

	mustPlace(t, l, testKey, hosts...)
	r := newReservation(t, l, testKey, hosts...)
	same, fresh, err := l.Move(t.Context(), 2, r)
	if err != nil || !fresh || same.HostKey != "h1" || same.Attempt != 2 {
		t.Errorf("A host that did not fail may be tried again, in the room of the first attempt.\ngot %+v, %t, %v", same, fresh, err)
	}
	_, _, err = l.Move(t.Context(), 3, r)
	wantError(t, "The first attempt may have left an instance, which its inventory does not show.", err, engine.ErrBusy)
	for _, step := range []struct {
		attempt      int
		failed, want string
	}{{3, "h1", "h2"}, {4, "h2", "h3"}} {
		r = newReservation(t, l, testKey, hosts...)
		r.Exclude = []string{step.failed}
		row, fresh, err := l.Move(t.Context(), step.attempt, r)
		if err != nil || !fresh || row.HostKey != step.want || row.Attempt != step.attempt {
			t.Errorf("Attempt %d must go to host %s.\ngot %+v, %t, %v", step.attempt, step.want, row, fresh, err)
		}
		again, fresh, err := l.Move(t.Context(), step.attempt, r)
		if err != nil || fresh || !sameRow(row, again) {
			t.Errorf("A move that is repeated is the same move.\ngot %+v, %t, %v", again, fresh, err)
		}
	}
	row, err := l.Row(t.Context(), testKey)
	wantNoError(t, err)
	if diff := cmp.Diff([]string{"h1", "h2"}, row.Excluded); diff != "" {
		t.Error("excluded hosts:", diff)
	}
	r = newReservation(t, l, testKey, hosts...)
	r.Exclude = []string{"h3"}
	_, _, err = l.Move(t.Context(), 5, r)
	if e, ok := errors.AsType[*engine.Error](err); !ok || e.Type != engine.InsufficientResources {
		t.Errorf("No host is left.\ngot %v", err)
	}
	mustPlace(t, l, "other", hosts[0])
	mustPlace(t, l, "third", hosts...)
	r = newReservation(t, l, "other", hosts...)
	r.Exclude = []string{"h1"}
	_, _, err = l.Move(t.Context(), 2, r)
	wantError(t, "Others' reservations are in the way.", err, engine.ErrBusy)
}

// checkCancelledCallers checks that a caller who gives up does not harm the rows of others.
func checkCancelledCallers(t *testing.T, handle func() engine.Ledger) {
	l := handle()
	row := mustPlace(t, l, testKey, candidate(1, "az1", 1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, err := range map[string]error{
		"Bind":    l.Bind(ctx, withSystemID(row, "abc123")),
		"Leaving": l.MarkLeaving(ctx, testKey),
		"Forget":  DropRow(ctx, l, testKey),
	} {
		wantError(t, name, err, context.Canceled)
	}
	var wg sync.WaitGroup
	for range 50 { // also in the middle of a statement
		ctx, cancel := context.WithCancel(t.Context())
		wg.Go(func() {
			_, _, _ = l.Place(ctx, engine.Reservation{Key: "other", Need: need, Inventory: engine.Tag{Generation: "none"}})
		})
		wg.Go(cancel)
	}
	wg.Wait()
	got, err := l.Row(t.Context(), testKey)
	if err != nil || !sameRow(row, got) {
		t.Errorf("want %+v, got %+v, %v", row, got, err)
	}
}

// checkFloor checks that the ledger stops accepting an older inventory when a compose is given
// up.
func checkFloor(t *testing.T, handle func() engine.Ledger) {
	l := handle()
	one, two := candidate(1, "az1", 4), candidate(2, "az1", 4)
	cases := map[string]struct {
		reason string
		do     func(*testing.T, engine.Row) error
		serves bool
	}{
		"Forgotten": {"The compose may have left an instance.", func(t *testing.T, row engine.Row) error { return DropRow(t.Context(), l, row.Key) }, false},
		"Dropped":   {"So may one that somebody else gives up.", func(t *testing.T, row engine.Row) error { return l.Drop(t.Context(), row) }, false},
		"BoundElsewhere": {"The VM is on another host, and an instance may be on the one that was meant.", func(t *testing.T, row engine.Row) error {
			row.HostKey = "h2"
			return l.Bind(t.Context(), withSystemID(row, "abc123"))
		}, false},
		"LeftUnseen": {"A delete saw nothing of it.", func(t *testing.T, row engine.Row) error {
			wantNoError(t, l.MarkLeaving(t.Context(), row.Key))
			return DropRow(t.Context(), l, row.Key)
		}, false},
		"Bound": {"A bound VM stays in the ledger until the inventories show it.", func(t *testing.T, row engine.Row) error {
			return l.Bind(t.Context(), withSystemID(row, "abc123"))
		}, true},
		"Left": {"An inventory that shows it still counts it.", func(t *testing.T, row engine.Row) error {
			wantNoError(t, l.Bind(t.Context(), withSystemID(row, "abc123")))
			wantNoError(t, l.MarkLeaving(t.Context(), row.Key))
			return DropRow(t.Context(), l, row.Key)
		}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			row := mustPlace(t, l, testKey, one)
			dropRowsAfter(t, l, testKey, "other")
			old := newReservation(t, l, "other", one, two)
			wantNoError(t, tc.do(t, row))
			var want error
			if !tc.serves {
				want = engine.ErrBusy
			}
			_, _, err := l.Place(t.Context(), old)
			wantError(t, tc.reason, err, want)
			if !tc.serves {
				mustPlace(t, l, "other", one, two)
			}
		})
	}
}
