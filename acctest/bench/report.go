package main

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/maaslxd/maaslxd/acctest/bench/report"
)

// tableRows are the rows of a table, before those of the routes.
var tableRows = []struct {
	name string
	of   func(m measurement, n int) string
}{
	{"MAAS calls", func(m measurement, _ int) string { return strconv.Itoa(m.Calls) }},
	{"for each", func(m measurement, n int) string { return formatPerItem(m.Calls, n) }},
	{"for each, beyond polls by id", func(m measurement, n int) string { return formatPerItem(m.Calls-m.Polls, n) }},
	{"its own, for each", func(m measurement, n int) string { return formatPerItem(m.Calls-m.Shared, n) }},
	{"calls that failed", func(m measurement, _ int) string { return strconv.Itoa(len(m.Failed)) }},
	{"machine objects", func(m measurement, _ int) string { return strconv.Itoa(m.Objects) }},
	{"of them in looks", func(m measurement, _ int) string { return strconv.Itoa(m.Looks) }},
	{"TCP connections", func(m measurement, _ int) string { return strconv.Itoa(m.Connections) }},
	{"wall time", func(m measurement, _ int) string { return formatSeconds(m.Wall) }},
	{"over simulated time", func(m measurement, _ int) string { return formatOverIdeal(m) }},
	{"first boots", func(m measurement, _ int) string { return formatBootRange(m.Boots) }},
	{"CPUs used by others", func(m measurement, _ int) string { return report.FormatPercent(m.OthersShare) }},
	{"provider CPU time", func(m measurement, _ int) string { return atLeastSign(m.Usage) + formatSeconds(m.Usage.CPU) }},
	{"provider peak memory", func(m measurement, _ int) string {
		return atLeastSign(m.Usage) + strconv.FormatInt(m.Usage.PeakKiB/1024, 10) + " MiB"
	}},
	{"wall time over the framework's alone", func(m measurement, _ int) string {
		return formatOverFramework(m, func(b frameworkRatio) float64 { return b.Wall })
	}},
	{"CPU time over the framework's alone", func(m measurement, _ int) string {
		return formatOverFramework(m, func(b frameworkRatio) float64 { return b.CPU })
	}},
}

// formatOverFramework shows a figure divided by that of the framework alone.
func formatOverFramework(m measurement, of func(frameworkRatio) float64) string {
	if m.OverFramework == nil {
		return report.NoValue
	}
	return strconv.FormatFloat(of(*m.OverFramework), 'f', 2, 64)
}

func formatPerItem(calls, n int) string {
	return strconv.FormatFloat(float64(calls)/float64(n), 'f', 2, 64)
}

func formatSeconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
}

func formatOverIdeal(m measurement) string {
	if m.Ideal == 0 {
		return report.NoValue
	}
	return strconv.FormatFloat(m.overIdeal(), 'f', 2, 64)
}

// formatBootRange shows the shortest and the longest first boot.
func formatBootRange(boots []time.Duration) string {
	if len(boots) == 0 {
		return report.NoValue
	}
	return formatSeconds(boots[0]) + " to " + formatSeconds(boots[len(boots)-1])
}

// overIdeal is the wall time divided by what MAAS itself needs.
func (m measurement) overIdeal() float64 { return m.Wall.Seconds() / m.Ideal.Seconds() }

// atLeastSign marks the usage of processes that were not all seen to end.
func atLeastSign(u usage) string {
	if u.Unknown > 0 {
		return "≥ "
	}
	return ""
}

// print writes the whole report.
func (b *bench) print(out io.Writer, write report.Printer) {
	fmt.Fprintf(out, "%s; %s before and %s after; took %s.\n", b.cli.Product+" "+b.cli.Version, b.load, report.DescribeLoad(),
		time.Since(b.began).Round(time.Second))
	fmt.Fprintf(out, "Simulated: compose %v, commission %v, deploy %v, first boot %v, inventory %v, release %v, delete %v, a call %v.\n",
		simulatedTimes.Compose, simulatedTimes.Commission, simulatedTimes.Deploy, simulatedTimes.FirstBoot, simulatedTimes.Inventory, simulatedTimes.Release, simulatedTimes.Delete, simulatedTimes.Call)
	for _, t := range b.tables {
		write(out, t.grid())
	}
	write(out, report.VerdictGrid(b.verdicts))
}

func (t table) title() string {
	return fmt.Sprintf("%d %s, parallelism %d", t.n, t.kind.many, t.parallelism)
}

// grid shows the measures, and then the calls by route. Each step has a column
// for each side.
func (t table) grid() report.Grid {
	g := report.Grid{Title: t.title(), Head: []string{""}}
	var flat []measurement
	for i, s := range t.steps {
		flat = append(flat, t.cells[i]...)
		for _, side := range t.sides {
			name := s.name
			if len(t.sides) > 1 {
				name += " " + side.name
			}
			g.Head = append(g.Head, name)
		}
	}
	for _, measure := range tableRows {
		row := []string{measure.name}
		for _, m := range flat {
			row = append(row, measure.of(m, t.n))
		}
		g.Rows = append(g.Rows, row)
	}
	var routes []map[string]int
	for _, m := range flat {
		routes = append(routes, m.Routes)
	}
	g.AddRoutes(routes)
	return g
}
