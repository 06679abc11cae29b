// Summary tells what a test run did: how many tests of each kind passed,
// failed and were skipped, and why they were skipped.
//
//	summary [-want KIND,KIND] FILE
//
// FILE is what go test -json, or gotestsum --jsonfile, wrote; without it,
// GOTESTSUM_JSONFILE names it. Summary exits with 1 where a test failed, or
// where no test of a wanted kind ran: a suite that has stopped to run must
// not look like one that passes.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	want := flag.String("want", "", "comma separated `kinds` of which at least one test must have run")
	flag.Parse()
	path := flag.Arg(0)
	if path == "" {
		path = os.Getenv("GOTESTSUM_JSONFILE")
	}
	if err := run(os.Stdout, path, *want); err != nil {
		fmt.Fprintln(os.Stderr, "summary:", err)
		os.Exit(1)
	}
}

// run reads the events and prints the report.
func run(out io.Writer, path, want string) error {
	if path == "" {
		return fmt.Errorf("name the file that gotestsum --jsonfile wrote, or set GOTESTSUM_JSONFILE")
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	r, err := read(file)
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", path, err)
	}
	r.print(out)
	return r.verdict(strings.FieldsFunc(want, func(c rune) bool { return c == ',' }))
}
