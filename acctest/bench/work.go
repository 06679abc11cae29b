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
	name       string
	args       []string
	changed    bool                                  // the value of the configuration's variable "changed"
	ideal      func(kind, sim.Latency) time.Duration // what MAAS needs for one; nil: no time to compare with
	createsAll bool                                  // it begins with nothing
	wantLeft   func(n int) int                       // how many must exist, finished, at its end
}

// command is the step's Terraform command line.
func (s step) command(parallelism int) []string {
	return append([]string{s.args[0], "-no-color", "-parallelism=" + strconv.Itoa(parallelism)}, s.args[1:]...)
}

func wantAll(n int) int { return n }

func wantNone(int) int { return 0 }

func idealCreateTime(k kind, l sim.Latency) time.Duration { return k.createTime(l) }

func idealDestroyTime(k kind, l sim.Latency) time.Duration { return k.destroyTime(l) }

// lifeSteps is the whole life of a VM or host.
var lifeSteps = []step{
	{name: "apply", args: []string{"apply", "-auto-approve"}, ideal: idealCreateTime, createsAll: true, wantLeft: wantAll},
	{name: "plan", args: []string{"plan"}, wantLeft: wantAll},
	{name: "update", args: []string{"apply", "-auto-approve"}, changed: true, wantLeft: wantAll},
	{name: "destroy", args: []string{"destroy", "-auto-approve"}, changed: true, ideal: idealDestroyTime, wantLeft: wantNone},
}

// readSteps are the most frequent commands: nothing changes.
var readSteps = []step{
	{name: "plan", args: []string{"plan"}, wantLeft: wantAll},
	{name: "refresh", args: []string{"apply", "-refresh-only", "-auto-approve"}, wantLeft: wantAll},
}

// unchangedPlanSteps is a plan that must find nothing to do.
var unchangedPlanSteps = []step{{name: "plan", args: []string{"plan", "-detailed-exitcode"}, wantLeft: wantAll}}

// workload is a number of things, and what is done with them on a MAAS of their
// own.
type workload struct {
	kind             kind
	n                int
	times            sim.Latency
	pollInterval     string // the provider's poll interval, for our side; empty: the default
	prepare          bool   // they are made first, unmeasured
	copiesFirst      bool   // of ours only the first is made so; the others are copies of it
	judgesGrowth     bool   // compared with the same work on other numbers of VMs
	againstFramework bool   // each step is also done with the framework alone
	turns            []parallelSteps
}

// parallelSteps are steps at one parallelism: a table of the report.
type parallelSteps struct {
	parallelism int
	steps       []step
}

// planWorkloads lists the workloads.
func planWorkloads(o options) []workload {
	var work []workload
	for _, n := range o.vms {
		for _, p := range o.parallelism {
			work = append(work, workload{kind: vms, n: n, times: simulatedTimes, turns: []parallelSteps{{p, lifeSteps}}})
		}
	}
	for _, n := range o.reads {
		w := workload{kind: vms, n: n, times: instantTimes, prepare: true, copiesFirst: true, againstFramework: true}
		for _, p := range o.parallelism {
			w.turns = append(w.turns, parallelSteps{p, readSteps})
		}
		work = append(work, w)
	}
	for _, n := range o.growth {
		work = append(work, workload{
			kind: vms, n: n, times: instantTimes, prepare: true, copiesFirst: true, judgesGrowth: true, turns: []parallelSteps{{o.parallelism[0], unchangedPlanSteps}},
		})
	}
	for _, n := range o.hosts {
		work = append(work, workload{kind: hosts, n: n, times: simulatedTimes, turns: []parallelSteps{{o.parallelism[0], lifeSteps}}})
	}
	if len(o.hosts) > 0 {
		work = append(work, workload{kind: lateHosts, n: o.hosts[0], times: varyingBootTimes, turns: []parallelSteps{{o.parallelism[0], lifeSteps}}})
	}
	return work
}

// bench is one run of this program.
type bench struct {
	cli      cli.CLI
	log      io.Writer
	began    time.Time
	load     string // of the machine, before the bench
	journals string // directory that keeps them; empty: none are kept
	tables   []table
	verdicts []report.Verdict
}

