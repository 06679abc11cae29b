package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// print writes the report: a table of the kinds, the figures, the skipped tests
// with their reasons, and the total as the last line.
func (r *report) print(out io.Writer) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "\nkind\tpassed\tfailed\tskipped\n")
	for _, name := range r.kindNames() {
		c := r.counts[name]
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\n", name, c.passed, c.failed, c.skipped)
	}
	table.Flush()
	for _, note := range r.notes {
		fmt.Fprintln(out, note)
	}
	for _, name := range r.kindNames() {
		r.printStories(out, name)
	}
	if len(r.skips) == 0 {
		fmt.Fprintln(out, "Nothing was skipped.")
	}
	for _, s := range r.skips {
		fmt.Fprintf(out, "skipped %s: %s\n", s.test, s.reason)
	}
	for _, name := range r.brokenPackages {
		fmt.Fprintf(out, "failed outside of any test: %s\n", name)
	}
	total := r.total()
	fmt.Fprintf(out, "\ntotal: %d passed, %d failed, %d skipped\n", total.passed, total.failed, total.skipped)
}

// printStories prints how many stories of a kind ran on a named MAAS, and which
// steps they left out.
func (r *report) printStories(out io.Writer, name string) {
	if stories := len(r.stories[name]); stories > 0 {
		cases := 0
		for _, n := range r.stories[name] {
			cases += n
		}
		fmt.Fprintf(out, "%s: %d stories ran on a MAAS that was there, in %d cases\n", name, stories, cases)
	}
	for _, step := range slices.Sorted(maps.Keys(r.leftOut[name])) {
		fmt.Fprintf(out, "left out %d times in %s: %s\n", r.leftOut[name][step], name, step)
	}
}

// kindNames are the kinds that ran, each with its columns: unit first, then the
// suites.
func (r *report) kindNames() []string {
	order := []string{unitKind}
	for _, k := range kinds {
		order = append(order, k.name)
	}
	place := func(name string) int {
		kind, _, _ := strings.Cut(name, " ")
		return slices.Index(order, kind)
	}
	return slices.SortedFunc(maps.Keys(r.counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), -cmp.Compare(a, b))
	})
}

// total adds up the kinds. A package that failed outside of its tests counts as
// one failure.
func (r *report) total() kindCount {
	sum := kindCount{failed: len(r.brokenPackages)}
	for _, c := range r.counts {
		sum.passed += c.passed
		sum.failed += c.failed
		sum.skipped += c.skipped
	}
	return sum
}

// checkOutcome returns an error where something failed or a wanted kind did not
// run. With stories, that many of each wanted kind must have run on an existing
// MAAS.
func (r *report) checkOutcome(want []string, stories int) error {
	var errs []error
	if failed := r.total().failed; failed > 0 {
		errs = append(errs, fmt.Errorf("%d failed", failed))
	}
	for _, kind := range want {
		if c := r.counts[kind]; c == nil || c.passed+c.failed == 0 {
			errs = append(errs, fmt.Errorf("no %s test ran", kind))
		} else if n := len(r.stories[kind]); n < stories {
			errs = append(errs, fmt.Errorf("%d stories of %s ran on a MAAS that was there, want %d", n, kind, stories))
		}
	}
	return errors.Join(errs...)
}
