package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/acctest/bench/report"
	"github.com/maaslxd/maaslxd/acctest/kubetest/programs"
)

const (
	// stepTimeout is how long a step may take. A merely busy machine is far
	// faster.
	stepTimeout = 10 * time.Minute
	// quietTime is how long nothing may be written before machines count as at
	// rest. It is longer than the time between two looks at one machine.
	quietTime = 75 * time.Second
)

// bench is one run of this program.
type bench struct {
	options
	builder *programs.Builder
	log     io.Writer
	began   time.Time
	load    string // of the computer, before the bench

	lifeSteps []measurement
	rest      *measurement // nil: not measured
}

// measure does both workloads, each in a test bed of its own.
func (b *bench) measure(ctx context.Context) error {
	if b.machines > 0 {
		if err := b.measureLife(ctx); err != nil {
			return fmt.Errorf("%d machines: %w", b.machines, err)
		}
	}
	if b.options.rest > 0 {
		if err := b.measureRest(ctx); err != nil {
			return fmt.Errorf("%d machines at rest: %w", b.options.rest, err)
		}
	}
	return nil
}

// measureLife makes machines and deletes them.
func (b *bench) measureLife(ctx context.Context) error {
	w, err := newTestBed(ctx, b.builder, b.options, simulatedModel(b.machines, simulatedTimes), b.log)
	if err != nil {
		return err
	}
	defer w.close()
	for _, s := range steps(w, b.machines) {
		b.logProgress("%s, %d machines", s.name, b.machines)
		if err := b.measureStep(ctx, w, s); err != nil {
			return w.withManagerLog(fmt.Errorf("%s: %w", s.name, err))
		}
	}
	return nil
}

// step is a part of the life of clusters.
type step struct {
	name    string
	ideal   time.Duration
	perform func(context.Context) error
	until   func(counts) bool // the step ends when this is true
	after   func(counts) bool // calls count until this is true; nil: until the step ends
	check   func() error
}

// steps are the whole life of that many machines.
func steps(w *testBed, machines int) []step {
	clusters := machines / machinesEach
	return []step{
		{
			name: "to Ready", ideal: idealMachineTime(simulatedTimes),
			perform: func(ctx context.Context) error { return w.makeClusters(ctx, clusters) },
			until:   func(c counts) bool { return c.ready == machines },
			after:   func(c counts) bool { return c.attached == clusters*controlPlanes },
			check:   func() error { return w.checkInstances(machines) },
		},
		{
			name: "machines deleted", ideal: simulatedTimes.Release + simulatedTimes.Delete,
			perform: func(ctx context.Context) error { return w.deleteMachines(ctx, clusters) },
			until:   func(c counts) bool { return c.machines == 0 },
			check:   func() error { return w.checkInstances(0) },
		},
		{
			name:    "clusters deleted",
			perform: w.deleteClusters,
			until:   func(c counts) bool { return c.clusters == 0 },
			check:   func() error { return w.checkInstances(0) },
		},
	}
}

// measureStep runs and measures a step, and checks that its work was done.
func (b *bench) measureStep(ctx context.Context, w *testBed, s step) error {
	begun, err := w.beginStep(ctx)
	if err != nil {
		return err
	}
	if err := s.perform(ctx); err != nil {
		return err
	}
	if err := w.core.awaitCounts(ctx, stepTimeout, s.until); err != nil {
		return err
	}
	wall := time.Since(begun.at)
	if s.after != nil {
		if err := w.core.awaitCounts(ctx, stepTimeout, s.after); err != nil {
			return err
		}
	}
	m, journal, err := w.finishStep(ctx, begun, s.name, b.machines)
	if err != nil {
		return err
	}
	m.Ideal, m.Wall = s.ideal, wall
	b.lifeSteps = append(b.lifeSteps, m)
	if err := report.SaveJournal(b.journals, fmt.Sprintf("%d-%s", len(b.lifeSteps), strings.ReplaceAll(s.name, " ", "-")), journal); err != nil {
		return err
	}
	return s.check()
}

// checkInstances returns an error unless the LXDs have that many VMs.
func (w *testBed) checkInstances(want int) error {
	if have := len(w.maas.Instances()); have != want {
		return fmt.Errorf("there are %d VMs in the LXDs, want %d", have, want)
	}
	return nil
}

// measureRest makes machines with a MAAS without delays, and then leaves them
// alone.
func (b *bench) measureRest(ctx context.Context) error {
	n := b.options.rest
	w, err := newTestBed(ctx, b.builder, b.options, simulatedModel(n, instantTimes), b.log)
	if err != nil {
		return err
	}
	defer w.close()
	b.logProgress("making %d machines to leave alone", n)
	if err := w.makeClusters(ctx, n/machinesEach); err != nil {
		return w.withManagerLog(err)
	}
	if err := w.core.awaitCounts(ctx, stepTimeout, func(c counts) bool { return c.ready == n }); err != nil {
		return w.withManagerLog(err)
	}
	b.logProgress("waiting until nothing is written")
	if err := w.awaitQuiet(ctx); err != nil {
		return err
	}
	b.logProgress("leaving them alone for %v", b.watch)
	m, err := b.measureAtRest(ctx, w)
	if err != nil {
		return w.withManagerLog(err)
	}
	b.rest = &m
	return w.checkInstances(n)
}

// awaitQuiet waits until nothing has been written for quietTime. A bed that
// never becomes quiet is measured as it is.
func (w *testBed) awaitQuiet(ctx context.Context) error {
	for begun := time.Now(); time.Since(begun) < stepTimeout; {
		_, last := w.core.countWrites()
		if time.Since(last) >= quietTime {
			break
		}
		if err := sleepContext(ctx, quietTime-time.Since(last)); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) measureAtRest(ctx context.Context, w *testBed) (measurement, error) {
	begun, err := w.beginStep(ctx)
	if err != nil {
		return measurement{}, err
	}
	if err := sleepContext(ctx, b.watch); err != nil {
		return measurement{}, err
	}
	m, journal, err := w.finishStep(ctx, begun, "at rest", b.options.rest)
	if err != nil {
		return m, err
	}
	if _, err := w.core.counts(); err != nil {
		return m, err
	}
	return m, report.SaveJournal(b.journals, "rest", journal)
}

func sleepContext(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// logProgress prints a line for people, who wait.
func (b *bench) logProgress(format string, args ...any) {
	fmt.Fprintf(b.log, "%6s  %s\n", time.Since(b.began).Round(time.Second), fmt.Sprintf(format, args...))
}
