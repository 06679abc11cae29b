package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// The names of the sides in the report.
const (
	sideFile          = "file"
	sideServiceOnFile = "service on a file"
	sideOneNode       = "service on 1 dqlite node"
	sideThreeNodes    = "service on 3 dqlite nodes"
	sideEtcd          = "etcd, 3 nodes"
)

// side is a store and its name in the report.
type side struct {
	name string
	// write reserves room for a fresh key. The keys of one round have a region
	// of their own, so that each round begins with an empty region.
	write func(ctx context.Context, writer int, region, key string) error
}

// candidateHosts is how many hosts a reservation may choose from.
const candidateHosts = 50

// newReservation asks for room for a VM on hosts with plenty of room.
func newReservation(tag engine.Tag) engine.Reservation {
	r := engine.Reservation{Need: engine.Need{Cores: 1, MemoryMiB: 1024, DiskBytes: map[string]int64{"": 8e9}}, Inventory: tag}
	for n := range candidateHosts {
		r.Candidates = append(r.Candidates, engine.Candidate{
			HostKey: fmt.Sprint("host", n+1), Zone: fmt.Sprint("az", n%3), Rank: int64(n), Step: candidateHosts, DefaultPool: "default",
			Free: engine.Need{Cores: 1 << 30, MemoryMiB: 1 << 30, DiskBytes: map[string]int64{"default": 1 << 49}},
		})
	}
	return r
}

// reservationForKey is a reservation for a key.
func reservationForKey(r engine.Reservation, key string) engine.Reservation {
	r.Key, r.Name = engine.Key(key), key
	return r
}

// fileSide is a ledger in a file that this process writes.
func fileSide(ctx context.Context, path string) (side, func() error, error) {
	l, err := ledger.OpenFile(ctx, path)
	if err != nil {
		return side{}, nil, err
	}
	tag, err := l.CurrentTag(ctx)
	r := newReservation(tag)
	return side{sideFile, func(ctx context.Context, _ int, region, key string) error {
		return reserveFreshKey(ctx, l.Region(region), reservationForKey(r, key))
	}}, l.Close, err
}

// side makes a side of a ledger service. Writers share one connection to each
// node.
func (s *service) side(ctx context.Context, name string) (side, error) {
	all, err := s.newClients()
	if err != nil {
		return side{}, err
	}
	tag, err := all[0].Tag(ctx)
	r := newReservation(tag)
	return side{name, func(ctx context.Context, writer int, region, key string) error {
		return reserveFreshKey(ctx, all[writer%len(all)].Region(region), reservationForKey(r, key))
	}}, err
}

// rowSize is the approximate size of a ledger's row in bytes.
const rowSize = 300

// side makes a side of etcd. Writers share one connection to each node.
func (e *etcd) side() side {
	value := strings.Repeat("x", rowSize)
	return side{sideEtcd, func(ctx context.Context, writer int, region, key string) error {
		return e.create(ctx, writer, region+"/"+key, value)
	}}
}
