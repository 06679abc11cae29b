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
	// patience is how long a step may take: far longer than on a machine that is
	// merely busy.
	patience = 10 * time.Minute
	// still is how long nothing must have been written before machines count as
	// at rest: longer than the time between two looks at one.
	still = 75 * time.Second
)

// bench is one run of this program.
type bench struct {
	options
	builder *programs.Builder
	log     io.Writer
	began   time.Time
	load    string // of the computer, before the bench

	life []measurement
	rest *measurement // nil: not measured
}

// measure does both workloads, each in a world of its own.
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
	w, err := newWorld(ctx, b.builder, b.options, region(b.machines, simulated), b.log)
	if err != nil {
		return err
	}
	defer w.close()
	for _, s := range steps(w, b.machines) {
		b.say("%s, %d machines", s.name, b.machines)
		if err := b.do(ctx, w, s); err != nil {
			return w.failed(fmt.Errorf("%s: %w", s.name, err))
		}
	}
	return nil
}

// step is a part of the life of clusters.
type step struct {
	name  string
	ideal time.Duration
	do    func(context.Context) error
	until func(counts) bool // when its time is over
	after func(counts) bool // until when calls count, too; nil: no longer than its time
	check func() error
}

// steps are the whole life of so many machines.
func steps(w *world, machines int) []step {
	clusters := machines / machinesEach
	return []step{
		{
			name: "to Ready", ideal: ofOne(simulated),
			do:    func(ctx context.Context) error { return w.makeClusters(ctx, clusters) },
			until: func(c counts) bool { return c.ready == machines },
			after: func(c counts) bool { return c.attached == clusters*controlPlanes },
			check: func() error { return w.instances(machines) },
		},
		{
			name: "machines deleted", ideal: simulated.Release + simulated.Delete,
			do:    func(ctx context.Context) error { return w.deleteMachines(ctx, clusters) },
			until: func(c counts) bool { return c.machines == 0 },
			check: func() error { return w.instances(0) },
		},
		{
			name:  "clusters deleted",
			do:    w.deleteClusters,
			until: func(c counts) bool { return c.clusters == 0 },
			check: func() error { return w.instances(0) },
		},
	}
}

// do does and measures a step, and sees that its work was really done.
func (b *bench) do(ctx context.Context, w *world, s step) error {
	begun, err := w.begin(ctx)
	if err != nil {
		return err
	}
	if err := s.do(ctx); err != nil {
		return err
	}
	if err := w.core.await(ctx, patience, s.until); err != nil {
		return err
	}
	wall := time.Since(begun.at)
	if s.after != nil {
		if err := w.core.await(ctx, patience, s.after); err != nil {
			return err
		}
	}
	m, journal, err := w.finish(ctx, begun, s.name, b.machines)
	if err != nil {
		return err
	}
	m.Ideal, m.Wall = s.ideal, wall
	b.life = append(b.life, m)
	if err := report.Keep(b.journals, fmt.Sprintf("%d-%s", len(b.life), strings.ReplaceAll(s.name, " ", "-")), journal); err != nil {
		return err
	}
	return s.check()
}

// instances is an error unless there are so many VMs in the LXDs.
func (w *world) instances(want int) error {
	if have := len(w.maas.Instances()); have != want {
		return fmt.Errorf("there are %d VMs in the LXDs, want %d", have, want)
	}
	return nil
}

// measureRest makes machines in a hurry and leaves them alone.
func (b *bench) measureRest(ctx context.Context) error {
	n := b.options.rest
	w, err := newWorld(ctx, b.builder, b.options, region(n, instant), b.log)
	if err != nil {
		return err
	}
	defer w.close()
	b.say("making %d machines to leave alone", n)
	if err := w.makeClusters(ctx, n/machinesEach); err != nil {
		return w.failed(err)
	}
	if err := w.core.await(ctx, patience, func(c counts) bool { return c.ready == n }); err != nil {
		return w.failed(err)
	}
	b.say("waiting until nothing is written")
	if err := w.settle(ctx); err != nil {
		return err
	}
	b.say("leaving them alone for %v", b.watch)
	m, err := b.leaveAlone(ctx, w)
	if err != nil {
		return w.failed(err)
	}
	b.rest = &m
	return w.instances(n)
}

// settle waits until nothing has been written for a while. What never settles is
// measured as it is.
func (w *world) settle(ctx context.Context) error {
	for begun := time.Now(); time.Since(begun) < patience; {
		_, last := w.core.written()
		if time.Since(last) >= still {
			break
		}
		if err := sleep(ctx, still-time.Since(last)); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) leaveAlone(ctx context.Context, w *world) (measurement, error) {
	begun, err := w.begin(ctx)
	if err != nil {
		return measurement{}, err
	}
	if err := sleep(ctx, b.watch); err != nil {
		return measurement{}, err
	}
	m, journal, err := w.finish(ctx, begun, "at rest", b.options.rest)
	if err != nil {
		return m, err
	}
	if _, err := w.core.counts(); err != nil {
		return m, err
	}
	return m, report.Keep(b.journals, "rest", journal)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// say tells people, who wait, what is going on.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.log, "%6s  %s\n", time.Since(b.began).Round(time.Second), fmt.Sprintf(format, args...))
}
