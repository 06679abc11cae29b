package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/maaslxd/maaslxd/acctest/cli"
)

// interruptTimeout is how long an interrupted CLI may take to save its state.
const interruptTimeout = 30 * time.Second

// terraform runs one CLI in one directory.
type terraform struct {
	path     string
	dir      string
	env      []string
	terminal bool // the CLI may use colours
}

// newTerraform runs the CLI in dir. Without a terminal there are no colours.
func newTerraform(c cli.CLI, dir string, env []string) *terraform {
	t := &terraform{path: c.Path, dir: dir, env: env, terminal: isTerminal(os.Stdout)}
	t.env = append(t.env, "TF_INPUT=0")
	if !t.terminal {
		t.env = append(t.env, "TF_CLI_ARGS=-no-color")
	}
	return t
}

// run shows the command and its output.
func (t *terraform) run(ctx context.Context, args ...string) error {
	fmt.Println(t.inBold("$ " + t.commandLine(args)))
	cmd := t.command(ctx, args)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", t.commandLine(args), err)
	}
	return nil
}

// runBriefly shows the command and the main lines of its output.
func (t *terraform) runBriefly(ctx context.Context, args ...string) error {
	args = slices.Insert(slices.Clone(args), 1, "-no-color")
	fmt.Println(t.inBold("$ " + t.commandLine(args) + " | grep -E '" + gistPattern + "'"))
	cmd := t.command(ctx, args)
	short := &outline{out: os.Stdout}
	cmd.Stdout, cmd.Stderr = short, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", t.commandLine(args), err)
	}
	return nil
}

// output shows the command and returns its output.
func (t *terraform) output(ctx context.Context, args ...string) ([]byte, error) {
	fmt.Println(t.inBold("$ " + t.commandLine(args)))
	cmd := t.command(ctx, args)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", t.commandLine(args), err, stderr.Bytes())
	}
	return out, nil
}

// readOutput reads an output of the configuration.
func (t *terraform) readOutput(ctx context.Context, name string, into any) error {
	text, err := t.output(ctx, "output", "-json", name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("cannot read the output %s: %w", name, err)
	}
	return nil
}

// command is a command that gets an interrupt, not a kill, when ctx ends.
func (t *terraform) command(ctx context.Context, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, t.path, args...)
	cmd.Dir, cmd.Env = t.dir, t.env
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = interruptTimeout
	return cmd
}

// commandLine is the command as typed in a shell.
func (t *terraform) commandLine(args []string) string {
	words := []string{filepath.Base(t.path)}
	for _, arg := range args {
		if strings.ContainsAny(arg, `"[]{} `) {
			arg = "'" + arg + "'"
		}
		words = append(words, arg)
	}
	return strings.Join(words, " ")
}

// inBold makes the text bold on a terminal.
func (t *terraform) inBold(text string) string {
	if !t.terminal {
		return text
	}
	return "\x1b[1m" + text + "\x1b[0m"
}

// isTerminal reports whether the file is a character device other than
// /dev/null, and NO_COLOR is not set.
func isTerminal(file *os.File) bool {
	if os.Getenv("NO_COLOR") != "" {
		return false
	}
	info, err := file.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err == nil && !os.SameFile(info, null)
}
