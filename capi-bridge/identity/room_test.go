package identity

import (
	"context"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// TestRoom: clusters share what was found, for a shorter time where it was
// nothing.
func TestRoom(t *testing.T) {
	t.Parallel()
	now, asked := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), 0
	var zones []engine.ZoneCapacity
	r := &room{now: func() time.Time { return now }, find: func(context.Context, engine.ZoneNeed) ([]engine.ZoneCapacity, error) {
		asked++
		return zones, nil
	}}
	for _, step := range []struct {
		reason      string
		later       time.Duration
		zones       []engine.ZoneCapacity
		want, found int
	}{
		{"Nobody asked before.", 0, nil, 1, 0},
		{"A full MAAS is not asked by each cluster.", noRoomFor - 1, nil, 1, 0},
		{"Room is found soon after it was made.", 1, []engine.ZoneCapacity{{Zone: "az1"}}, 2, 1},
		{"That serves for long.", roomFor - 1, nil, 2, 1},
		{"But not for ever.", 1, nil, 3, 0},
	} {
		now, zones = now.Add(step.later), step.zones
		got, err := r.ZonesWithRoom(t.Context())
		if err != nil || len(got) != step.found || asked != step.want {
			t.Errorf("%s zones %v after %d questions, %v; want %d after %d", step.reason, got, asked, err, step.found, step.want)
		}
	}
}
