package lxdtest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// commandTimeout bounds a command of LXD's client.
const commandTimeout = 2 * time.Minute

// CommandInNetwork makes a command that runs in the LXD's network, which nothing else can
// reach.
func (s *Server) CommandInNetwork(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	return exec.CommandContext(t.Context(), "nsenter", append([]string{"--target", strconv.Itoa(s.pid), "--net", "--", name}, args...)...)
}

// LXC runs LXD's own client, as an operator on the host would, and returns its output.
func (s *Server) LXC(t testing.TB, args ...string) string {
	t.Helper()
	out, err := s.Run("", "lxc", args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Preseed applies a preseed to the LXD, as a first boot does.
func (s *Server) Preseed(t testing.TB, preseed string) {
	t.Helper()
	if _, err := s.Run(preseed, "lxd", "init", "--preseed"); err != nil {
		t.Fatal(err)
	}
}

// Run runs a program of the host that talks to the LXD, and returns its output.
func (s *Server) Run(input, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	c.Env = append(os.Environ(), "LXD_DIR="+filepath.Dir(s.Socket), "LXD_CONF="+s.Folder, "LC_ALL=C.UTF-8")
	c.Stdin, c.WaitDelay = strings.NewReader(input), 5*time.Second
	var out, problem bytes.Buffer
	c.Stdout, c.Stderr = &out, &problem
	if err := c.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, &out, &problem)
	}
	return out.String(), nil
}

// runInMachine runs a script in the network and mounts of the daemon.
func (s *Server) runInMachine(script string) error {
	c := exec.Command("nsenter", "--target", strconv.Itoa(s.pid), "--net", "--mount", "--", "sh", "-euc", script)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot set up the machine of an LXD: %w\n%s", err, out)
	}
	return nil
}
