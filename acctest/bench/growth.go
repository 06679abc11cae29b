package main

import (
	"context"
	"fmt"

	"github.com/maaslxd/maaslxd/acctest/bench/report"
)

// linear is how much more each VM of the most may cost than each of the fewest: what is
// linear costs no more, and what every process takes once costs less.
const linear = 1.2

// growing is what must be linear in the number of VMs.
var growing = []struct {
	name string
	of   func(measurement) float64
}{
	{"calls", func(m measurement) float64 { return float64(m.Calls) }},
	{"provider CPU time", func(m measurement) float64 { return m.Used.CPU.Seconds() }},
	{"provider peak memory", func(m measurement) float64 { return float64(m.Used.PeakKiB) }},
}

// growth holds a plan of the most VMs to a plan of the fewest: what it costs for each.
func growth(tables []table) (out []report.Verdict) {
	if len(tables) < 2 {
		return nil
	}
	few, many := tables[0], tables[len(tables)-1]
	for i, s := range many.steps {
		for _, g := range growing {
			each := func(t table) float64 { return g.of(t.cells[i][0]) / float64(t.n) }
			out = append(out, report.Verdict{
				Budget: g.name + " for each of the most VMs, over each of the fewest",
				Where:  fmt.Sprintf("%s of %d and %d %s, parallelism %d", s.name, few.n, many.n, many.kind.many, many.parallelism),
				Limit:  linear, Have: each(many) / each(few),
			})
		}
	}
	return out
}

// prepare makes VMs in a hurry, and looks whether all are there. Copies of one are made
// without Terraform.
func (w *workspace) prepare(ctx context.Context, l workload, copied bool) error {
	args := []string{"apply", "-no-color", "-auto-approve", "-parallelism=64"}
	variables := []string{"TF_VAR_poll_interval=100ms"}
	if copied {
		variables = append(variables, "TF_VAR_vms=1")
	}
	_, journal, err := w.do(ctx, args, variables)
	if err == nil && copied {
		err = w.copyVM(ctx, l.n, journal)
	}
	if err != nil {
		return err
	}
	if have, deployed := vmsLeft(w.maas); have != l.n || deployed != l.n {
		return fmt.Errorf("%d VMs were made, %d of them Deployed, want %d", have, deployed, l.n)
	}
	return nil
}