// table has one run of steps, measured on every side.
type table struct {
	kind           kind
	n, parallelism int
	steps          []step
	sides          []side
	cells          [][]measurement // by step, then by side
}

// measure does all workloads, on one side after the other.
func (b *bench) measure(ctx context.Context, sides []side, work []workload) error {
	var grown []table
	for _, load := range work {
		first, able := len(b.tables), sidesFor(load.kind, sides)
		if load.judgesGrowth {
			able = able[:1] // only ours is judged for growth
		}
		for _, t := range load.turns {
			b.tables = append(b.tables, table{load.kind, load.n, t.parallelism, t.steps, able, make([][]measurement, len(t.steps))})
		}
		for _, s := range able {
			if err := b.measureWorkload(ctx, s, load, b.tables[first:]); err != nil {
				return fmt.Errorf("%s, %d %s: %w", s.name, load.n, load.kind.many, err)
			}
		}
		for _, t := range b.tables[first:] {
			b.verdicts = append(b.verdicts, t.evaluateBudgets()...)
			if load.judgesGrowth {
				grown = append(grown, t)
			}
		}
	}
	b.verdicts = append(b.verdicts, evaluateGrowth(grown)...)
	return nil
}

// measureWorkload does one workload on one side, and adds its measurements to
// its tables.
func (b *bench) measureWorkload(ctx context.Context, s side, l workload, tables []table) error {
	w, err := newWorkspace(b.cli, s, l)
	if err != nil {
		return err
	}
	defer w.close()
	if l.prepare {
		b.logProgress("%s: making %d %s to read", s.name, l.n, l.kind.many)
		if err := w.prepareVMs(ctx, l, l.copiesFirst && s.ours); err != nil {
			return err
		}
	}
	for i, t := range l.turns {
		for n, step := range t.steps {
			b.logProgress("%s: %s of %d %s, parallelism %d", s.name, step.name, l.n, l.kind.many, t.parallelism)
			do := w.measureStep
			if l.againstFramework && s.ours {
				do = w.measureAgainstFramework
			}
			m, journal, err := do(ctx, step, l, t.parallelism)
			if err == nil {
				err = report.SaveJournal(b.journals, fmt.Sprintf("%s-%d%s-%d-%d%s", s.name, l.n, l.kind.many, t.parallelism, n+1, step.name), journal)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", step.name, err)
			}
			tables[i].cells[n] = append(tables[i].cells[n], m)
		}
	}
	return nil
}

// measureStep runs and measures a step, and checks that its work was done.
func (w *workspace) measureStep(ctx context.Context, s step, l workload, parallelism int) (measurement, sim.Journal, error) {
	variables := []string{"TF_VAR_changed=" + strconv.FormatBool(s.changed)}
	if l.pollInterval != "" {
		variables = append(variables, "TF_VAR_poll_interval="+l.pollInterval)
	}
	m, journal, err := w.runCommand(ctx, s.command(parallelism), variables)
	if err != nil {
		return m, journal, err
	}
	switch {
	case s.ideal == nil:
	case s.createsAll && l.times.FirstBootMost > 0:
		m.Boots = w.firstBoots()
		m.Ideal, m.IdealSpan = idealTimesOfBoots(m.Boots, parallelism, s.ideal(l.kind, l.times)-l.times.FirstBoot)
	default:
		m.Ideal, m.IdealSpan = waves(l.n, parallelism)*s.ideal(l.kind, l.times), s.ideal(l.kind, l.times)
	}
	want := s.wantLeft(l.n)
	if have, done := l.kind.countLeft(w.maas); have != want || done != want {
		return m, journal, fmt.Errorf("there are %d %s at its end, %d of them finished, want %d", have, l.kind.many, done, want)
	}
	return m, journal, nil
}

// logProgress prints a line for people, who wait.
func (b *bench) logProgress(format string, args ...any) {
	fmt.Fprintf(b.log, "%6s  %s\n", time.Since(b.began).Round(time.Second), fmt.Sprintf(format, args...))
}
