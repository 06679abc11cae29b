// Bench measures how a Terraform provider uses MAAS and the machine that it
// runs on, and compares that with budgets.
//
//	bench [-bin DIR] [-vms N,N] [-reads N] [-growth N,N] [-hosts N] [-parallelism P,P]
//	      [-markdown] [-journals DIR] [-peer BINARY [-peer-config DIR]]
//
// A real Terraform or OpenTofu creates, plans, changes and destroys VMs. MAAS
// is simulated, with 50 VM hosts, and counts its calls. At the first of the
// parallelisms, Terraform also turns bare machines into VM hosts. Calls,
// connections and machine objects come from the simulator's journal. CPU time
// and memory are those of the provider processes, without Terraform's. When a
// budget is missed, bench names it and exits with 1.
//
// Plans and refreshes of many VMs are also done with a provider that has the
// same schemas and does nothing. Its cost is that of Terraform's plugin
// framework. In plans of thousands of VMs, each VM must cost no more than in
// smaller plans. These VMs are copies of one that our provider has made. The
// first number of hosts is also measured with first boots that take random
// times.
//
// -peer does the same work with another provider, on a MAAS of the same kind in
// the same run, and prints it as a second column. Without -peer-config that
// provider is canonical/maas, for which peers/canonical has a configuration.
// DIR holds the configuration for another one: *.tf files that name one
// provider in required_providers. They may declare the variables of
// config/main.tf. If DIR has a folder hosts, that provider makes hosts, too,
// with the variables of config/hosts/main.tf.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/maaslxd/maaslxd/acctest/bench/report"
	"github.com/maaslxd/maaslxd/acctest/cli"
)

func main() {
	if os.Getenv(frameworkOnlyVariable) != "" {
		serveFrameworkOnly()
		return
	}
	if provider := os.Getenv(providerVariable); provider != "" {
		os.Exit(runStandIn(provider, os.Getenv(usageVariable)))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parseOptions(os.Args[1:], os.Stderr)
	if err == nil {
		err = run(ctx, o)
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are the command line.
type options struct {
	bin              string
	peer, peerConfig string
	vms, reads       numbers
	growth           numbers
	hosts            numbers
	parallelism      numbers
	markdown         bool
	journals         string
}

func parseOptions(args []string, stderr io.Writer) (options, error) {
	o := options{vms: numbers{10, 100}, reads: numbers{1000}, growth: numbers{1000, 5000}, hosts: numbers{10, 50}, parallelism: numbers{10, 64}}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.bin, "bin", "bin", "`directory` of the built provider")
	f.StringVar(&o.peer, "peer", "", "`binary` of another provider to compare with")
	f.StringVar(&o.peerConfig, "peer-config", "", "`directory` of its configuration (default: the one for canonical/maas)")
	f.Var(&o.vms, "vms", "`numbers` of VMs to create, plan, change and destroy, comma separated")
	f.Var(&o.reads, "reads", "`numbers` of VMs to plan and refresh only; empty for none")
	f.Var(&o.growth, "growth", "`numbers` of VMs to plan, to compare the cost of each VM; empty for none")
	f.Var(&o.hosts, "hosts", "`numbers` of machines to turn into hosts, plan, change and destroy; empty for none")
	f.Var(&o.parallelism, "parallelism", "`numbers` of operations that Terraform runs at once")
	f.StringVar(&o.journals, "journals", "", "`directory` to write each step's journal to, as JSON")
	f.BoolVar(&o.markdown, "markdown", false, "print the tables as Markdown")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("%q is not a flag; bench -h lists the flags", f.Arg(0))
	case o.peer == "" && o.peerConfig != "":
		return o, errors.New("-peer-config is the configuration of another provider: name its binary with -peer")
	case len(o.parallelism) == 0:
		return o, errors.New("-parallelism: name at least one number, for example 10")
	case len(o.vms)+len(o.reads)+len(o.growth)+len(o.hosts) == 0:
		return o, errors.New("-vms, -reads, -growth and -hosts are all empty: there is nothing to measure")
	}
	slices.Sort(o.growth)
	if len(o.growth) == 1 || len(slices.Compact(slices.Clone(o.growth))) < len(o.growth) {
		return o, errors.New("-growth: name at least two different numbers, for example 1000,5000")
	}
	return o, nil
}

// sides are our provider and, with -peer, the other one.
func (o options) sides() ([]side, error) {
	ours, err := ourSide(filepath.Join(o.bin, cli.ProviderBinary))
	if err != nil || o.peer == "" {
		return []side{ours}, err
	}
	config, err := o.peersConfig()
	if err != nil {
		return nil, err
	}
	peer, err := newSide("peer", o.peer, config)
	if err != nil {
		return nil, fmt.Errorf("-peer: %w", err)
	}
	return []side{ours, peer}, nil
}

// peersConfig is the configuration of the other provider.
func (o options) peersConfig() (fs.FS, error) {
	if o.peerConfig != "" {
		return os.DirFS(o.peerConfig), nil
	}
	return fs.Sub(canonicalConfig, "peers/canonical")
}

// run measures what the flags ask for and prints it. It returns an error where
// a budget is missed.
func run(ctx context.Context, o options) error {
	sides, err := o.sides()
	if err != nil {
		return err
	}
	finder, err := cli.NewFinder(ctx)
	if err != nil {
		return err
	}
	found, err := finder.Find(ctx)
	if err != nil {
		return err
	}
	b := bench{cli: found, log: os.Stderr, journals: o.journals, began: time.Now(), load: report.DescribeLoad()}
	if err := b.measure(ctx, sides, planWorkloads(o)); err != nil {
		return err
	}
	out := report.Printer(report.PlainText)
	if o.markdown {
		out = report.Markdown
	}
	b.print(os.Stdout, out)
	return report.MissedError(b.verdicts)
}
