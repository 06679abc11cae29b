package acctest_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/executable"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestScriptREADME runs the README's commands for a real MAAS on a copy of the
// repository. A simulated MAAS takes the place of the real one. Stand-ins
// replace what only a MAAS server has (sudo maas apikey), and the CLI's name.
func TestScriptREADME(t *testing.T) {
	t.Parallel()
	x := newSimulatedTarget(t, addReadmeMachine)
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	const placeholder = "http://localhost:5240/MAAS"
	blocks = slices.DeleteFunc(blocks, func(block []string) bool { return !strings.Contains(block[1], placeholder) })
	if len(blocks) != 1 {
		t.Fatalf("want one shell block of the README that names %s, got %d", placeholder, len(blocks))
	}
	session := "set -eu\n" + strings.ReplaceAll(blocks[0][1], placeholder, x.url)

	w := newEmptyWorkspace(t)
	tools, clone := t.TempDir(), filepath.Join(t.TempDir(), "maaslxd")
	writeStandIn(t, tools, "sudo", fmt.Sprintf("[ \"$1 $2\" = 'maas apikey' ] && echo '%s'", x.key))
	writeStandIn(t, tools, "terraform", fmt.Sprintf("exec '%s' \"$@\"", w.cli.Path))
	copyRepository(t, clone)

	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute) // it builds the programs
	defer cancel()
	run := exec.CommandContext(ctx, "sh", "-c", session)
	run.Dir, run.Stdin = clone, strings.NewReader("yes\n")
	run.Env = append(w.env, "PATH="+tools+string(os.PathListSeparator)+os.Getenv("PATH"), "VERSION=test")
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if m := x.findMachine(t, "node1"); m.StatusName != "Deployed" || m.HostedHosts != "kvm-1" {
		t.Errorf("got %+v\n%s", m, out)
	}
	for _, name := range []string{"web-1", "web-2"} {
		if m := x.findMachine(t, name); m.StatusName != "Deployed" || m.Host != "kvm-1" {
			t.Errorf("got %+v\n%s", m, out)
		}
	}
	if n := x.simulatorOrSkip().Journal().LXD.Count("GET 1.0"); n == 0 {
		t.Error("nobody asked the new LXD whether it is ready")
	}
}

// addReadmeMachine adds a Ready machine. Its LXD listens once it is deployed,
// as a real one does.
func addReadmeMachine(m *sim.Model) {
	m.Hosts, m.Subnets = nil, nil
	m.Machines = []sim.MachineModel{{Hostname: "node1", Cores: 8, MemoryMiB: 32768, DiskGB: 500}}
	m.LXDListen = sim.LXDListenAuto
}

// TestREADMENamesTests: each test that the README names exists.
func TestREADMENamesTests(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var sources strings.Builder
	for _, name := range repositoryFiles(t) {
		if !strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join("..", name))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		sources.Write(text)
	}
	named := regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(string(readme), -1)
	if len(named) == 0 {
		t.Fatal("the README names no test, so nothing shows what it claims")
	}
	for _, test := range named {
		if !strings.Contains(sources.String(), "func "+test+"(t *testing.T)") {
			t.Errorf("the README names %s, which is no test", test)
		}
	}
}

// TestREADMEIsShort limits the README's length, so that a newcomer reads all of
// it.
func TestREADMEIsShort(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(readme), "\n"); n >= 150 {
		t.Errorf("the README has %d lines, and 149 are enough: move details into docs", n)
	}
}

func writeStandIn(t *testing.T, dir, name, script string) {
	t.Helper()
	if err := executable.WriteProgram(filepath.Join(dir, name), "#!/bin/sh\n"+script+"\n"); err != nil {
		t.Fatal(err)
	}
}

// copyRepository copies the tracked files as they are in the working tree.
func copyRepository(t *testing.T, to string) {
	t.Helper()
	for _, name := range repositoryFiles(t) {
		from := filepath.Join("..", name)
		info, err := os.Stat(from)
		if os.IsNotExist(err) {
			continue // it is deleted and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		target := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(target, data, info.Mode()); err != nil {
			t.Fatal(err)
		}
	}
}
