package identity

import (
	"context"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleet"
)

// TestZoneRoomIsShared: clusters share what was found, whatever they need, and for a shorter
// time where that was nothing.
func TestZoneRoomIsShared(t *testing.T) {
	t.Parallel()
	now, asked := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), 0
	var ready []engine.Machine
	r := &zoneRoom{
		now:   func() time.Time { return now },
		hosts: func(context.Context) ([]engine.VMHost, error) { return nil, nil },
		machines: func(context.Context) ([]engine.Machine, error) {
			asked++
			return ready, nil
		},
	}
	machine := []engine.Machine{{SystemID: "m1", Zone: "az1", Pool: "metal", Status: engine.StatusReady}}
	metal := fleet.ZoneNeed{Machines: engine.Selector{Pool: "metal"}}
	other := fleet.ZoneNeed{Machines: engine.Selector{Pool: "other"}}
	for _, step := range []struct {
		reason      string
		later       time.Duration
		ready       []engine.Machine
		need        fleet.ZoneNeed
		want, found int
	}{
		{"The first question asks MAAS.", 0, nil, metal, 1, 0},
		{"For some time, other clusters do not ask a full MAAS again.", noRoomTTL - 1, nil, metal, 1, 0},
		{"Room is found soon after it was made.", 1, machine, metal, 2, 1},
		{"The room is enough for one kind of machine only.", 0, machine, other, 2, 0},
		{"An answer without room is kept for a shorter time.", noRoomTTL, machine, other, 3, 0},
		{"An answer with room is kept for a longer time.", roomTTL - 1, nil, metal, 3, 1},
		{"After that time MAAS is asked again.", 1, nil, metal, 4, 0},
	} {
		now, ready = now.Add(step.later), step.ready
		got, err := r.ZonesWithRoom(t.Context(), step.need)
		if err != nil || len(got) != step.found || asked != step.want {
			t.Errorf("%s zones %v after %d questions, %v; want %d after %d", step.reason, got, asked, err, step.found, step.want)
		}
	}
	r.Forget()
	if _, err := r.ZonesWithRoom(t.Context(), metal); err != nil || asked != 5 {
		t.Errorf("what was forgotten is not asked for: %d questions, %v", asked, err)
	}
}
