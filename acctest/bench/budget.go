package main

import (
	"fmt"
	"slices"

	"github.com/maaslxd/maaslxd/acctest/bench/report"
)

// budget is the most that our own provider may use in a step.
type budget struct {
	name          string
	kind          string   // the workload it is for; empty: every workload
	steps         []string // none: every step
	appliesTo     func(t table) bool
	judgesTime    bool // it measures time, which other programs on the computer lengthen
	judgesCPUTime bool // it measures CPU time, which is unknown for processes that outlive the command
	limit         func(t table, m measurement) float64
	measured      func(t table, m measurement) float64
}

// maxOthersShare is the largest share of the CPUs that other programs may use
// where time is judged. Of two cores, one and a half then remain.
const maxOthersShare = 0.25

// budgets are the limits.
//
// A VM is created in five calls: compose, set its mark, commission, deploy, and
// mark it as finished. It is destroyed in three: release, ask whether it is
// off, delete.
//
// A host is created in 14 calls:
//
//   - four that do the work: allocate, bridge, deploy, register;
//   - five marks: it is begun, with which key, in which project, what it is
//     like, it is finished;
//   - the tag that finds hosts where MAAS has no VM hosts. The first host of
//     a MAAS takes two calls more to make it;
//   - the tag that MAAS sets and that nobody wants;
//   - three looks for machines allocated before: before the first step, after
//     a machine was chosen, and after it was allocated.
//
// While a VM is destroyed, four looks see it: the refresh of Terraform, one before the release,
// one when it is off, and one after the delete. VMs that are met while a look is on its way may be
// seen once more.
//
// A host is destroyed in five: delete the VM host, remove the tag, release the
// machine, with a look before the first and the last. Besides, MAAS looks at
// the LXD until it is ready.
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
		name: "machine objects in looks, while VMs are destroyed, for each", kind: "VM", steps: []string{"destroy"},
		appliesTo: isFullWorkload, limit: fixedLimit(4.5), measured: looksPerItem,
	},
	{
		name: "refreshes by MAAS while hosts are made, for each", kind: "host", steps: []string{"apply"},
		appliesTo: isFullWorkload,
		limit:     allowedRefreshes, measured: func(t table, m measurement) float64 { return float64(m.Refreshes) / float64(t.n) },
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

// isMeasuredAgainstFramework reports whether each step was also done with the
// framework alone. There must be enough VMs that the starts of Terraform and
// the provider are a small part.
func isMeasuredAgainstFramework(t table) bool {
	return t.n >= 100 && t.cells[0][0].OverFramework != nil
}

// isFullWorkload reports whether a table is of a whole workload, not of a
// test's small one.
func isFullWorkload(t table) bool { return t.n >= 10 }

// spanOverIdeal is how long a machine was worked on, divided by what MAAS
// needs. The time is real. Virtual time stands still for the microseconds
// between two calls of a client, so it cannot tell their order.
func spanOverIdeal(_ table, m measurement) float64 { return m.Span.Seconds() / m.IdealSpan.Seconds() }

func fixedLimit(limit float64) func(table, measurement) float64 {
	return func(table, measurement) float64 { return limit }
}

// oneCallPerVMs allows one call for so many VMs.
func oneCallPerVMs(vms int) func(table, measurement) float64 {
	return func(t table, _ measurement) float64 { return float64(t.n) / float64(vms) }
}

func looksPerItem(t table, m measurement) float64 { return float64(m.Looks) / float64(t.n) }

// allowedRefreshes is how often MAAS may look at the LXD of a host while it boots. A first boot of
// 3 s takes two refreshes. Where the boots differ, the longest takes 20 s, and the pauses grow.
func allowedRefreshes(t table, m measurement) float64 {
	if len(t.cells[0][0].Boots) > 0 {
		return 7
	}
	return 3
}

func callCount(_ table, m measurement) float64 { return float64(m.Calls) }

func ownCallsPerItem(t table, m measurement) float64 {
	return float64(m.Calls-m.Shared-m.Refreshes) / float64(t.n)
}

// evaluateBudgets compares our own provider, the first side, with the budgets
// that apply to the table.
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
