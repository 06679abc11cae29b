package main

import (
	"fmt"
	"slices"

	"github.com/maaslxd/maaslxd/acctest/bench/report"
)

// budget is what our own provider may cost in a step.
type budget struct {
	name  string
	kind  string   // what it is for; empty: everything
	steps []string // none: every step
	fits  func(t table) bool
	timed bool // a matter of time, which others on the computer lengthen
	used  bool // a matter of CPU time, which processes that outlive the command leave out
	limit func(t table, m measurement) float64
	have  func(t table, m measurement) float64
}

// quietEnough is the share of the CPUs that others may use where time is
// judged. Two cores then still are one and a half.
const quietEnough = 0.25

// budgets are the limits. A VM is created in five calls: compose, its mark,
// commission, deploy, and the mark that it is finished; it is destroyed in three:
// release, is it off, delete.
//
// A host is created in 14: allocate, bridge, deploy, register; five marks
// (it is begun, with which key, in which project, what it is like, it is
// finished); the tag by which it is found where MAAS has no VM hosts, which the first
// of a MAAS takes two calls more to make; the tag that MAAS gives and nobody wants;
// and three looks for what
// was allocated before: before the first step, after a machine was chosen, and
// after it was had. It is destroyed in five: the VM host is deleted, the tag
// taken off and the machine released, with a look before the first and the last. Besides, MAAS looks at the LXD
// until it is ready.
var budgets = []budget{
	{
		name: "calls of a VM's own, to create it", kind: "VM", steps: []string{"apply"},
		limit: fixed(5), have: ownCalls,
	},
	{
		name: "calls of a VM's own, to destroy it", kind: "VM", steps: []string{"destroy"},
		limit: fixed(3), have: ownCalls,
	},
	{
		name: "calls of a host's own, but for refreshes, to create it", kind: "host", steps: []string{"apply"},
		limit: fixed(14.5), have: ownCalls,
	},
	{
		name: "calls of a host's own, to destroy it", kind: "host", steps: []string{"destroy"},
		limit: fixed(5), have: ownCalls,
	},
	{
		name: "calls to refresh all, an eighth of a call each", steps: []string{"plan", "refresh"},
		fits:  func(t table) bool { return t.parallelism < 64 && t.n >= 16 },
		limit: share(8), have: calls,
	},
	{
		name: "calls to refresh all, a fortieth of a call each", steps: []string{"plan", "refresh"},
		fits:  func(t table) bool { return t.parallelism >= 64 && t.n >= 80 },
		limit: share(40), have: calls,
	},
	{
		name: "time of a plan or refresh over the framework's alone", steps: []string{"plan", "refresh"},
		fits: measuredAlone, timed: true,
		limit: fixed(1.4), have: func(_ table, m measurement) float64 { return m.Alone.Wall },
	},
	{
		name: "CPU time of a plan or refresh over the framework's alone", steps: []string{"plan", "refresh"},
		fits: measuredAlone, used: true,
		limit: fixed(1.2), have: func(_ table, m measurement) float64 { return m.Alone.CPU },
	},
	{
		name:  "TCP connections of a command",
		limit: fixed(16), have: func(_ table, m measurement) float64 { return float64(m.Connections) },
	},
	{
		name: "machine objects in looks, while VMs are made", kind: "VM", steps: []string{"apply"},
		limit: func(_ table, m measurement) float64 { return float64(m.AllowedLooks) },
		have:  func(_ table, m measurement) float64 { return float64(m.Looks) },
	},
	{
		name: "time over simulated time, from ten waves on", kind: "VM", steps: []string{"apply"},
		fits:  func(t table) bool { return waves(t.n, t.parallelism) >= 10 },
		timed: true,
		limit: fixed(1.15), have: func(_ table, m measurement) float64 { return m.overIdeal() },
	},
	{
		name: "time of a destroy over simulated time, from ten waves on", kind: "VM", steps: []string{"destroy"},
		fits:  func(t table) bool { return waves(t.n, t.parallelism) >= 10 },
		timed: true,
		limit: fixed(1.5), have: func(_ table, m measurement) float64 { return m.overIdeal() },
	},
	{
		name: "time to make hosts whose first boots differ, over what was drawn", kind: "host", steps: []string{"apply"},
		fits:  func(t table) bool { return whole(t) && len(t.cells[0][0].Boots) > 0 },
		timed: true,
		limit: fixed(1.3), have: func(_ table, m measurement) float64 { return m.overIdeal() },
	},
	{
		name: "median time of a VM from its release to its delete, over simulated time", kind: "VM", steps: []string{"destroy"},
		fits: whole, limit: fixed(1.9), have: spanned,
	},
	{
		name: "median time of a host from its first write to its last, over simulated time", kind: "host", steps: []string{"apply"},
		fits: whole, limit: fixed(1.7), have: spanned,
	},
}

// measuredAlone tells that each step was done with the framework alone, too, and with so
// many VMs that neither Terraform's start nor the provider's is most of it.
func measuredAlone(t table) bool { return t.n >= 100 && t.cells[0][0].Alone != nil }

// whole tells that a table is of a whole workload, and not of a test's.
func whole(t table) bool { return t.n >= 10 }

// spanned is how long a machine was worked on, over what MAAS needs. The time is
// real: virtual time stands still for the microseconds between two things that a
// client does, so that it cannot tell in which order they came.
func spanned(_ table, m measurement) float64 { return m.Span.Seconds() / m.IdealSpan.Seconds() }

func fixed(limit float64) func(table, measurement) float64 {
	return func(table, measurement) float64 { return limit }
}

// share allows one call for so many VMs.
func share(vms int) func(table, measurement) float64 {
	return func(t table, _ measurement) float64 { return float64(t.n) / float64(vms) }
}

func calls(_ table, m measurement) float64 { return float64(m.Calls) }

func ownCalls(t table, m measurement) float64 {
	return float64(m.Calls-m.Shared-m.Refreshes) / float64(t.n)
}

// verdicts holds our own provider, the first side, to the budgets that fit.
func (t table) verdicts() []report.Verdict {
	var out []report.Verdict
	for _, b := range budgets {
		if b.kind != "" && b.kind != t.kind.one || b.fits != nil && !b.fits(t) {
			continue
		}
		for i, s := range t.steps {
			if len(b.steps) > 0 && !slices.Contains(b.steps, s.name) {
				continue
			}
			m := t.cells[i][0]
			where := fmt.Sprintf("%s, %s", s.name, t.title())
			v := report.Verdict{Budget: b.name, Where: where, Limit: b.limit(t, m), Have: b.have(t, m)}
			if b.timed && m.Others > quietEnough {
				v.Unjudged = "others used " + report.Percent(m.Others) + " of the CPUs"
			}
			if b.used && m.Used.Unknown+m.Alone.Unknown > 0 {
				v.Unjudged = unseen
			}
			out = append(out, v)
		}
	}
	return out
}
