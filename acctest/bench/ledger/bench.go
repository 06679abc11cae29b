package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"
)

// bench is one run of this program.
type bench struct {
	options

	dir     string // of all processes that it starts
	etcdBin string
	log     io.Writer
	began   time.Time
	load    string // of the machine, before the bench

	reservations []row // nil: not measured
	recoveries   []time.Duration
	lost         int // acknowledged writes that were lost while leaders were killed
	applies      map[string][]applyResult
}

// row is the results of all sides for one number of writers.
type row struct {
	writers int
	sides   []result // in the order of the bench's sides
}

// writerCounts are how many writers reserve at once.
var writerCounts = []int{1, 8, maxWriters}

const maxWriters = 32

// measure measures all that the flags ask for.
func (b *bench) measure(ctx context.Context) error {
	if b.rounds > 0 {
		if err := b.measureReservations(ctx); err != nil {
			return err
		}
	}
	if b.kills > 0 {
		if err := b.measureRecoveries(ctx); err != nil {
			return err
		}
	}
	if b.vms > 0 {
		return b.measureApplies(ctx)
	}
	return nil
}

// measureReservations starts all stores and measures them by turns.
func (b *bench) measureReservations(ctx context.Context) error {
	b.logProgress("starting a file, a service on a file, 1 and 3 dqlite nodes, and 3 nodes of etcd")
	s, err := b.startStores(ctx)
	defer s.stop()
	if err != nil {
		return err
	}
	for _, n := range writerCounts {
		b.logProgress("%d writers, %d rounds of %d reservations of each store", n, b.rounds, b.reserves)
		results, err := runRoundsByTurns(ctx, s.sides, n, b.rounds, b.reserves)
		if err != nil {
			return err
		}
		b.reservations = append(b.reservations, row{n, results})
	}
	return nil
}

// stores are all stores that are measured.
type stores struct {
	sides []side
	stops []func()
}

// stop stops the stores, the last one first.
func (s *stores) stop() {
	for ; len(s.stops) > 0; s.stops = s.stops[:len(s.stops)-1] {
		s.stops[len(s.stops)-1]()
	}
}

// startStores starts the stores. Beside an error it returns those that were
// started.
func (b *bench) startStores(ctx context.Context) (*stores, error) {
	all := &stores{}
	file, closeFile, err := fileSide(ctx, filepath.Join(b.dir, "file.db"))
	if err != nil {
		return all, err
	}
	all.sides, all.stops = append(all.sides, file), append(all.stops, func() { _ = closeFile() })
	for _, of := range []struct {
		name  string
		nodes int
	}{{sideServiceOnFile, 0}, {sideOneNode, 1}, {sideThreeNodes, 3}} {
		s, err := b.startService(ctx, of.name, of.nodes)
		if s != nil {
			all.stops = append(all.stops, s.stop)
		}
		if err != nil {
			return all, err
		}
		side, err := s.side(ctx, of.name)
		if err != nil {
			return all, err
		}
		all.sides = append(all.sides, side)
	}
	e, err := startEtcd(ctx, b.etcdBin, filepath.Join(b.dir, "etcd"))
	if e != nil {
		all.stops = append(all.stops, e.stop)
	}
	if err != nil {
		return all, err
	}
	all.sides = append(all.sides, e.side())
	return all, nil
}

// startService starts a service on a file, or on that many dqlite nodes, in a
// folder of that name.
func (b *bench) startService(ctx context.Context, name string, nodes int) (*service, error) {
	s, err := newFileService(b.program("capi-bridge"), filepath.Join(b.dir, name))
	if nodes > 0 {
		s, err = newCluster(ctx, b.clusterBin, filepath.Join(b.dir, name), nodes)
	}
	if err != nil {
		return nil, err
	}
	return s, s.start(ctx, filepath.Join(b.dir, name, "keys"))
}

// logProgress prints a line for people, who wait.
func (b *bench) logProgress(format string, args ...any) {
	fmt.Fprintf(b.log, "%6s  %s\n", time.Since(b.began).Round(time.Second), fmt.Sprintf(format, args...))
}
