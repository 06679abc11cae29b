package identity

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// How long a finding serves, for every cluster asks.
const (
	// roomFor is for zones: whether one has room is a matter of minutes.
	roomFor = time.Minute
	// noRoomFor is for a MAAS that is full: who waits for room looks every half a
	// minute.
	noRoomFor = 10 * time.Second
)

// room finds zones with room, and asks for all clusters of a MAAS at once.
type room struct {
	find func(context.Context, engine.ZoneNeed) ([]engine.ZoneCapacity, error)
	now  func() time.Time

	mu    sync.Mutex // held while asking
	at    time.Time
	zones []engine.ZoneCapacity // the last finding
}

// ZonesWithRoom implements controller.Zones.
func (r *room) ZonesWithRoom(ctx context.Context) ([]engine.ZoneCapacity, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	good := roomFor
	if len(r.zones) == 0 {
		good = noRoomFor
	}
	if r.now().Sub(r.at) < good {
		return slices.Clone(r.zones), nil
	}
	found, err := r.find(ctx, engine.ZoneNeed{})
	if err != nil {
		return nil, err
	}
	r.at, r.zones = r.now(), found
	return slices.Clone(r.zones), nil
}
