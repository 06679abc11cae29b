package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// minClientTests is the least number of the clients' tests that pass, so that no test
// disappears unnoticed.
const minClientTests = 138

// TestClients runs the tests of other people's clients on a simulator. They are a Go
// module of their own in the folder clients.
func TestClients(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("clients/model.json")
	if err != nil {
		t.Fatal(err)
	}
	var model sim.Model
	if err := json.Unmarshal(text, &model); err != nil {
		t.Fatal(err)
	}
	if out, err := runGoInClients(t, nil, "mod", "download"); err != nil {
		t.Skipf("the clients' modules cannot be had: %v: %s", err, out)
	}
	server := sim.StartServer(t, model)
	environ := []string{"MAAS_API_URL=" + server.URL, "MAAS_API_KEY=" + server.APIKey()}
	out, err := runGoInClients(t, environ, "test", "-json", "-count=1", "-p=1", "./...")
	ran := reportClientTests(t, out)
	if err != nil && !t.Failed() {
		t.Errorf("%v\n%s", err, out)
	}
	if ran < minClientTests {
		t.Errorf("%d tests passed, fewer than %d:\n%s", ran, minClientTests, out)
	}
}

// runGoInClients runs the go command in the clients' module.
func runGoInClients(t *testing.T, environ []string, args ...string) ([]byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var stdout, stderr bytes.Buffer
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir, c.Env = "clients", slices.Concat(os.Environ(), environ)
	c.Stdout, c.Stderr = &stdout, &stderr
	err := c.Run()
	if stderr.Len() > 0 && err != nil {
		err = errors.Join(err, errors.New(strings.TrimSpace(stderr.String())))
	}
	return stdout.Bytes(), err
}

// testEvent is a line of "go test -json".
type testEvent struct{ Action, Package, ImportPath, Test, Output, FailedBuild string }

// reportClientTests makes a subtest with the output of each test, and counts the passed
// ones.
func reportClientTests(t *testing.T, out []byte) (passed int) {
	t.Helper()
	printed := map[string]*strings.Builder{}
	for line := range bytes.Lines(out) {
		var e testEvent
		if json.Unmarshal(line, &e) != nil {
			continue
		}
		if e.Action == "skip" && e.Test == "" {
			continue // a package without tests
		}
		name := path.Join(path.Base(cmp.Or(e.Package, e.ImportPath)), e.Test)
		if printed[name] == nil {
			printed[name] = &strings.Builder{}
		}
		printed[name].WriteString(e.Output)
		switch e.Action {
		case "pass":
			passed += min(1, len(e.Test))
			t.Run(name, func(*testing.T) {})
		case "fail":
			t.Run(name, func(t *testing.T) { t.Error(printed[name], printed[path.Base(e.FailedBuild)]) })
		case "skip":
			t.Run(name, func(t *testing.T) { t.Skip(printed[name]) })
		}
	}
	return passed
}
