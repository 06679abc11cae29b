// Package setting holds what the commands of capi-bridge share: their settings,
// from flags and the environment, and their exit codes.
package setting

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Program is the name, arguments and surroundings of a command.
type Program struct {
	Name           string // with the names of the commands above it: "capi-bridge check lxd"
	Args           []string
	Getenv         func(string) string
	Stdout, Stderr io.Writer
	Version        string
}

// Command is one of several.
type Command struct {
	Name    string
	Summary string // in a line
	Run     func(context.Context, Program) error
}

// Commands are the commands that a program offers.
type Commands []Command

// Run runs the command that the first argument names.
func (c Commands) Run(ctx context.Context, p Program) error {
	name := ""
	if len(p.Args) > 0 {
		name = p.Args[0]
	}
	switch name {
	case "--version", "-version":
		name = "version"
	case "help":
		if len(p.Args) > 1 { // help check lxd: check lxd -h
			p.Args = append(slices.Clone(p.Args[1:]), "-h")
			name = p.Args[0]
		}
	}
	for _, command := range c {
		if command.Name == name {
			p.Name, p.Args = p.Name+" "+name, p.Args[1:]
			return command.Run(ctx, p)
		}
	}
	switch name {
	case "-h", "-help", "--help", "help":
		_, err := io.WriteString(p.Stdout, c.usage(p.Name))
		return err
	case "":
		return &UsageError{Text: "no command is given\n\n" + c.usage(p.Name)}
	}
	return &UsageError{Text: fmt.Sprintf("there is no command %q\n\n%s", name, c.usage(p.Name))}
}

func (c Commands) usage(program string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s takes one of these, and -h after it:\n", program)
	for _, command := range c {
		fmt.Fprintf(&text, "  %-10s %s\n", command.Name, command.Summary)
	}
	return text.String()
}

// UsageError is an invalid command line or environment.
type UsageError struct {
	Flag string // "--storage-size"; empty: the error is about the whole command line
	Text string // a sentence without its full stop
	Hint string
}

func (e *UsageError) Error() string {
	if e.Flag == "" {
		return e.Text
	}
	return e.Flag + ": " + e.Text
}

// ErrRefused ends a command that has already printed what it will not do.
// ErrFailed ends a command that has already printed what is wrong.
var (
	ErrRefused = errors.New("refused")
	ErrFailed  = errors.New("failed")
)

// The exit codes of programs.
const (
	CodeFailed  = 1
	CodeUsage   = 2
	CodeRefused = 3
)

// ExitCode prints the error, unless it was printed before. It returns the exit
// code of the process: 0, 1 for a failure, 2 for a usage error, 3 for a
// refusal.
func ExitCode(err error, stderr io.Writer) int {
	usage := (*UsageError)(nil)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, ErrRefused):
		return CodeRefused
	case errors.Is(err, ErrFailed):
		return CodeFailed
	}
	for _, p := range ExplainError(err) {
		fmt.Fprintf(stderr, "capi-bridge: %s\n", strings.TrimSpace(p.Message))
		if p.Hint != "" {
			fmt.Fprintf(stderr, "  %s\n", p.Hint)
		}
	}
	if errors.As(err, &usage) {
		return CodeUsage
	}
	return CodeFailed
}
