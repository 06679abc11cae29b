package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/maaslxd/maaslxd/acctest/bench/frameworkonly"
)

// frameworkOnlyVariable makes this program serve the provider that is the
// framework alone.
const frameworkOnlyVariable = "MAASLXD_BENCH_ALONE"

// serveFrameworkOnly serves that provider.
func serveFrameworkOnly() {
	if err := frameworkonly.ServeProvider(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// Variables that make this program stand in for a provider. Terraform passes
// its environment on.
const (
	providerVariable = "MAASLXD_BENCH_PROVIDER" // path of the real provider
	usageVariable    = "MAASLXD_BENCH_USAGE"    // path of the file for notes
)

// runStandIn is what Terraform starts in a provider's place. It starts the real
// provider, which speaks with Terraform directly. It waits for the end and
// writes down what the provider used. It returns the exit status.
func runStandIn(provider, notes string) int {
	cmd := exec.Command(provider, os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return strings.HasPrefix(entry, providerVariable+"=") || strings.HasPrefix(entry, usageVariable+"=")
	})
	if self, err := os.Executable(); err == nil && self == provider {
		cmd.Env = append(cmd.Env, frameworkOnlyVariable+"=yes")
	}
	// The terminal sends an interrupt to the provider, too, which handles it.
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, os.Interrupt, syscall.SIGTERM)
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "bench: cannot start the provider:", err)
		return 1
	}
	go func() {
		for s := range ended {
			if s == syscall.SIGTERM {
				_ = cmd.Process.Signal(s) // it may just have ended
			}
		}
	}()
	err := appendNote(notes, processNote{PID: cmd.Process.Pid})
	_ = cmd.Wait() // its exit status is passed on
	if err == nil {
		err = appendNote(notes, processNoteOf(cmd.ProcessState))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench: cannot write the usage of the provider:", err)
		return 1
	}
	return max(cmd.ProcessState.ExitCode(), 0) // -1: a signal ended it, as Terraform does last
}

// appendNote adds a line to the notes. Several stand-ins write to one file.
func appendNote(path string, n processNote) error {
	line, err := json.Marshal(n)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(line, '\n'))
	return errors.Join(err, file.Close())
}
