// Ledger measures how long a reservation takes in each store of a ledger, and a keyed
// transaction in etcd, with 1, 8 and 32 writers at once.
//
//	ledger [-bin DIR] [-rounds N] [-each N] [-writers N] [-sides TEXT] [-dir DIR]
//
// The sides take turns in rounds of one run, so that their ratios hold on a busy machine.
// Where a limit is missed, ledger says which and exits with 1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/maaslxd/maaslxd/acctest/bench/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	o, err := parse(os.Args[1:], os.Stderr)
	if err == nil {
		err = run(ctx, o, os.Stdout)
	}
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "ledger:", err)
		os.Exit(1)
	}
}

// options are the command line.
type options struct {
	bin, dir, sides       string
	rounds, each, writers int
}

func parse(args []string, stderr io.Writer) (options, error) {
	o := options{}
	f := flag.NewFlagSet("ledger", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.bin, "bin", "bin", "`directory` of the built bridge, with cluster/ in it")
	f.StringVar(&o.dir, "dir", "", "`directory` for the ledgers' data; empty: that for temporary files")
	f.StringVar(&o.sides, "sides", "", "measure only sides whose names hold one of these `texts`, comma separated")
	f.IntVar(&o.rounds, "rounds", 5, "`number` of rounds that count; one more warms up")
	f.IntVar(&o.each, "each", 100, "`number` of reservations of a side in a round")
	f.IntVar(&o.writers, "writers", 0, "measure only this `number` of writers; 0: 1, 8 and 32")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("%q is no flag; ledger -h lists them", f.Arg(0))
	case o.rounds < 1 || o.each < 1 || o.writers < 0:
		return o, errors.New("-rounds, -each and -writers: give numbers above 0")
	}
	return o, nil
}

// has tells whether a side is to be measured.
func (o options) has(name string) bool {
	for text := range strings.SplitSeq(o.sides, ",") {
		if strings.Contains(name, text) {
			return true
		}
	}
	return false
}

// run measures, prints, and fails where a limit is missed.
func run(ctx context.Context, o options, out io.Writer) error {
	load := report.Load()
	w := &world{options: o}
	defer w.close()
	if err := w.open(ctx); err != nil {
		return err
	}
	fmt.Fprintln(out, load)
	counts := []int{1, 8, 32}
	if o.writers > 0 {
		counts = []int{o.writers}
	}
	var verdicts []report.Verdict
	for _, writers := range counts {
		all, err := alternate(ctx, w.sides, writers, o.rounds, o.each)
		if err != nil {
			return err
		}
		report.PlainText(out, grid(w.sides, all, writers))
		verdicts = append(verdicts, judge(w.sides, all, writers)...)
	}
	report.PlainText(out, report.Verdicts(verdicts))
	return report.Missed(verdicts)
}
