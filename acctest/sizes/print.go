package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
)

// printTable writes a line for each package, one for the total, and one for
// each function of more than maxLines.
func printTable(out io.Writer, packages []*size) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "package\tfiles\tlines\tlines of tests\tmethods\ttype\tover %d lines\n", maxLines)
	var all size
	for _, p := range packages {
		name, methods := p.largestType()
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%s\t%d\n", p.folder, p.files, p.lines, p.testLines, methods, cmp.Or(name, "-"), len(p.long))
		all.files += p.files
		all.lines += p.lines
		all.testLines += p.testLines
		all.long = append(all.long, p.long...)
	}
	fmt.Fprintf(table, "%d packages\t%d\t%d\t%d\t\t\t%d\n", len(packages), all.files, all.lines, all.testLines, len(all.long))
	if err := table.Flush(); err != nil {
		return err
	}
	for _, p := range packages {
		for _, f := range p.long {
			fmt.Fprintln(out, describeLong(p, f))
		}
	}
	return nil
}

// largestType is the type with the most methods. Of several it is the first by
// name.
func (s *size) largestType() (name string, methods int) {
	for _, t := range slices.Sorted(maps.Keys(s.methods)) {
		if s.methods[t] > methods {
			name, methods = t, s.methods[t]
		}
	}
	return name, methods
}

// excesses names the values above the limits, one sentence each.
func excesses(packages []*size) []string {
	var found []string
	for _, p := range packages {
		if p.files > maxFiles {
			found = append(found, fmt.Sprintf("%s has %d files, more than %d", p.folder, p.files, maxFiles))
		}
		for _, t := range slices.Sorted(maps.Keys(p.methods)) {
			if n := p.methods[t]; n > maxMethods {
				found = append(found, fmt.Sprintf("%s: %s has %d methods, more than %d", p.folder, t, n, maxMethods))
			}
		}
		for _, f := range p.long {
			found = append(found, describeLong(p, f))
		}
	}
	return found
}

// describeLong names a function that is too long, and its position.
func describeLong(p *size, f function) string {
	return fmt.Sprintf("%s/%s:%d: %s has %d lines, more than %d", p.folder, f.file, f.line, f.name, f.lines, maxLines)
}
