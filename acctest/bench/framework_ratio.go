package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// roundsPerStep is how often a step is done with each provider, by turns. With
// three, a round that another program disturbed is not the median.
const roundsPerStep = 3

// frameworkRatio is what a step used with our provider, divided by what it used
// with the framework alone: the median of the rounds.
type frameworkRatio struct {
	Wall, CPU float64
	Unknown   int // processes of either provider that were not seen to end
}

// round is a step done with our provider and with the framework alone.
type round struct {
	ours, framework measurement
	journal         sim.Journal // of our provider
}

func (r round) wall() float64 { return r.ours.Wall.Seconds() / r.framework.Wall.Seconds() }

func (r round) cpu() float64 { return r.ours.Usage.CPU.Seconds() / r.framework.Usage.CPU.Seconds() }

// measureAgainstFramework does a step with our provider and with the framework
// alone, by turns. Its measurement is the round whose ratio of wall times is
// the median. The share of other programs is the larger one of both halves of
// that round.
func (w *workspace) measureAgainstFramework(ctx context.Context, s step, l workload, parallelism int) (measurement, sim.Journal, error) {
	var done []round
	unknown := 0
	for n := range roundsPerStep {
		r, err := w.measureRound(ctx, s, l, parallelism, n%2 == 1)
		if err != nil {
			return measurement{}, sim.Journal{}, err
		}
		done = append(done, r)
		unknown += r.ours.Usage.Unknown + r.framework.Usage.Unknown
	}
	cpu := median(done, round.cpu).cpu()
	r := median(done, round.wall)
	r.ours.OverFramework = &frameworkRatio{Wall: r.wall(), CPU: cpu, Unknown: unknown}
	r.ours.OthersShare = max(r.ours.OthersShare, r.framework.OthersShare)
	for _, other := range done { // a count is the highest of all rounds
		r.ours.Calls, r.ours.Connections = max(r.ours.Calls, other.ours.Calls), max(r.ours.Connections, other.ours.Connections)
	}
	return r.ours, r.journal, nil
}

// measureRound does the step with both providers. The one that begins changes
// from round to round.
func (w *workspace) measureRound(ctx context.Context, s step, l workload, parallelism int, aloneFirst bool) (r round, err error) {
	if aloneFirst {
		if r.framework, err = w.measureFramework(ctx, s, parallelism); err != nil {
			return r, err
		}
	}
	if r.ours, r.journal, err = w.measureStep(ctx, s, l, parallelism); err != nil || aloneFirst {
		return r, err
	}
	r.framework, err = w.measureFramework(ctx, s, parallelism)
	return r, err
}

// median is the round in the middle, by a figure.
func median(of []round, by func(round) float64) round {
	sorted := slices.SortedFunc(slices.Values(of), func(a, b round) int { return cmp.Compare(by(a), by(b)) })
	return sorted[len(sorted)/2]
}

// measureFramework does a step with the framework alone, on the state that our
// provider has written.
func (w *workspace) measureFramework(ctx context.Context, s step, parallelism int) (measurement, error) {
	self, err := os.Executable()
	if err != nil {
		return measurement{}, err
	}
	m, _, err := w.runCommand(ctx, s.command(parallelism), []string{"TF_VAR_changed=false", providerVariable + "=" + self})
	switch {
	case err != nil:
		return m, fmt.Errorf("with the framework alone: %w", err)
	case m.Calls != 0:
		return m, fmt.Errorf("with the framework alone: MAAS was called %d times", m.Calls)
	}
	return m, nil
}
