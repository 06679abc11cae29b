package identity

import (
	"context"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// How long a finding serves, for every cluster asks.
const (
	// roomFor is for zones: whether one has room is a matter of minutes.
	roomFor = time.Minute
	// noRoomFor is for a MAAS without room for what is asked for: who waits for
	// room looks every half a minute.
	noRoomFor = 10 * time.Second
)

// room finds zones with room, and asks for all clusters of a MAAS at once.
type room struct {
	find func(context.Context) (engine.Room, error)
	now  func() time.Time

	mu    sync.Mutex // held while asking
	at    time.Time
	found engine.Room
}

// Forget implements controller.Zones.
func (r *room) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at = time.Time{}
}

// ZonesWithRoom implements controller.Zones.
func (r *room) ZonesWithRoom(ctx context.Context, need engine.ZoneNeed) ([]engine.ZoneCapacity, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	zones, err := r.found.Zones(need)
	good := roomFor
	if len(zones) == 0 {
		good = noRoomFor
	}
	if err != nil || r.now().Sub(r.at) < good {
		return zones, err
	}
	found, err := r.find(ctx)
	if err != nil {
		return nil, err
	}
	r.at, r.found = r.now(), found
	return found.Zones(need)
}
