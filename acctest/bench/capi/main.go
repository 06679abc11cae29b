// Capi measures how the Cluster API bridge uses MAAS and the machine that it
// runs on, and compares that with budgets.
//
//	capi [-bin DIR] [-components FILE] [-machines N] [-rest N] [-watch TIME]
//	     [-markdown] [-journals DIR]
//
// The bridge's manager runs with the arguments of its Deployment, on a real API
// server and etcd. capi makes the objects directly, as Cluster API's core
// would: clusters of ten machines, three of them of the control plane. MAAS is
// simulated, with 50 VM hosts, and counts its calls.
//
// First, machines are made until all are Ready, and then deleted with their
// clusters. They fill their hosts to the last core. Then many more are left
// alone, and their cost at rest is measured for the time of -watch. When a
// budget is missed, capi names it and exits with 1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/maaslxd/maaslxd/acctest/bench/report"
	"github.com/maaslxd/maaslxd/acctest/kubetest/programs"
)

func main() {
	ctrl.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	o, err := parseOptions(os.Args[1:], os.Stderr)
	if err == nil {
		err = run(ctx, o)
	}
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "capi:", err)
		os.Exit(1)
	}
}

// options are the command line.
type options struct {
	bin, components string
	machines, rest  int
	watch           time.Duration
	markdown        bool
	journals        string
}

func parseOptions(args []string, stderr io.Writer) (options, error) {
	o := options{}
	f := flag.NewFlagSet("capi", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.bin, "bin", "bin", "`directory` of the built bridge")
	f.StringVar(&o.components, "components", "", "`file` infrastructure-components.yaml that make manifests wrote")
	f.IntVar(&o.machines, "machines", 100, "`number` of machines to make and to delete, in tens; 0: none")
	f.IntVar(&o.rest, "rest", 1000, "`number` of Ready machines to leave at rest, in tens; 0: none")
	f.DurationVar(&o.watch, "watch", 2*time.Minute, "`time` for which they are at rest, in whole minutes")
	f.StringVar(&o.journals, "journals", "", "`directory` to write each step's journal to, as JSON")
	f.BoolVar(&o.markdown, "markdown", false, "print the tables as Markdown")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	return o, o.check(f.Args())
}

func (o options) check(stray []string) error {
	switch {
	case len(stray) > 0:
		return fmt.Errorf("%q is not a flag; capi -h lists the flags", stray[0])
	case o.machines < 0 || o.machines%machinesEach != 0:
		return fmt.Errorf("-machines: %d must be a multiple of %d, the machines of a cluster", o.machines, machinesEach)
	case o.rest < 0 || o.rest%machinesEach != 0:
		return fmt.Errorf("-rest: %d must be a multiple of %d, the machines of a cluster", o.rest, machinesEach)
	case o.machines+o.rest == 0:
		return errors.New("-machines and -rest are both 0: there is nothing to measure")
	case o.watch < time.Minute || o.watch%time.Minute != 0:
		return fmt.Errorf("-watch: %v must be whole minutes, because machines at rest are looked at once a minute", o.watch)
	}
	return nil
}

// run measures what the flags ask for and prints it. It returns an error where
// a budget is missed.
func run(ctx context.Context, o options) error {
	builder, err := programs.NewBuilder(ctx)
	if err != nil {
		return err
	}
	b := bench{options: o, builder: builder, log: os.Stderr, began: time.Now(), load: report.DescribeLoad()}
	if err := b.measure(ctx); err != nil {
		return err
	}
	write := report.Printer(report.PlainText)
	if o.markdown {
		write = report.Markdown
	}
	b.print(os.Stdout, write)
	return report.MissedError(b.evaluateBudgets())
}
