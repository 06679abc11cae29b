package room_test

import (
	"testing"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger/room"
)

// newHost returns a host with this many cores, and a storage pool of 100 bytes.
func newHost(key, zone string, rank, cores int64) engine.Candidate {
	return engine.Candidate{HostKey: key, Zone: zone, Rank: rank, Step: 10, DefaultPool: "default", Free: engine.Need{
		Cores: cores, MemoryMiB: 1024, HugePagesMiB: 512, DiskBytes: map[string]int64{"default": 100},
	}}
}

// newOccupancy returns the occupancy for inventories of sequences 5 to 9.
func newOccupancy(edit func(*room.Occupancy)) *room.Occupancy {
	t := &room.Occupancy{Region: "mark", Inventory: engine.Tag{Generation: "g", Sequence: 5}, Group: "web"}
	t.ServingSequences.From, t.ServingSequences.To = 5, 9
	edit(t)
	return t
}

// newReservation asks for one core and ten bytes, with an inventory of sequence 7.
func newReservation(hosts ...engine.Candidate) engine.Reservation {
	return engine.Reservation{
		Key: "ci/web-1", Group: "web", Need: engine.Need{Cores: 1, DiskBytes: map[string]int64{"": 10}},
		Candidates: hosts, Inventory: engine.Tag{Generation: "g", Sequence: 7},
	}
}

// TestChooseHost: which host a VM gets, and why others are excluded.
func TestChooseHost(t *testing.T) {
	t.Parallel()
	small, large, far := newHost("h1", "az1", 1, 1), newHost("h2", "az1", 2, 4), newHost("h3", "az2", 3, 4)
	unseen := func(loads ...room.Load) func(*room.Occupancy) {
		return func(t *room.Occupancy) { t.UnshownLoads = loads }
	}
	for name, tc := range map[string]struct {
		reason string
		edit   func(*room.Occupancy)
		want   string
	}{
		"Rank":      {"The least rank wins.", unseen(), "h1"},
		"TooOld":    {"The inventory is from before a compose failed.", func(t *room.Occupancy) { t.ServingSequences.From = 8 }, ""},
		"TooNew":    {"The inventory is of a history that was lost.", func(t *room.Occupancy) { t.ServingSequences.To = 6 }, ""},
		"Closed":    {"A host is being removed.", func(t *room.Occupancy) { t.ClosedHosts = []string{"h1", "h2"} }, "h3"},
		"Full":      {"What is being made takes the last core.", unseen(room.Load{Host: "h1", VMs: 1, Cores: 1, ShownFrom: 8}), "h2"},
		"Shown":     {"The inventory counts it already.", unseen(room.Load{Host: "h1", VMs: 1, Cores: 1, ShownFrom: 7}), "h1"},
		"Memory":    {"Memory counts beside cores.", unseen(room.Load{Host: "h1", VMs: 1, MemoryMiB: 1025, ShownFrom: 8}), "h2"},
		"HugePages": {"So do huge pages.", unseen(room.Load{Host: "h1", VMs: 1, HugePagesMiB: 513, ShownFrom: 8}), "h2"},
		"Pool":      {"The pool that is the host's default counts by its name.", unseen(room.Load{Host: "h1", VMs: 2, Disks: map[string]int64{"default": 46}, ShownFrom: 8}), "h2"},
		"OtherPool": {"Another pool does not count.", func(t *room.Occupancy) {
			t.ClosedHosts = []string{"h2", "h3"}
			t.UnshownLoads = []room.Load{{Host: "h1", VMs: 2, Disks: map[string]int64{"fast": 46}, ShownFrom: 8}}
		}, "h1"},
		"Absurd":     {"A sum beyond all measure leaves no room.", unseen(room.Load{Host: "h1", VMs: 1 << 20, Disks: map[string]int64{"default": 1 << 50}, ShownFrom: 8}), "h2"},
		"Step":       {"What is being made moves a host back.", unseen(room.Load{Host: "h1", VMs: 1, ShownFrom: 8}), "h2"},
		"Zone":       {"The group spreads over zones.", func(t *room.Occupancy) { t.Peers = []room.PeerCount{{Host: "h2", Zone: "az1", VMs: 1}} }, "h3"},
		"Host":       {"Then over hosts.", func(t *room.Occupancy) { t.Peers = []room.PeerCount{{"h1", "az1", 1}, {"h3", "az2", 1}} }, "h2"},
		"MovedPeer":  {"A peer counts in the zone that its host is in now.", func(t *room.Occupancy) { t.Peers = []room.PeerCount{{"h3", "az1", 1}} }, "h1"},
		"HiddenPeer": {"A peer on a host that is not shown counts where it was.", func(t *room.Occupancy) { t.Peers = []room.PeerCount{{"h9", "az1", 1}} }, "h3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := newOccupancy(tc.edit).ChooseHost(newReservation(far, large, small), nil)
			if got.HostKey != tc.want || ok != (tc.want != "") {
				t.Errorf("%s\ngot %q, %t, want %q", tc.reason, got.HostKey, ok, tc.want)
			}
		})
	}
	if got, _ := newOccupancy(unseen()).ChooseHost(newReservation(small, large), []string{"h1"}); got.HostKey != "h2" {
		t.Errorf("got %s in the place of a host that is excluded", got.HostKey)
	}
}

// TestPlacedVMsTakeRoom: VMs that are placed one after the other count for each other.
func TestPlacedVMsTakeRoom(t *testing.T) {
	t.Parallel()
	all := newOccupancy(func(*room.Occupancy) {})
	hosts := []engine.Candidate{newHost("h1", "az1", 1, 1), newHost("h2", "az1", 2, 2), newHost("h3", "az2", 3, 1)}
	var got []string
	for range 5 {
		chosen, ok := all.ChooseHost(newReservation(hosts...), nil)
		if !ok {
			break
		}
		got = append(got, chosen.HostKey)
		all.AddPlaced(newReservation(hosts...), chosen)
	}
	want := []string{"h1", "h3", "h2", "h2"} // zones first, then hosts, until all four cores are taken
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for n := range want {
		if got[n] != want[n] {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

// TestIsFor: an occupancy that was read for one reservation is used for another only if it lacks
// nothing.
func TestIsFor(t *testing.T) {
	t.Parallel()
	all := newOccupancy(func(*room.Occupancy) {})
	for name, tc := range map[string]struct {
		edit func(region *string, r *engine.Reservation)
		want bool
	}{
		"Same":       {func(*string, *engine.Reservation) {}, true},
		"Newer":      {func(_ *string, r *engine.Reservation) { r.Inventory.Sequence = 9 }, true},
		"Older":      {func(_ *string, r *engine.Reservation) { r.Inventory.Sequence = 4 }, false},
		"Generation": {func(_ *string, r *engine.Reservation) { r.Inventory.Generation = "other" }, false},
		"Group":      {func(_ *string, r *engine.Reservation) { r.Group = "" }, false},
		"Region":     {func(region *string, _ *engine.Reservation) { *region = "other" }, false},
	} {
		region, r := "mark", newReservation()
		tc.edit(&region, &r)
		if got := all.IsCompleteFor(region, r); got != tc.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
