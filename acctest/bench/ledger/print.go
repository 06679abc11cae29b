package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/acctest/bench/report"
	"github.com/maaslxd/maaslxd/engine/ledger/wire"
)

// print writes the whole report.
func (b *bench) print(out io.Writer, write report.Printer) {
	fmt.Fprintf(out, "%s before and %s after; took %s.\n", b.load, report.DescribeLoad(), time.Since(b.began).Round(time.Second))
	if len(b.reservations) > 0 {
		write(out, b.gridOfReservations())
	}
	if len(b.recoveries) > 0 {
		write(out, b.gridOfRecoveries())
	}
	if len(b.applies) > 0 {
		write(out, b.gridOfApplies())
	}
	write(out, gridOfLimits(b.limits()))
}

// gridOfReservations has a row for each store and each number of writers.
func (b *bench) gridOfReservations() report.Grid {
	g := report.Grid{
		Title: fmt.Sprintf("Reservations: %d of each store and number of writers, in %d rounds", b.rounds*b.reserves, b.rounds),
		Head:  []string{"writers", "store", "p50", "p99", "a second", "over the file", "over etcd"},
	}
	for _, r := range b.reservations {
		for _, s := range r.sides {
			g.Rows = append(g.Rows, []string{
				strconv.Itoa(r.writers), s.side, formatMilliseconds(s.percentile(50)), formatMilliseconds(s.percentile(99)),
				strconv.FormatFloat(s.perSecond(), 'f', 0, 64), report.FormatNumber(s.throughputOver(r.resultOf(sideFile))), report.FormatNumber(s.throughputOver(r.resultOf(sideEtcd))),
			})
		}
	}
	return g
}

func formatMilliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', 1, 64) + " ms"
}

// gridOfRecoveries shows the times of all kills in order.
func (b *bench) gridOfRecoveries() report.Grid {
	var all []string
	for _, d := range slices.Sorted(slices.Values(b.recoveries)) {
		all = append(all, formatSeconds(d.Seconds()))
	}
	of := secondsOf(b.recoveries)
	return report.Grid{
		Title: fmt.Sprintf("A leader of three nodes killed %d times: from then until the next write is acknowledged", len(b.recoveries)),
		Head:  []string{"median", "longest", "all, sorted"},
		Rows:  [][]string{{formatSeconds(median(of)), formatSeconds(slices.Max(of)), strings.Join(all, ", ")}},
	}
}

func formatSeconds(s float64) string { return strconv.FormatFloat(s, 'f', 2, 64) + " s" }

// gridOfApplies has a column for each ledger. Several applies are shown as
// ranges.
func (b *bench) gridOfApplies() report.Grid {
	g := report.Grid{
		Title: fmt.Sprintf("Apply of %d VMs, parallelism %d, %d times each", b.vms, parallelism, b.options.applies),
		Head:  []string{"", ledgerFile, ledgerService},
	}
	add := func(name string, counts map[string]func(applyResult) int) {
		cells := []string{name}
		for _, with := range []string{ledgerFile, ledgerService} {
			cells = append(cells, formatRange(b.applies[with], counts[with]))
		}
		g.Rows = append(g.Rows, cells)
	}
	both := func(count func(applyResult) int) map[string]func(applyResult) int {
		return map[string]func(applyResult) int{ledgerFile: count, ledgerService: count}
	}
	service := func(count func(applyResult) int) map[string]func(applyResult) int {
		return map[string]func(applyResult) int{ledgerService: count}
	}
	add("MAAS calls", both(func(a applyResult) int { return a.calls }))
	add("of them writes", both(func(a applyResult) int { return a.maasWrites }))
	add("commits to the ledger's file", map[string]func(applyResult) int{ledgerFile: func(a applyResult) int { return a.commits }})
	add("requests to the service that write, or that a file does without", service(applyResult.roundTrips))
	add("requests that read, as the engine does of a file", service(applyResult.reads))
	for _, o := range wire.Operations {
		if slices.ContainsFunc(b.applies[ledgerService], func(a applyResult) bool { return a.requests[o.Name] > 0 }) {
			add("request "+o.Name, service(func(a applyResult) int { return a.requests[o.Name] }))
		}
	}
	add("wall time in seconds", both(func(a applyResult) int { return int(a.wall.Round(time.Second).Seconds()) }))
	return g
}

// formatRange shows a count of several applies, from the lowest to the highest.
func formatRange(of []applyResult, count func(applyResult) int) string {
	if count == nil {
		return report.NoValue
	}
	var all []int
	for _, a := range of {
		all = append(all, count(a))
	}
	least, most := slices.Min(all), slices.Max(all)
	if least == most {
		return strconv.Itoa(least)
	}
	return fmt.Sprintf("%d–%d", least, most)
}

// gridOfLimits shows each limit.
func gridOfLimits(limits []limit) report.Grid {
	g := report.Grid{Title: "Limits", Head: []string{"", "limit", "measured", ""}}
	for _, l := range limits {
		verdict := "met"
		if l.isMissed() {
			verdict = "MISSED"
		}
		g.Rows = append(g.Rows, []string{l.name, l.boundText(), report.FormatNumber(l.measured), verdict})
	}
	return g
}
