package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/maaslxd/maaslxd/acctest/bench/report"
)

// limit is a bound for the ledger, with the measured figure.
type limit struct {
	name      string
	isMinimum bool // the figure must be at least bound; false: at most
	bound     float64
	measured  float64
}

// isMissed reports whether the measured figure is outside the bound.
func (l limit) isMissed() bool {
	if l.isMinimum {
		return l.measured < l.bound
	}
	return l.measured > l.bound
}

// boundText is the bound in words.
func (l limit) boundText() string {
	if l.isMinimum {
		return "at least " + report.FormatNumber(l.bound)
	}
	return "at most " + report.FormatNumber(l.bound)
}

// missedError is an error for each limit that is missed.
func missedError(limits []limit) error {
	var errs []error
	for _, l := range limits {
		if l.isMissed() {
			errs = append(errs, fmt.Errorf("limit missed: %s: %s, want %s", l.name, report.FormatNumber(l.measured), l.boundText()))
		}
	}
	return errors.Join(errs...)
}

// The limits.
const (
	minShareOfFile    = 0.5 // throughput of the service on a file, divided by that of the file alone
	minShareOfEtcd    = 0.3 // throughput of three dqlite nodes, divided by that of etcd
	etcdWriters       = 8   // the number of writers at which etcd is compared
	maxMedianRecovery = 2 * time.Second
	maxRecovery       = 5 * time.Second
	maxTripsPerCommit = 2 // round trips that only a service needs, for each commit to a file: the write itself and one more
)

// limits are those of everything that was measured.
func (b *bench) limits() []limit {
	all := b.limitsOfReservations()
	if len(b.recoveries) > 0 {
		seconds := secondsOf(b.recoveries)
		all = append(all,
			limit{name: "median recovery from a killed leader, in seconds", bound: maxMedianRecovery.Seconds(), measured: median(seconds)},
			limit{name: "longest recovery from a killed leader, in seconds", bound: maxRecovery.Seconds(), measured: slices.Max(seconds)},
			limit{name: "acknowledged writes that are lost", measured: float64(b.lost)})
	}
	if len(b.applies) > 0 {
		all = append(all, b.limitsOfApplies()...)
	}
	return all
}

func (b *bench) limitsOfReservations() []limit {
	var all []limit
	for _, r := range b.reservations {
		all = append(all, limit{
			name: fmt.Sprintf("throughput of the %s over that of the file, %d writers", sideServiceOnFile, r.writers), isMinimum: true,
			bound: minShareOfFile, measured: r.resultOf(sideServiceOnFile).throughputOver(r.resultOf(sideFile)),
		})
		if r.writers == etcdWriters {
			all = append(all, limit{
				name: fmt.Sprintf("throughput of the %s over that of etcd, %d writers", sideThreeNodes, r.writers), isMinimum: true,
				bound: minShareOfEtcd, measured: r.resultOf(sideThreeNodes).throughputOver(r.resultOf(sideEtcd)),
			})
		}
	}
	return all
}

// resultOf is the result of one side.
func (r row) resultOf(side string) result {
	return r.sides[slices.IndexFunc(r.sides, func(s result) bool { return s.side == side })]
}

// limitsOfApplies compare applies. One read of MAAS serves all VMs that wait
// for it, and chance decides how many wait. So the best apply with a service is
// compared with the worst with a file. The writes do not depend on chance.
//
// The engine makes the same calls to both, and a file answers reads as well. So
// reads do not count as round trips that only a service needs. The table shows
// them.
func (b *bench) limitsOfApplies() []limit {
	file, service := b.applies[ledgerFile], b.applies[ledgerService]
	writes := func(a applyResult) float64 { return float64(a.maasWrites) }
	calls := func(a applyResult) float64 { return float64(a.calls) }
	commits := func(a applyResult) float64 { return float64(a.commits) }
	trips := func(a applyResult) float64 { return float64(a.roundTrips()) }
	return []limit{
		{name: "writes to MAAS with a service, for each with a file", bound: 1, measured: slices.Max(countEach(service, writes)) / slices.Min(countEach(file, writes))},
		{name: "calls of MAAS with a service, the fewest, for each with a file, the most", bound: 1, measured: slices.Min(countEach(service, calls)) / slices.Max(countEach(file, calls))},
		{name: "requests that write or that a file does without, for each commit to the file", bound: maxTripsPerCommit, measured: median(countEach(service, trips)) / median(countEach(file, commits))},
	}
}

// countEach returns a count of each apply.
func countEach(of []applyResult, count func(applyResult) float64) []float64 {
	var all []float64
	for _, a := range of {
		all = append(all, count(a))
	}
	return all
}

func secondsOf(all []time.Duration) []float64 {
	var seconds []float64
	for _, d := range all {
		seconds = append(seconds, d.Seconds())
	}
	return seconds
}
