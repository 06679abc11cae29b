package boot

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/interp"
)

// command is one call of a program.
type command struct {
	shell *shell
	args  []string
	in    io.Reader // nil for none
	out   *bytes.Buffer
}

// errFalse is the exit status 1 of a question.
var errFalse = error(interp.ExitStatus(1))

// programs are the programs of a machine: those that set LXD up, and those that such
// scripts use. Every other command does nothing and succeeds.
func programs() map[string]func(*command) error {
	return map[string]func(*command) error{
		"snap": (*command).snap, "lxd": (*command).lxd, "lxc": (*command).lxc,
		"cat": (*command).cat, "tee": (*command).tee, "base64": (*command).base64, "grep": (*command).grep,
		"awk": (*command).awk, "ip": (*command).ip, "rm": (*command).rm, "which": (*command).locatePrograms, findProgramCommand: (*command).locatePrograms,
		"sh": (*command).sh, "bash": (*command).sh, "systemd-run": (*command).sh, "timeout": (*command).sh,
		"env": (*command).sh, "sudo": (*command).sh, "nice": (*command).sh, "nohup": (*command).sh,
	}
}

func (c *command) run(name string) error {
	if program := programs()[name]; program != nil {
		return program(c)
	}
	return nil
}

// stdin reads standard input to its end. Meanwhile the command that writes it can run.
func (c *command) stdin() string {
	if c.in == nil {
		return ""
	}
	c.shell.mu.Unlock()
	defer c.shell.mu.Lock()
	text, _ := io.ReadAll(c.in) // the text that was read counts
	return string(text)
}

func (c *command) print(text string) { c.out.WriteString(text) }

// readFile is a file's text.
func (c *command) readFile(name string) (string, bool) {
	if name == "-" || name == "/dev/stdin" {
		return c.stdin(), true
	}
	text, exists := c.shell.lxd.files[path.Clean(name)]
	return text, exists
}

// readInput is the text of the files, or standard input without any.
func (c *command) readInput(names []string) (string, error) {
	if len(names) == 0 {
		return c.stdin(), nil
	}
	var all strings.Builder
	for _, name := range names {
		text, exists := c.readFile(name)
		if !exists {
			return "", fmt.Errorf("%s: No such file or directory", name)
		}
		all.WriteString(text)
	}
	return all.String(), nil
}

func (c *command) rm() error {
	for _, name := range c.args {
		delete(c.shell.lxd.files, path.Clean(name))
	}
	return nil
}

// locatePrograms prints the path of each known program. snap and LXD are found only where
// they are installed.
func (c *command) locatePrograms() error {
	for _, name := range c.args {
		if (name == "lxd" || name == "lxc") && c.shell.lxd.Version == "" {
			return errFalse
		}
		c.print("/usr/bin/" + name + "\n")
	}
	return nil
}

func (c *command) base64() error {
	flags, files := splitFlags(c.args)
	text, err := c.readInput(files)
	if err != nil {
		return err
	}
	_, short := flags["-d"]
	if _, long := flags["--decode"]; !short && !long {
		c.print(base64.StdEncoding.EncodeToString([]byte(text)) + "\n")
		return nil
	}
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	c.print(string(data))
	return err
}

// awkColumn matches the only awk program that is supported: it prints a column, optionally
// only of the lines after the nth.
var awkColumn = regexp.MustCompile(`^\s*(?:NR\s*>\s*(\d+))?\s*\{\s*print\s+\$(\d+)\s*;?\s*\}\s*$`)

// ip finds the machine's interfaces: ip link show [dev] NAME.
func (c *command) ip() error {
	words := slices.DeleteFunc(slices.Clone(c.args), func(word string) bool { return word == "dev" || strings.HasPrefix(word, "-") })
	if len(words) < 3 || words[1] != "show" {
		return nil
	}
	if !slices.Contains(c.shell.lxd.Interfaces, words[2]) && !slices.Contains(c.shell.lxd.Networks, words[2]) {
		return fmt.Errorf("device %q does not exist", words[2])
	}
	c.print("2: " + words[2] + ": <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500\n")
	return nil
}

// sh runs a script, or the command after a command's own options: sh FILE …, sh -c TEXT,
// timeout 60 COMMAND …
func (c *command) sh() error {
	args := c.args
	for len(args) > 0 {
		name, _, assigns := strings.Cut(args[0], "=")
		if args[0] == "-c" && len(args) > 1 {
			return c.runNested("sh", args[1], args[2:])
		}
		if _, err := strconv.ParseFloat(strings.TrimRight(name, "smhd"), 64); err != nil && !assigns && !strings.HasPrefix(name, "-") {
			break
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return nil
	}
	if text, exists := c.readFile(args[0]); exists && args[0] != "-" {
		return c.runNested(args[0], text, args[1:])
	}
	inner := &command{shell: c.shell, args: args[1:], in: c.in, out: c.out}
	return inner.run(path.Base(args[0]))
}

func (c *command) runNested(name, text string, args []string) error {
	c.shell.mu.Unlock()
	defer c.shell.mu.Lock()
	return c.shell.run(name, text, args, c.in, c.out)
}

// flagsWithValue are the flags that take the next word as their value, unless they have an
// =.
var flagsWithValue = []string{"--channel", "--projects", "--name", "--project", "--description", "--network-address", "--network-port",
	"--storage-backend", "--storage-create-device", "--storage-create-loop", "--storage-pool", "--trust-password", "-c", "--config", "--type", "--target", "-f", "--format"}

// splitFlags separates flags from arguments.
func splitFlags(words []string) (flags map[string]string, args []string) {
	flags = map[string]string{}
	for i := 0; i < len(words); i++ {
		name, value, hasValue := strings.Cut(words[i], "=")
		switch {
		case !strings.HasPrefix(name, "-") || name == "-":
			args = append(args, words[i])
		case !hasValue && slices.Contains(flagsWithValue, name) && i+1 < len(words):
			i++
			flags[name] = words[i]
		default:
			flags[name] = value
		}
	}
	return flags, args
}
