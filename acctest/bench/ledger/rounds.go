package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// result is what a side did with one number of writers, in all rounds.
type result struct {
	side  string
	took  []time.Duration // time of each reservation
	walls []time.Duration // time of each round
}

// perSecond is the throughput in reservations per second.
func (r result) perSecond() float64 {
	wall := time.Duration(0)
	for _, w := range r.walls {
		wall += w
	}
	return float64(len(r.took)) / wall.Seconds()
}

// percentile is the duration that p of a hundred reservations did not exceed.
func (r result) percentile(p int) time.Duration {
	sorted := slices.Sorted(slices.Values(r.took))
	return sorted[min(len(sorted)-1, len(sorted)*p/100)]
}

// throughputOver is this side's throughput divided by the other's: the median
// of the rounds. A pause of the machine spoils one round, and not the median.
func (r result) throughputOver(other result) float64 {
	var ratios []float64
	for i := range r.walls {
		ratios = append(ratios, other.walls[i].Seconds()/r.walls[i].Seconds())
	}
	return median(ratios)
}

// median is the middle value, or the mean of the two middle ones.
func median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	n := len(sorted)
	return (sorted[n/2] + sorted[(n-1)/2]) / 2
}

// runRound makes n reservations with that many writers, and adds them to the
// result.
func (r *result) runRound(ctx context.Context, s side, region string, writers, n int) error {
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
	r.walls = append(r.walls, time.Since(began))
	r.took = append(r.took, took...)
	for _, err := range errs {
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// runRoundsByTurns lets the sides take turns, in an order that changes with
// each round. It returns one result for each side.
func runRoundsByTurns(ctx context.Context, sides []side, writers, rounds, n int) ([]result, error) {
	all := make([]result, len(sides))
	for round := range rounds + 1 {
		for turn := range sides {
			i := (round + turn) % len(sides)
			into := &all[i]
			if round == 0 { // the first round warms up connections and statements
				into = &result{}
			}
			if err := into.runRound(ctx, sides[i], fmt.Sprintf("bench-%d-%d", writers, round), writers, n); err != nil {
				return nil, err
			}
		}
	}
	for i := range all {
		all[i].side = sides[i].name
	}
	return all, nil
}
