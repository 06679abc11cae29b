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
	of   func(measurement) string
}{
	{"MAAS calls", func(m measurement) string { return strconv.Itoa(m.Calls) }},
	{"for each machine", func(m measurement) string { return formatPerMachine(m.Calls, m.machines) }},
	{"a minute", func(m measurement) string { return report.FormatNumber(float64(m.Calls) / m.Wall.Minutes()) }},
	{"writes", func(m measurement) string { return strconv.Itoa(m.Writes) }},
	{"of a machine's own, for each", func(m measurement) string { return formatPerMachine(m.VMWrites, m.machines) }},
	{"calls that failed", func(m measurement) string { return strconv.Itoa(m.Failed) }},
	{"machine objects", func(m measurement) string { return strconv.Itoa(m.Objects) }},
	{"of them a minute", func(m measurement) string { return report.FormatNumber(float64(m.Objects) / m.Wall.Minutes()) }},
	{"TCP connections", func(m measurement) string { return strconv.Itoa(m.Connections) }},
	{"over-commits", func(m measurement) string { return strconv.Itoa(m.Overcommits) }},
	{"writes to MaasMachines and MaasClusters", func(m measurement) string { return strconv.Itoa(m.Updates) }},
	{"events told", func(m measurement) string { return strconv.Itoa(m.Events) }},
	{"wall time", func(m measurement) string { return formatSeconds(m.Wall) }},
	{"over one machine's simulated time", formatOverIdeal},
	{"manager CPU time", func(m measurement) string { return formatSeconds(m.Used.CPU) }},
	{"of one CPU", func(m measurement) string { return formatPercent(m.Used.CPU.Seconds() / m.Wall.Seconds()) }},
	{"manager memory", func(m measurement) string { return formatMiB(m.Used.RSSKiB) }},
	{"at most so far", func(m measurement) string { return formatMiB(m.Used.PeakKiB) }},
}

func formatPerMachine(of, among int) string { return report.FormatNumber(float64(of) / float64(among)) }

func formatSeconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
}

func formatPercent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) + " %" }

func formatMiB(kib int64) string { return strconv.FormatInt(kib/1024, 10) + " MiB" }

func formatOverIdeal(m measurement) string {
	if m.Ideal == 0 {
		return report.NoValue
	}
	return report.FormatNumber(m.Wall.Seconds() / m.Ideal.Seconds())
}

// print writes the whole report.
func (b *bench) print(out io.Writer, write report.Printer) {
	fmt.Fprintf(out, "%s before and %s after; took %s.\n", b.load, report.DescribeLoad(), time.Since(b.began).Round(time.Second))
	fmt.Fprintf(out, "Simulated: compose %v, commission %v, deploy %v, release %v, delete %v, a call %v.\n",
		simulatedTimes.Compose, simulatedTimes.Commission, simulatedTimes.Deploy, simulatedTimes.Release, simulatedTimes.Delete, simulatedTimes.Call)
	if len(b.lifeSteps) > 0 {
		write(out, measurementGrid(fmt.Sprintf("%d machines in clusters of %d", b.machines, machinesEach), b.lifeSteps))
	}
	if b.rest != nil {
		write(out, measurementGrid(fmt.Sprintf("%d machines at rest for %v", b.rest.machines, b.watch), []measurement{*b.rest}))
	}
	write(out, report.VerdictGrid(b.evaluateBudgets()))
}

// measurementGrid shows the measures, and then the calls by route.
func measurementGrid(title string, ms []measurement) report.Grid {
	g := report.Grid{Title: title, Head: []string{""}}
	for _, m := range ms {
		g.Head = append(g.Head, m.step)
	}
	for _, measure := range tableRows {
		row := []string{measure.name}
		for _, m := range ms {
			row = append(row, measure.of(m))
		}
		g.Rows = append(g.Rows, row)
	}
	var routes []map[string]int
	for _, m := range ms {
		routes = append(routes, m.Routes)
	}
	g.AddRoutes(routes)
	return g
}
