// Command maassim is a MAAS with LXD VM hosts in one process, for trying and testing
// clients of MAAS's API without hardware.
//
// It prints how to reach it as two shell variables and serves until you interrupt it. It
// stores nothing on disk.
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

	"github.com/maaslxd/maaslxd/acctest/maassim/replay"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

//go:generate go test . -count=1 -run ^TestOperationsTable$ -update-operations

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if code := reportError(run(ctx, os.Args[1:], os.Stdout, os.Stderr)); code != 0 {
		os.Exit(code)
	}
}

// reportError prints an error and returns the exit code for it.
func reportError(err error) int {
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "maassim:", err)
	}
	return exitCode(err)
}

// exitCode is 0 for success and help, 2 for bad flags and 1 for every other error.
func exitCode(err error) int {
	var usage usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &usage):
		return 2
	}
	return 1
}

// run serves until ctx ends.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parseFlags(args, stderr)
	if err != nil {
		return err
	}
	if o.record != "" {
		return recordMAAS(ctx, o, stdout, stderr)
	}
	if o.compare != "" {
		signal.Reset(os.Interrupt, syscall.SIGTERM) // Ctrl-C ends the replay at once
		replay.InVirtualTime(func() int { return reportError(compareRecordings(o.compare, o.recordingModel(), stdout)) })
		return nil
	}
	s, err := sim.New(o.model)
	if err != nil {
		return usageError{err}
	}
	server, err := sim.ServeAt(s, o.listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "export MAAS_API_URL=%s MAAS_API_KEY=%s\n", server.URL, s.APIKey())
	<-ctx.Done()
	journal := s.Journal()
	if o.journal {
		printJournal(stderr, journal, s)
	}
	return server.Stop()
}

// printJournal prints the calls that were made and the leaked instances that are left.
func printJournal(w io.Writer, j sim.Journal, s *sim.Sim) {
	fmt.Fprintf(w, "%d calls, %d connections, %d bytes, %d machine objects\n", j.Total(), j.Connections, j.Bytes, j.MachineObjects)
	for _, r := range j.Routes {
		fmt.Fprintf(w, "%6d  %s%s\n", r.Calls, r.Route, failureText(r.Failed))
	}
	for _, r := range j.LXD.Routes {
		fmt.Fprintf(w, "%6d  LXD %s%s\n", r.Calls, r.Route, failureText(r.Failed))
	}
	vms := 0
	for _, m := range s.Machines() {
		if m.Host != "" {
			vms++
		}
	}
	fmt.Fprintf(w, "left: %d VMs in MAAS, %d instances in LXD\n", vms, len(s.Instances()))
}

func failureText(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("  (%d not 2xx)", n)
}
