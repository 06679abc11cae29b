package acctest_test

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
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/cli"
)

// workspace is a folder in which the real CLI runs the real provider.
type workspace struct {
	dir string
	env []string
	cli cli.CLI

	names *nameTranslator // of the test's target; nil on the simulator
}

// cliOutput is the output of a CLI, in the words of the tests.
type cliOutput struct {
	bytes.Buffer
	names *nameTranslator
}

// String is the output so far.
func (o *cliOutput) String() string { return o.names.toWords(o.Buffer.String()) }

// providerBinary builds the provider once for all tests. With the flags of
// "make build" it shares that build's cache.
var providerBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "maaslxd-acctest-")
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(dir, cli.ProviderBinary), "github.com/maaslxd/maaslxd/terraform-provider-maaslxd")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build the provider: %w\n%s", err, out)
	}
	return dir, nil
})

// newWorkspace prepares a folder with a configuration for our provider.
func newWorkspace(t *testing.T, config string) workspace {
	t.Helper()
	w := newEmptyWorkspace(t)
	w.configure(t, config)
	return w
}

// configure replaces the configuration.
func (w workspace) configure(t *testing.T, config string) {
	t.Helper()
	w.writeFile(t, "main.tf", "terraform {\n  required_providers {\n    maaslxd = {\n      source = \""+cli.ProviderSource+"\"\n    }\n  }\n}\n"+config)
}

// foundCLI finds the CLI once for all tests.
var foundCLI = sync.OnceValues(func() (cli.CLI, error) {
	ctx := context.Background() // not a test's: the end of the first test must not end it for all
	finder, err := cli.NewFinder(ctx)
	if err != nil {
		return cli.CLI{}, err
	}
	return finder.Find(ctx)
})

// newEmptyWorkspace prepares a folder without any configuration.
func newEmptyWorkspace(t *testing.T) workspace {
	t.Helper()
	bin, err := providerBinary()
	if err != nil {
		t.Fatal(err)
	}
	found, err := foundCLI()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	rc := filepath.Join(dir, "cli.tfrc")
	if err := cli.WriteOverrides(rc, bin); err != nil {
		t.Fatal(err)
	}
	return workspace{dir: dir, env: found.WithOverrides(os.Environ(), rc), cli: found, names: translatorOf(t)}
}

func (w workspace) writeFile(t *testing.T, name, text string) {
	t.Helper()
	if strings.HasSuffix(name, ".tf") {
		text = w.names.config(text)
		skipIfLacking(t, text)
	}
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// copyRepositoryFiles copies files of the repository into the folder.
func (w workspace) copyRepositoryFiles(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		data, err := os.ReadFile(filepath.Join("..", path))
		if err != nil {
			t.Fatal(err)
		}
		w.writeFile(t, filepath.Base(path), string(data))
	}
}

// traceFile is the file that a traced workspace writes.
const traceFile = "trace.log"

// withTrace is the workspace with the whole log of the CLI and the provider in
// traceFile. It makes each run a tenth slower, and is for tests that search the
// log.
func (w workspace) withTrace() workspace {
	w.env = append(slices.Clone(w.env), "TF_LOG=trace", "TF_LOG_PATH="+filepath.Join(w.dir, traceFile))
	return w
}

// readWrittenFiles are the contents of everything that the runs of a traced
// workspace wrote, by name. Configurations are left out: tests wrote those.
func (w workspace) readWrittenFiles(t *testing.T) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if e.IsDir() || strings.HasSuffix(e.Name(), ".tf") || strings.HasSuffix(e.Name(), ".tfrc") {
			continue
		}
		if files[e.Name()], err = os.ReadFile(filepath.Join(w.dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{traceFile, stateFile} {
		if len(files[name]) == 0 {
			t.Errorf("%s has no %s to search", w.dir, name)
		}
	}
	return files
}

// command prepares a run of the CLI in a process group of its own.
func (w workspace) command(ctx context.Context, args ...string) (*exec.Cmd, *cliOutput) {
	if w.names != nil {
		args = slices.Clone(args)
		for n, arg := range args {
			if w.names.hasName(arg) {
				args[n], _ = w.names.existingName(arg)
			}
		}
	}
	cmd := exec.CommandContext(ctx, w.cli.Path, args...)
	out := cliOutput{names: w.names}
	cmd.Dir, cmd.Env = w.dir, w.env
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// Orphaned providers keep the pipes open. Nobody needs to wait for them.
	cmd.WaitDelay = 10 * time.Second
	return cmd, &out
}

func (w workspace) run(t *testing.T, args ...string) string {
	t.Helper()
	cmd, out := w.command(t.Context(), args...)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out.String()
}

// stateFile is where the CLI keeps the state of a workspace without a backend.
const stateFile = "terraform.tfstate"

// stateAttribute reads an attribute of the state's only object, with the tests'
// words. It reads the file, because the CLI would start a provider each time.
func (w workspace) stateAttribute(t *testing.T, attribute string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, stateFile))
	if err != nil {
		t.Fatal(err)
	}
	var state struct {
		Resources []struct {
			Mode      string
			Instances []struct{ Attributes map[string]any }
		}
	}
	if err := json.Unmarshal(text, &state); err != nil {
		t.Fatal(err)
	}
	if len(state.Resources) != 1 || state.Resources[0].Mode != "managed" || len(state.Resources[0].Instances) != 1 {
		t.Fatalf("want one resource in the state, got %s", text)
	}
	value, ok := state.Resources[0].Instances[0].Attributes[attribute].(string)
	if !ok {
		t.Fatalf("no %s in %s", attribute, text)
	}
	return w.names.wordOf(value)
}

// status is the status of the only object in the state.
func (w workspace) status(t *testing.T) string { t.Helper(); return w.stateAttribute(t, "status") }

// systemID is the system id of the only VM or host in the state.
func (w workspace) systemID(t *testing.T) string { t.Helper(); return w.stateAttribute(t, "id") }
