package main

import (
	"context"
	"fmt"

	"github.com/maaslxd/maaslxd/acctest/bench/report"
)

// linearGrowth is how many times more each VM of the largest run may cost than
// each of the smallest. A linear cost per VM stays equal, and the fixed cost of
// a process makes it fall.
const linearGrowth = 1.2

// linearCosts are the costs that must be linear in the number of VMs.
var linearCosts = []struct {
	name string
	of   func(measurement) float64
}{
	{"calls", func(m measurement) float64 { return float64(m.Calls) }},
	{"provider CPU time", func(m measurement) float64 { return m.Usage.CPU.Seconds() }},
}

// maxKiBPerVM is how much more memory each further VM may take, in KiB. It
// takes some 18. With the framework's copies of each call it would be 120
// (docs/design/framework-performance.md).
const maxKiBPerVM = 40

// processNotSeenReason is why CPU time and memory are not judged.
const processNotSeenReason = "a process of the provider was not seen to end"

// evaluateGrowth compares the cost of each VM in a plan of the most VMs with
// that in a plan of the fewest.
func evaluateGrowth(tables []table) (out []report.Verdict) {
	if len(tables) < 2 {
		return nil
	}
	few, many := tables[0], tables[len(tables)-1]
	for i, s := range many.steps {
		one, other := few.cells[i][0], many.cells[i][0]
		where := fmt.Sprintf("%s of %d and %d %s, parallelism %d", s.name, few.n, many.n, many.kind.many, many.parallelism)
		unjudged := ""
		if one.Usage.Unknown+other.Usage.Unknown > 0 {
			unjudged = processNotSeenReason
		}
		for _, g := range linearCosts {
			out = append(out, report.Verdict{
				Budget: g.name + " for each of the most VMs, over each of the fewest", Where: where, NotJudgedReason: unjudged,
				Limit: linearGrowth, Measured: (g.of(other) / float64(many.n)) / (g.of(one) / float64(few.n)),
			})
		}
		out = append(out, report.Verdict{
			Budget: "provider peak memory for each further VM, in KiB", Where: where, NotJudgedReason: unjudged,
			Limit: maxKiBPerVM, Measured: float64(other.Usage.PeakKiB-one.Usage.PeakKiB) / float64(many.n-few.n),
		})
	}
	return out
}

// prepareVMs makes VMs with a MAAS without delays, and checks that all exist.
// With copied, it copies one VM without Terraform.
func (w *workspace) prepareVMs(ctx context.Context, l workload, copied bool) error {
	args := []string{"apply", "-no-color", "-auto-approve", "-parallelism=64"}
	variables := []string{"TF_VAR_poll_interval=100ms"}
	if copied {
		variables = append(variables, "TF_VAR_vms=1")
	}
	_, journal, err := w.runCommand(ctx, args, variables)
	if err == nil && copied {
		err = w.copyVM(ctx, l.n, journal)
	}
	if err != nil {
		return err
	}
	if have, deployed := countVMs(w.maas); have != l.n || deployed != l.n {
		return fmt.Errorf("%d VMs were made, %d of them Deployed, want %d", have, deployed, l.n)
	}
	return nil
}
