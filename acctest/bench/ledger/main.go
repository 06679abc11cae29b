// Ledger measures the stores of a ledger against each other and against etcd,
// and compares the figures with limits.
//
//	ledger -cluster-bin FILE [-bin DIR] [-dir DIR] [-rounds N] [-reserves N]
//	       [-kills N] [-vms N] [-applies N] [-markdown]
//
// All stores run on this machine, each as you would run it elsewhere. The file
// is in this process. The service runs on a file, on one dqlite node and on
// three, as processes that answer over HTTPS. etcd 3.6 has three nodes, also
// with mutual TLS. The stores take turns, so that all have the same disk and
// the same neighbours. Read the ratios, not the times.
//
// A reservation is one call of Place of engine.Ledger for a fresh key, with 50
// VM hosts to choose from. etcd puts 300 bytes under a fresh key if the key has
// no revision yet.
//
// Then the leader of the three nodes is killed several times. Last, Terraform
// makes VMs on a simulated MAAS, with a file and with a service. When a limit
// is missed, ledger names it and exits with 1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/maaslxd/maaslxd/acctest/bench/report"
	"github.com/maaslxd/maaslxd/acctest/kubetest/programs"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	o, err := parseOptions(os.Args[1:], os.Stderr)
	if err == nil {
		err = run(ctx, o)
	}
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "ledger:", err)
		os.Exit(1)
	}
}

// options are the command line.
type options struct {
	bin, clusterBin, dir string
	rounds, reserves     int
	kills                int
	vms, applies         int
	markdown             bool
}

func parseOptions(args []string, stderr io.Writer) (options, error) {
	o := options{}
	f := flag.NewFlagSet("ledger", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.bin, "bin", "bin", "`directory` of the built bridge and provider")
	f.StringVar(&o.clusterBin, "cluster-bin", "", "`file` of a capi-bridge built with dqlite")
	f.StringVar(&o.dir, "dir", "", "`directory` for the ledgers and etcd, on the disk to measure (default: that of temporary files)")
	f.IntVar(&o.rounds, "rounds", 10, "`number` of rounds in which the stores take turns; 0: none")
	f.IntVar(&o.reserves, "reserves", 200, "`number` of reservations for each store in a round")
	f.IntVar(&o.kills, "kills", 10, "how often (`number`) to kill the leader of three nodes; 0: never")
	f.IntVar(&o.vms, "vms", 100, "`number` of VMs that Terraform makes; 0: none")
	f.IntVar(&o.applies, "applies", 3, "how often (`number`) to make them with each ledger")
	f.BoolVar(&o.markdown, "markdown", false, "print the tables as Markdown")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	return o, o.check(f.Args())
}

func (o options) check(stray []string) error {
	switch {
	case len(stray) > 0:
		return fmt.Errorf("%q is not a flag; ledger -h lists the flags", stray[0])
	case o.clusterBin == "" && o.rounds+o.kills > 0:
		return errors.New("-cluster-bin: name a capi-bridge that was built with dqlite, as by make build-cluster, or give -rounds 0 -kills 0")
	case min(o.rounds, o.kills, o.vms) < 0:
		return errors.New("-rounds, -kills and -vms must be at least 0")
	case o.rounds+o.kills+o.vms == 0:
		return errors.New("-rounds, -kills and -vms are all 0: there is nothing to measure")
	case o.reserves < maxWriters:
		return fmt.Errorf("-reserves: %d must be at least %d, one for each writer", o.reserves, maxWriters)
	case o.applies < 1:
		return fmt.Errorf("-applies: %d is not a number of at least 1", o.applies)
	}
	return nil
}

// run measures what the flags ask for and prints it. It returns an error where
// a limit is missed.
func run(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp(o.dir, "ledger-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := bench{options: o, dir: dir, log: os.Stderr, began: time.Now(), load: report.DescribeLoad()}
	if o.rounds > 0 {
		builder, err := programs.NewBuilder(ctx)
		if err != nil {
			return err
		}
		bin, err := builder.Build(ctx, programs.Etcd)
		if err != nil {
			return err
		}
		b.etcdBin = bin.Path(programs.Etcd)
	}
	if err := b.measure(ctx); err != nil {
		return err
	}
	write := report.Printer(report.PlainText)
	if o.markdown {
		write = report.Markdown
	}
	b.print(os.Stdout, write)
	return missedError(b.limits())
}

// program is the path of one of this repository's programs.
func (o options) program(name string) string { return filepath.Join(o.bin, name) }
