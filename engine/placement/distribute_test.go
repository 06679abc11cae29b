package placement_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine/placement"
)

func perZone(placed []placement.Candidate) map[string]int {
	n := map[string]int{}
	for _, c := range placed {
		n[c.Zone]++
	}
	return n
}

func perHost(placed []placement.Candidate) map[string]int {
	n := map[string]int{}
	for _, c := range placed {
		n[c.HostID]++
	}
	return n
}

func TestDistributeAcrossZones(t *testing.T) {
	t.Parallel()
	tiny := func(h *placement.Host) { h.Cores.Total = 2 }
	cases := map[string]struct {
		reason string
		hosts  []placement.Host
		edit   func(*placement.Need)
		count  int
		zones  map[string]int // VMs in each zone
		most   int            // VMs on any host
	}{
		"None": {
			reason: "Nothing to place is nothing placed.",
			hosts:  []placement.Host{lxd("a", "az1")}, zones: map[string]int{},
		},
		"Even": {
			reason: "Six VMs in three zones are two each, however many hosts a zone has.",
			hosts: []placement.Host{
				lxd("a", "az1"), lxd("b", "az1"), lxd("c", "az1"), lxd("d", "az2"), lxd("e", "az3"), lxd("f", "az3"),
			},
			count: 6, zones: map[string]int{"az1": 2, "az2": 2, "az3": 2}, most: 2,
		},
		"FourAndFour": {
			reason: "Eight VMs on two hosts of one zone are four and four.",
			hosts:  []placement.Host{lxd("a", "az1"), lxd("b", "az1")},
			count:  8, zones: map[string]int{"az1": 8}, most: 4,
		},
		"FourAndFourPacked": {
			reason: "Packing does not bring a group together.",
			hosts:  []placement.Host{lxd("a", "az1"), lxd("b", "az1")},
			edit:   func(n *placement.Need) { n.Strategy = placement.Pack },
			count:  8, zones: map[string]int{"az1": 8}, most: 4,
		},
		"FullZone": {
			reason: "Where a zone has no room left, the others take its part, evenly.",
			hosts:  []placement.Host{lxd("a", "az1", tiny), lxd("b", "az2"), lxd("c", "az3")},
			count:  7, zones: map[string]int{"az1": 1, "az2": 3, "az3": 3}, most: 3,
		},
		"JoinsItsGroup": {
			reason: "Members that run already count, so the new ones make up for it.",
			hosts:  []placement.Host{lxd("a", "az1", holding("g", 3)), lxd("b", "az2", holding("g", 1)), lxd("c", "az3")},
			edit:   func(n *placement.Need) { n.Group = "g" },
			count:  5, zones: map[string]int{"az2": 2, "az3": 3}, most: 3,
		},
		"OneZoneWanted": {
			reason: "A zone that is asked for is kept to.",
			hosts:  []placement.Host{lxd("a", "az1"), lxd("b", "az2"), lxd("c", "az2")},
			edit:   func(n *placement.Need) { n.Zone = "az2" },
			count:  4, zones: map[string]int{"az2": 4}, most: 2,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			need := small()
			if tc.edit != nil {
				tc.edit(&need)
			}
			placed, err := placement.DistributeAcrossZones(tc.hosts, need, tc.count)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.zones, perZone(placed)); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
			for id, n := range perHost(placed) {
				if n > tc.most {
					t.Errorf("%s: %d VMs on %s, want at most %d", tc.reason, n, id, tc.most)
				}
			}
		})
	}
}

func TestDistributeIsAllOrNothing(t *testing.T) {
	t.Parallel()
	hosts := []placement.Host{lxd("a", "az1", usedCores(12)), lxd("b", "az2", usedCores(14))}
	placed, err := placement.DistributeAcrossZones(hosts, small(), 4)
	var misfit *placement.FitError
	if !errors.As(err, &misfit) || placed != nil {
		t.Fatalf("got %v and %v, want no VM and a FitError", placed, err)
	}
	if want := "only 3 of 4 VMs fit: 0/2 hosts fit: 2 too few cores"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	var invalid *placement.NeedError
	if _, err := placement.DistributeAcrossZones(hosts, small(), -1); !errors.As(err, &invalid) {
		t.Errorf("-1 VMs: got %v, want a NeedError", err)
	}
}

// A VM without a group goes where there is room, a fleet with a lot of them
// keeps its balance.
func TestFleetRemembers(t *testing.T) {
	t.Parallel()
	f := placement.NewFleet([]placement.Host{lxd("a", "az1"), lxd("b", "az1"), lxd("c", "az2"), lxd("d", "az2")})
	var placed []placement.Candidate
	for i := range 32 {
		c, err := f.Place(small(func(n *placement.Need) { n.Key = fmt.Sprint(i) }))
		if err != nil {
			t.Fatalf("VM %d: %v", i, err)
		}
		placed = append(placed, c)
	}
	want := map[string]int{"a": 8, "b": 8, "c": 8, "d": 8}
	if diff := cmp.Diff(want, perHost(placed)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	_, err := f.Place(small())
	var misfit *placement.FitError
	if !errors.As(err, &misfit) || !misfit.MayPass() {
		t.Errorf("a full fleet: got %v, want a FitError that may pass", err)
	}
}

// VMs that are placed at the same moment see the same hosts; the tie-break
// keeps them from running to one of them.
func TestEqualHostsDoNotHerd(t *testing.T) {
	t.Parallel()
	var hosts []placement.Host
	for i := range 10 {
		hosts = append(hosts, lxd(fmt.Sprint(i), "az1"))
	}
	var placed []placement.Candidate
	for i := range 1000 {
		c, err := placement.Choose(hosts, small(func(n *placement.Need) { n.Key = fmt.Sprintf("team/web-%d", i) }))
		if err != nil {
			t.Fatal(err)
		}
		placed = append(placed, c)
	}
	for id, n := range perHost(placed) {
		if n < 60 || n > 140 { // 100 ± 4 standard deviations
			t.Errorf("%d of 1000 VMs on host %s, want about 100", n, id)
		}
	}
	if n := len(perHost(placed)); n != 10 {
		t.Errorf("%d of 10 hosts were chosen", n)
	}
}

func TestOrderOfHostsDoesNotMatter(t *testing.T) {
	t.Parallel()
	var hosts []placement.Host
	for i := range 12 {
		hosts = append(hosts, lxd(fmt.Sprint(i), fmt.Sprintf("az%d", i%3), usedCores(int64(i%2)*4)))
	}
	want, err := placement.Fit(hosts, small())
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		shuffled := slices.Clone(hosts)
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		got, err := placement.Fit(shuffled, small())
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("%v\n-want +got:\n%s", err, diff)
		}
	}
}
