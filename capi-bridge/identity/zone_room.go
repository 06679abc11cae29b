package identity

import (
	"context"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleet"
)

// How long a list of the Ready machines is reused, because every cluster asks
// for it. The list of VM hosts is already cached.
const (
	// roomTTL is for a MAAS with room: the room of a zone changes within
	// minutes.
	roomTTL = time.Minute
	// noRoomTTL is for a MAAS without the wanted room: a cluster that waits for
	// room asks every half a minute.
	noRoomTTL = 10 * time.Second
)

// zoneRoom finds zones with room, with one shared list for all clusters of a
// MAAS.
type zoneRoom struct {
	hosts    func(context.Context) ([]engine.VMHost, error)
	machines func(context.Context) ([]engine.Machine, error)
	now      func() time.Time

	mu       sync.Mutex // held while asking
	listedAt time.Time  // when ready was listed
	ready    []engine.Machine
}

// Forget implements controller.Zones.
func (r *zoneRoom) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listedAt = time.Time{}
}

// ZonesWithRoom implements controller.Zones.
func (r *zoneRoom) ZonesWithRoom(ctx context.Context, need fleet.ZoneNeed) ([]fleet.ZoneCapacity, error) {
	hosts, err := r.hosts(ctx)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	zones, err := fleet.Room{Hosts: hosts, Ready: r.ready}.Zones(need)
	good := roomTTL
	if len(zones) == 0 {
		good = noRoomTTL
	}
	if err != nil || r.now().Sub(r.listedAt) < good {
		return zones, err
	}
	ready, err := r.machines(ctx)
	if err != nil {
		return nil, err
	}
	r.listedAt, r.ready = r.now(), ready
	return fleet.Room{Hosts: hosts, Ready: ready}.Zones(need)
}
