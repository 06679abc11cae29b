package acctest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
}

// providerBinary builds the provider once for all tests, with the flags of "make
// build": what that has compiled is not compiled again.
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

// newWorkspace prepares a folder with a configuration of ours.
func newWorkspace(t *testing.T, config string) workspace {
	t.Helper()
	w := emptyWorkspace(t)
	w.configure(t, config)
	return w
}

// configure puts another configuration in the place of the one before.
func (w workspace) configure(t *testing.T, config string) {
	t.Helper()
	w.write(t, "main.tf", "terraform {\n  required_providers {\n    maaslxd = {\n      source = \""+cli.ProviderSource+"\"\n    }\n  }\n}\n"+config)
}

// emptyWorkspace prepares a folder without any configuration.
func emptyWorkspace(t *testing.T) workspace {
	t.Helper()
	bin, err := providerBinary()
	if err != nil {
		t.Fatal(err)
	}
	finder, err := cli.NewFinder(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, err := finder.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	rc := filepath.Join(dir, "cli.tfrc")
	if err := cli.WriteOverrides(rc, bin); err != nil {
		t.Fatal(err)
	}
	return workspace{dir: dir, env: found.WithOverrides(os.Environ(), rc), cli: found}
}

func (w workspace) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// take copies files of the repository into the folder.
func (w workspace) take(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		data, err := os.ReadFile(filepath.Join("..", path))
		if err != nil {
			t.Fatal(err)
		}
		w.write(t, filepath.Base(path), string(data))
	}
}

// command prepares a run of the CLI in a process group of its own.
func (w workspace) command(ctx context.Context, args ...string) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.CommandContext(ctx, w.cli.Path, args...)
	var out bytes.Buffer
	cmd.Dir, cmd.Env = w.dir, append(w.env, "TF_LOG=trace", "TF_LOG_PATH="+filepath.Join(w.dir, "trace.log"))
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// Orphaned providers keep the pipes; their end is not worth waiting for.
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

// status reads the VM's status from the state.
func (w workspace) status(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), w.cli.Path, "show", "-json")
	cmd.Dir, cmd.Env = w.dir, w.env
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var state struct {
		Values struct {
			RootModule struct {
				Resources []struct{ Values struct{ Status string } }
			} `json:"root_module"`
		}
	}
	if err := json.Unmarshal(out, &state); err != nil {
		t.Fatal(err)
	}
	if len(state.Values.RootModule.Resources) != 1 {
		t.Fatalf("want one resource in the state, got %s", out)
	}
	return state.Values.RootModule.Resources[0].Values.Status
}
