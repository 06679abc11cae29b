// Summary prints how many tests of each kind passed, failed and were skipped in
// a run, and why they were skipped.
//
//	summary [-want KIND,KIND] [-stories N] [COLUMN=]FILE...
//
// FILE is the output of go test -json, or of gotestsum --jsonfile. Without it,
// GOTESTSUM_JSONFILE names the file. Where a suite runs in columns, COLUMN
// distinguishes the kinds of each: "acceptance (lxd)". A test whose cases were
// all skipped counts as skipped.
//
// Summary exits with 1 where a test failed, or where no test of a wanted kind
// ran. So a suite that no longer runs does not look like one that passes. With
// -stories it also wants that many tests of each wanted kind to have run on a
// MAAS that the environment names. A test counts once if one of its cases ran.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	want := flag.String("want", "", "`kinds`, separated by commas, of which at least one test must have run")
	stories := flag.Int("stories", 0, "`number` of tests of each wanted kind that must have run on an existing MAAS")
	flag.Parse()
	files := flag.Args()
	if len(files) == 0 {
		files = []string{os.Getenv("GOTESTSUM_JSONFILE")}
	}
	if err := run(os.Stdout, files, *want, *stories); err != nil {
		fmt.Fprintln(os.Stderr, "summary:", err)
		os.Exit(1)
	}
}

// run reads the events and prints the report.
func run(out io.Writer, files []string, want string, stories int) error {
	r := newReport()
	for _, path := range files {
		if err := r.readFile(path); err != nil {
			return err
		}
	}
	r.print(out)
	return r.checkOutcome(splitList(want), stories)
}

// splitList splits a list at its commas. Spaces may follow them.
func splitList(list string) []string {
	var names []string
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// readFile adds a file. The name of a column may stand before it.
func (r *report) readFile(path string) error {
	column, name, named := strings.Cut(path, "=")
	if !named {
		column, name = "", path
	}
	if name == "" {
		return fmt.Errorf("name the file of gotestsum --jsonfile, or set GOTESTSUM_JSONFILE")
	}
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := r.readEvents(file, column); err != nil {
		return fmt.Errorf("cannot read %s: %w", name, err)
	}
	return nil
}
