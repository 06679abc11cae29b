// Demo shows the provider at work without any hardware. A real Terraform or
// OpenTofu makes a fleet of bare metal on a simulated MAAS, plans again,
// changes and destroys it.
//
//	demo [-bin DIR] [-config DIR]
//
// It shows every command as a user would type it. When something is not as
// expected, it says so in a sentence and exits with 1. At its end, all its
// processes have ended.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	bin := flag.String("bin", "bin", "`directory` of the built provider and simulator")
	config := flag.String("config", "examples/demo", "`directory` of the configuration and the simulated model, with the module fleet beside it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	start := time.Now()
	if err := run(ctx, *bin, *config); err != nil {
		fmt.Fprintln(os.Stderr, "\ndemo:", err)
		os.Exit(1)
	}
	fmt.Printf("\nDone in %s: made from bare metal, planned again, changed in place, destroyed, nothing left.\n",
		time.Since(start).Round(time.Second))
}

// run starts the simulator, runs the phases and stops the simulator.
func run(ctx context.Context, bin, config string) error {
	d, err := newDemo(ctx, bin, config)
	if err != nil {
		return err
	}
	defer d.close()
	for _, phase := range []struct {
		title string
		show  func(context.Context) error
	}{
		{"A simulated MAAS with three Ready machines", d.showStart},
		{"Three LXD hosts in two zones, and six VMs on them", d.create},
		{"Plan again: nothing to do", d.replan},
		{"Move a host to the other zone, in place", d.change},
		{"Destroy all of it", d.destroy},
		{"What is left", d.checkNothingLeft},
		{"What MAAS saw", d.inspect},
	} {
		d.printHeading(phase.title)
		if err := phase.show(ctx); err != nil {
			return err
		}
	}
	return nil
}
