package main

import (
	"fmt"
	"slices"

	"github.com/maaslxd/maaslxd/acctest/bench/report"
)

// budget is what our own provider may cost in a step.
type budget struct {
	name          string
	kind          string   // what it is for; empty: everything
	steps         []string // none: every step
	appliesTo     func(t table) bool
	judgesTime    bool // a matter of time, which others on the computer lengthen
	judgesCPUTime bool // a matter of CPU time, which processes that outlive the command leave out
	limit         func(t table, m measurement) float64
	measured      func(t table, m measurement) float64
}

// maxOthersShare is the share of the CPUs that others may use where time is
// judged. Two cores then still are one and a half.
const maxOthersShare = 0.25

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
		limit: fixedLimit(5), measured: ownCallsPerItem,
	},
	{
		name: "calls of a VM's own, to destroy it", kind: "VM", steps: []string{"destroy"},
		limit: fixedLimit(3), measured: ownCallsPerItem,
	},
	{
		name: "calls of a host's own, but for refreshes, to create it", kind: "host", steps: []string{"apply"},
		limit: fixedLimit(14.5), measured: ownCallsPerItem,
	},
	{
		name: "calls of a host's own, to destroy it", kind: "host", steps: []string{"destroy"},
		limit: fixedLimit(5), measured: ownCallsPerItem,
	},
	{
		name: "calls to refresh all, an eighth of a call each", steps: []string{"plan", "refresh"},
		appliesTo: func(t table) bool { return t.parallelism < 64 && t.n >= 16 },
		limit:     oneCallPerVMs(8), measured: callCount,
	},
	{
		name: "calls to refresh all, a fortieth of a call each", steps: []string{"plan", "refresh"},
		appliesTo: func(t table) bool { return t.parallelism >= 64 && t.n >= 80 },
		limit:     oneCallPerVMs(40), measured: callCount,
	},
	{
		name: "time of a plan or refresh over the framework's alone", steps: []string{"plan", "refresh"},
		appliesTo: isMeasuredAgainstFramework, judgesTime: true,
		limit: fixedLimit(1.4), measured: func(_ table, m measurement) float64 { return m.OverFramework.Wall },
	},
	{
		name: "CPU time of a plan or refresh over the framework's alone", steps: []string{"plan", "refresh"},
		appliesTo: isMeasuredAgainstFramework, judgesCPUTime: true,
		limit: fixedLimit(1.2), measured: func(_ table, m measurement) float64 { return m.OverFramework.CPU },
	},
	{
		name:  "TCP connections of a command",
		limit: fixedLimit(16), measured: func(_ table, m measurement) float64 { return float64(m.Connections) },
	},
	{
		name: "machine objects in looks, while VMs are made", kind: "VM", steps: []string{"apply"},
		limit:    func(_ table, m measurement) float64 { return float64(m.AllowedLooks) },
		measured: func(_ table, m measurement) float64 { return float64(m.Looks) },
	},
	{
		name: "time over simulated time, from ten waves on", kind: "VM", steps: []string{"apply"},
		appliesTo:  func(t table) bool { return waves(t.n, t.parallelism) >= 10 },
		judgesTime: true,
		limit:      fixedLimit(1.15), measured: func(_ table, m measurement) float64 { return m.overIdeal() },
	},
	{
		name: "time of a destroy over simulated time, from ten waves on", kind: "VM", steps: []string{"destroy"},
		appliesTo:  func(t table) bool { return waves(t.n, t.parallelism) >= 10 },
		judgesTime: true,
		limit:      fixedLimit(1.5), measured: func(_ table, m measurement) float64 { return m.overIdeal() },
	},
	{
		name: "time to make hosts whose first boots differ, over what was drawn", kind: "host", steps: []string{"apply"},
		appliesTo:  func(t table) bool { return isFullWorkload(t) && len(t.cells[0][0].Boots) > 0 },
		judgesTime: true,
		limit:      fixedLimit(1.3), measured: func(_ table, m measurement) float64 { return m.overIdeal() },
	},
	{
		name: "median time of a VM from its release to its delete, over simulated time", kind: "VM", steps: []string{"destroy"},
		appliesTo: isFullWorkload, limit: fixedLimit(1.9), measured: spanOverIdeal,
	},
	{
		name: "median time of a host from its first write to its last, over simulated time", kind: "host", steps: []string{"apply"},
		appliesTo: isFullWorkload, limit: fixedLimit(1.7), measured: spanOverIdeal,
	},
}

// isMeasuredAgainstFramework tells that each step was done with the framework alone, too, and with so
// many VMs that neither Terraform's start nor the provider's is most of it.
func isMeasuredAgainstFramework(t table) bool {
	return t.n >= 100 && t.cells[0][0].OverFramework != nil
}

// isFullWorkload tells that a table is of a whole workload, and not of a test's.
func isFullWorkload(t table) bool { return t.n >= 10 }

// spanOverIdeal is how long a machine was worked on, over what MAAS needs. The time is
// real: virtual time stands still for the microseconds between two things that a
// client does, so that it cannot tell in which order they came.
func spanOverIdeal(_ table, m measurement) float64 { return m.Span.Seconds() / m.IdealSpan.Seconds() }

func fixedLimit(limit float64) func(table, measurement) float64 {
	return func(table, measurement) float64 { return limit }
}

// oneCallPerVMs allows one call for so many VMs.
func oneCallPerVMs(vms int) func(table, measurement) float64 {
	return func(t table, _ measurement) float64 { return float64(t.n) / float64(vms) }
}

func callCount(_ table, m measurement) float64 { return float64(m.Calls) }

func ownCallsPerItem(t table, m measurement) float64 {
	return float64(m.Calls-m.Shared-m.Refreshes) / float64(t.n)
}

// evaluateBudgets holds our own provider, the first side, to the budgets that fit.
func (t table) evaluateBudgets() []report.Verdict {
	var out []report.Verdict
	for _, b := range budgets {
		if b.kind != "" && b.kind != t.kind.one || b.appliesTo != nil && !b.appliesTo(t) {
			continue
		}
		for i, s := range t.steps {
			if len(b.steps) > 0 && !slices.Contains(b.steps, s.name) {
				continue
			}
			m := t.cells[i][0]
			where := fmt.Sprintf("%s, %s", s.name, t.title())
			v := report.Verdict{Budget: b.name, Where: where, Limit: b.limit(t, m), Measured: b.measured(t, m)}
			if b.judgesTime && m.OthersShare > maxOthersShare {
				v.NotJudgedReason = "others used " + report.FormatPercent(m.OthersShare) + " of the CPUs"
			}
			if b.judgesCPUTime && m.Usage.Unknown+m.OverFramework.Unknown > 0 {
				v.NotJudgedReason = processNotSeenReason
			}
			out = append(out, v)
		}
	}
	return out
}
