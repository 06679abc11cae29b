package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// side is a store, by its name in the report.
type side struct {
	name string
	// write reserves room for a fresh key. Keys of one round have a region of their own, so
	// that each round begins with an empty one.
	write func(ctx context.Context, writer int, region, key string) error
}

// candidates is how many hosts a reservation may choose from.
const candidates = 50

// newReservation asks for room for a VM on hosts with ample room.
func newReservation(tag engine.Tag) engine.Reservation {
	r := engine.Reservation{Need: engine.Need{Cores: 1, MemoryMiB: 1024, DiskBytes: map[string]int64{"": 8e9}}, Inventory: tag}
	for n := range candidates {
		r.Candidates = append(r.Candidates, engine.Candidate{
			HostKey: fmt.Sprint("host", n+1), Zone: fmt.Sprint("az", n%3), Rank: int64(n), Step: candidates, DefaultPool: "default",
			Free: engine.Need{Cores: 1 << 30, MemoryMiB: 1 << 30, DiskBytes: map[string]int64{"default": 1 << 49}},
		})
	}
	return r
}

// as is a reservation for a key.
func as(r engine.Reservation, key string) engine.Reservation {
	r.Key, r.Name = engine.Key(key), key
	return r
}

// fileSide is a ledger in a file of this process.
func fileSide(ctx context.Context, dir string) (side, func() error, error) {
	l, err := ledger.Open(ctx, filepath.Join(dir, "ledger.db"))
	if err != nil {
		return side{}, nil, err
	}
	tag, err := l.Tag(ctx)
	r := newReservation(tag)
	return side{"file", func(ctx context.Context, _ int, region, key string) error {
		_, _, err := l.Region(region).Place(ctx, as(r, key))
		return err
	}}, l.Close, err
}

// side is a ledger service. Each writer begins with a node of its own.
func (s *service) side(ctx context.Context, name string) (side, error) {
	all, err := s.connect()
	if err != nil {
		return side{}, err
	}
	tag, err := all[0].Tag(ctx)
	r := newReservation(tag)
	return side{name, func(ctx context.Context, writer int, region, key string) error {
		return all.place(ctx, writer, region, as(r, key))
	}}, err
}

// rowSize is about how many bytes a row of the ledger has.
const rowSize = 300

// side is etcd. Each writer begins with a node of its own.
func (e *etcd) side() side {
	value := strings.Repeat("x", rowSize)
	return side{"etcd, 3 nodes", func(ctx context.Context, writer int, region, key string) error {
		return e.create(ctx, writer, region+"/"+key, value)
	}}
}

// result is what a side did with a number of writers, in all rounds.
type result struct {
	took []time.Duration // of each reservation
	wall time.Duration
}

// perSecond is the throughput.
func (r result) perSecond() float64 { return float64(len(r.took)) / r.wall.Seconds() }

// percentile is a duration that so many of a hundred did not exceed.
func (r result) percentile(p int) time.Duration {
	slices.Sort(r.took)
	return r.took[min(len(r.took)-1, len(r.took)*p/100)]
}

// round makes n reservations with so many writers, and adds them to a result.
func (r *result) round(ctx context.Context, s side, region string, writers, n int) error {
	var next atomic.Int64
	took, errs := make([]time.Duration, n), make([]error, writers)
	var all sync.WaitGroup
	began := time.Now()
	for w := range writers {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(n) && errs[w] == nil; i = next.Add(1) - 1 {
				start := time.Now()
				errs[w] = s.write(ctx, w, region, fmt.Sprintf("vm-%d", i))
				took[i] = time.Since(start)
			}
		})
	}
	all.Wait()
	r.wall += time.Since(began)
	r.took = append(r.took, took...)
	for _, err := range errs {
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// alternate lets the sides take turns, in an order that changes with each round. The
// results are those of the sides.
func alternate(ctx context.Context, sides []side, writers, rounds, n int) ([]result, error) {
	all := make([]result, len(sides))
	for round := range rounds + 1 {
		for turn := range sides {
			i := (round + turn) % len(sides)
			into := &all[i]
			if round == 0 { // it warms up connections and statements
				into = &result{}
			}
			if err := into.round(ctx, sides[i], fmt.Sprintf("bench-%d-%d", writers, round), writers, n); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}
