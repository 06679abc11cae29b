package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// verdict is the result for one mutant.
type verdict struct {
	mutant mutant
	ended  testEnd
	built  time.Duration
}

// isKilled reports whether an assertion noticed the mutant.
func (v verdict) isKilled() bool { return v.ended.result == resultFailed }

func (v verdict) String() string {
	if v.isKilled() {
		return fmt.Sprintf("died      %5.1f s (and %3.0f s to build)  %s: %s", v.ended.took.Seconds(), v.built.Seconds(), v.mutant.name, v.ended.failed)
	}
	return fmt.Sprintf("SURVIVED  %5.1f s (and %3.0f s to build)  %s: %s %s", v.ended.took.Seconds(), v.built.Seconds(), v.mutant.name, v.mutant.test, v.ended.result)
}

// printReport prints a line for each rule, and what the surviving mutants
// break. It returns an error if a mutant survived.
func printReport(out io.Writer, verdicts []verdict) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "\nrule\tmutants\tdied\tsurvived\tseconds\n")
	var all summaryRow
	for begin := 0; begin < len(verdicts); {
		r := summaryRow{}
		rule := verdicts[begin].mutant.rule
		for ; begin < len(verdicts) && verdicts[begin].mutant.rule == rule; begin++ {
			r.add(verdicts[begin])
			all.add(verdicts[begin])
		}
		r.print(table, rule)
	}
	all.print(table, "all")
	if err := table.Flush(); err != nil {
		return err
	}
	var errs []error
	for _, v := range verdicts {
		if !v.isKilled() {
			errs = append(errs, fmt.Errorf("%s survived: %s %s\n%s", v.mutant.name, v.mutant.test, v.ended.result, v.mutant.reason))
		}
	}
	return errors.Join(errs...)
}

// summaryRow is a line of the table.
type summaryRow struct {
	mutants, killedCount int
	took                 time.Duration
}

func (r *summaryRow) add(v verdict) {
	r.mutants++
	r.took += v.ended.took
	if v.isKilled() {
		r.killedCount++
	}
}

func (r *summaryRow) print(out io.Writer, name string) {
	fmt.Fprintf(out, "%s\t%d\t%d\t%d\t%.1f\n", name, r.mutants, r.killedCount, r.mutants-r.killedCount, r.took.Seconds())
}
