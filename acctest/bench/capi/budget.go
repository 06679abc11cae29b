package main

import (
	"fmt"

	"github.com/maaslxd/maaslxd/acctest/bench/report"
)

// budget is the most that the bridge may use in a step.
type budget struct {
	name     string
	step     string // empty: every step
	limit    float64
	measured func(measurement) float64
}

// budgets are the limits.
//
// A VM is created in five writes: compose, its mark, commission, deploy, and
// the mark that it is finished. It is deleted in two: release and delete. All
// other calls are reads that the machines share, and the DNS name of each
// cluster's API.
//
// At rest, each machine is looked at once a minute, and nothing is written.
var budgets = []budget{
	{name: "MAAS calls for a machine, to Ready", step: "to Ready", limit: 7, measured: perMachine(func(m measurement) int { return m.Calls })},
	{name: "writes of a VM's own, to Ready", step: "to Ready", limit: 5, measured: perMachine(func(m measurement) int { return m.VMWrites })},
	{name: "writes of a VM's own, to delete it", step: "machines deleted", limit: 2, measured: perMachine(func(m measurement) int { return m.VMWrites })},
	{name: "MAAS calls for a machine, to delete it", step: "machines deleted", limit: 4, measured: perMachine(func(m measurement) int { return m.Calls })},
	{name: "TCP connections of a step", limit: 16, measured: func(m measurement) float64 { return float64(m.Connections) }},
	{name: "over-commits", limit: 0, measured: func(m measurement) float64 { return float64(m.Overcommits) }},
	{name: "writes to MAAS at rest", step: "at rest", limit: 0, measured: func(m measurement) float64 { return float64(m.Writes) }},
	{name: "writes to Kubernetes at rest", step: "at rest", limit: 0, measured: func(m measurement) float64 { return float64(m.Updates + m.Events) }},
	{name: "looks at a machine a minute, at rest", step: "at rest", limit: 1.1, measured: perMinute(func(m measurement) int { return m.Objects })},
	{name: "MAAS calls for a machine a minute, at rest", step: "at rest", limit: 0.1, measured: perMinute(func(m measurement) int { return m.Calls })},
}

// perMachine divides a count by the number of machines.
func perMachine(of func(measurement) int) func(measurement) float64 {
	return func(m measurement) float64 { return float64(of(m)) / float64(m.machines) }
}

// perMinute divides a count by the number of machines and of minutes.
func perMinute(of func(measurement) int) func(measurement) float64 {
	return func(m measurement) float64 { return float64(of(m)) / float64(m.machines) / m.Wall.Minutes() }
}

// measurements returns what was measured, of both workloads.
func (b *bench) measurements() []measurement {
	all := append([]measurement{}, b.lifeSteps...)
	if b.rest != nil {
		all = append(all, *b.rest)
	}
	return all
}

// evaluateBudgets compares the bridge with the budgets that apply.
func (b *bench) evaluateBudgets() []report.Verdict {
	var out []report.Verdict
	for _, limit := range budgets {
		for _, m := range b.measurements() {
			if limit.step != "" && limit.step != m.step {
				continue
			}
			out = append(out, report.Verdict{
				Budget: limit.name, Where: fmt.Sprintf("%d machines, %s", m.machines, m.step),
				Limit: limit.limit, Measured: limit.measured(m),
			})
		}
	}
	return out
}
