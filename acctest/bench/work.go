package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/maaslxd/maaslxd/acctest/bench/report"
	"github.com/maaslxd/maaslxd/acctest/cli"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// step is one command.
type step struct {
	name    string
	args    []string
	changed bool                                  // the configuration's variable of that name
	ideal   func(kind, sim.Latency) time.Duration // what MAAS needs for one; nil: no time worth comparing with
	makes   bool                                  // from nothing
	want    func(n int) int                       // how many there must be, finished, at its end
}

// command is the step's, for Terraform.
func (s step) command(parallelism int) []string {
	return append([]string{s.args[0], "-no-color", "-parallelism=" + strconv.Itoa(parallelism)}, s.args[1:]...)
}

func all(n int) int { return n }

func none(int) int { return 0 }

func created(k kind, l sim.Latency) time.Duration { return k.created(l) }

func destroyed(k kind, l sim.Latency) time.Duration { return k.destroyed(l) }

// life is the whole life of a VM or host.
var life = []step{
	{name: "apply", args: []string{"apply", "-auto-approve"}, ideal: created, makes: true, want: all},
	{name: "plan", args: []string{"plan"}, want: all},
	{name: "update", args: []string{"apply", "-auto-approve"}, changed: true, want: all},
	{name: "destroy", args: []string{"destroy", "-auto-approve"}, changed: true, ideal: destroyed, want: none},
}

// reading is what is done most often: nothing changes.
var reading = []step{
	{name: "plan", args: []string{"plan"}, want: all},
	{name: "refresh", args: []string{"apply", "-refresh-only", "-auto-approve"}, want: all},
}

// unchanged is a plan that must find nothing to do.
var unchanged = []step{{name: "plan", args: []string{"plan", "-detailed-exitcode"}, want: all}}

// workload is a number of things, and what is done with them on a MAAS of their
// own.
type workload struct {
	kind    kind
	n       int
	times   sim.Latency
	poll    string // time between two looks of ours; empty: the provider's default
	prepare bool   // they are made first, unmeasured
	copied  bool   // of ours only the first is, and the others are copies of it
	grows   bool   // compared with the same work on other numbers of VMs
	alone   bool   // each step is done with the framework alone, too
	turns   []turn
}

// turn is steps at one parallelism: a table of the report.
type turn struct {
	parallelism int
	steps       []step
}

// plan lists the workloads.
func plan(o options) []workload {
	var work []workload
	for _, n := range o.vms {
		for _, p := range o.parallelism {
			work = append(work, workload{kind: vms, n: n, times: simulated, turns: []turn{{p, life}}})
		}
	}
	for _, n := range o.reads {
		w := workload{kind: vms, n: n, times: instant, prepare: true, copied: true, alone: true}
		for _, p := range o.parallelism {
			w.turns = append(w.turns, turn{p, reading})
		}
		work = append(work, w)
	}
	for _, n := range o.growth {
		work = append(work, workload{
			kind: vms, n: n, times: instant, prepare: true, copied: true, grows: true, turns: []turn{{o.parallelism[0], unchanged}},
		})
	}
	for _, n := range o.hosts {
		work = append(work, workload{kind: hosts, n: n, times: simulated, turns: []turn{{o.parallelism[0], life}}})
	}
	if len(o.hosts) > 0 {
		work = append(work, workload{kind: lateHosts, n: o.hosts[0], times: differing, turns: []turn{{o.parallelism[0], life}}})
	}
	return work
}

// bench is one run of this program.
type bench struct {
	cli      cli.CLI
	log      io.Writer
	began    time.Time
	load     string // of the machine, before the bench
	journals string // directory to keep them in; empty: none are kept
	tables   []table
	verdicts []report.Verdict
}

// table is a turn, measured on every side.
type table struct {
	kind           kind
	n, parallelism int
	steps          []step
	sides          []side
	cells          [][]measurement // by step, then by side
}

// measure does all workloads, each on one side after the other.
func (b *bench) measure(ctx context.Context, sides []side, work []workload) error {
	var grown []table
	for _, load := range work {
		first, able := len(b.tables), ableTo(load.kind, sides)
		if load.grows {
			able = able[:1] // whose growth is judged
		}
		for _, t := range load.turns {
			b.tables = append(b.tables, table{load.kind, load.n, t.parallelism, t.steps, able, make([][]measurement, len(t.steps))})
		}
		for _, s := range able {
			if err := b.workOn(ctx, s, load, b.tables[first:]); err != nil {
				return fmt.Errorf("%s, %d %s: %w", s.name, load.n, load.kind.many, err)
			}
		}
		for _, t := range b.tables[first:] {
			b.verdicts = append(b.verdicts, t.verdicts()...)
			if load.grows {
				grown = append(grown, t)
			}
		}
	}
	b.verdicts = append(b.verdicts, growth(grown)...)
	return nil
}

// workOn does one workload on one side, and adds its measurements to the
// tables of its turns.
func (b *bench) workOn(ctx context.Context, s side, l workload, tables []table) error {
	w, err := newWorkspace(b.cli, s, l)
	if err != nil {
		return err
	}
	defer w.close()
	if l.prepare {
		b.say("%s: making %d %s to read", s.name, l.n, l.kind.many)
		if err := w.prepare(ctx, l, l.copied && s.ours); err != nil {
			return err
		}
	}
	for i, t := range l.turns {
		for n, step := range t.steps {
			b.say("%s: %s of %d %s, parallelism %d", s.name, step.name, l.n, l.kind.many, t.parallelism)
			do := w.step
			if l.alone && s.ours {
				do = w.besideAlone
			}
			m, journal, err := do(ctx, step, l, t.parallelism)
			if err == nil {
				err = report.Keep(b.journals, fmt.Sprintf("%s-%d%s-%d-%d%s", s.name, l.n, l.kind.many, t.parallelism, n+1, step.name), journal)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", step.name, err)
			}
			tables[i].cells[n] = append(tables[i].cells[n], m)
		}
	}
	return nil
}

// step runs and measures a step, and sees that its work was really done.
func (w *workspace) step(ctx context.Context, s step, l workload, parallelism int) (measurement, sim.Journal, error) {
	variables := []string{"TF_VAR_changed=" + strconv.FormatBool(s.changed)}
	if l.poll != "" {
		variables = append(variables, "TF_VAR_poll_interval="+l.poll)
	}
	m, journal, err := w.do(ctx, s.command(parallelism), variables)
	if err != nil {
		return m, journal, err
	}
	switch {
	case s.ideal == nil:
	case s.makes && l.times.FirstBootMost > 0:
		m.Boots = w.boots()
		m.Ideal, m.IdealSpan = drawnTimes(m.Boots, parallelism, s.ideal(l.kind, l.times)-l.times.FirstBoot)
	default:
		m.Ideal, m.IdealSpan = waves(l.n, parallelism)*s.ideal(l.kind, l.times), s.ideal(l.kind, l.times)
	}
	want := s.want(l.n)
	if have, done := l.kind.left(w.maas); have != want || done != want {
		return m, journal, fmt.Errorf("there are %d %s at its end, %d of them finished, want %d", have, l.kind.many, done, want)
	}
	return m, journal, nil
}

// say tells people, who wait, what is going on.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.log, "%6s  %s\n", time.Since(b.began).Round(time.Second), fmt.Sprintf(format, args...))
}
