// Withcli finds a Terraform or an OpenTofu and runs a command with it.
//
//	withcli              prints the CLI's absolute path
//	withcli COMMAND …    runs the command with TF_ACC, TF_ACC_TERRAFORM_PATH
//	                     and what else tests need for that CLI
//
// It exits with the command's status, and with 1 where it finds no CLI.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/maaslxd/maaslxd/acctest/cli"
)

func main() {
	// A Ctrl-C also reaches the command, which may have to clean up. Withcli
	// waits for it.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:])
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		os.Exit(max(exit.ExitCode(), 1)) // -1 means that a signal killed it
	case err != nil:
		fmt.Fprintln(os.Stderr, "withcli:", err)
		os.Exit(1)
	}
}

// run prints the CLI's path, or runs the command.
func run(ctx context.Context, args []string) error {
	finder, err := cli.NewFinder(ctx)
	if err != nil {
		return err
	}
	found, err := finder.Find(ctx)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		fmt.Println(found.Path)
		return nil
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = found.Environment(os.Environ())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	return cmd.Run()
}
