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
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// workspace is a folder in which the real CLI runs the real provider.
type workspace struct {
	dir string
	env []string
	cli cli.CLI
}

// providerBinary builds the provider once for all tests.
var providerBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "maaslxd-acctest-")
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-o", filepath.Join(dir, cli.ProviderBinary), "github.com/maaslxd/maaslxd/terraform-provider-maaslxd")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build the provider: %w\n%s", err, out)
	}
	return dir, nil
})

func newWorkspace(t *testing.T, config string) workspace {
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
	main := "terraform {\n  required_providers {\n    maaslxd = {\n      source = \"" + cli.ProviderSource + "\"\n    }\n  }\n}\n" + config
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(main), 0o600); err != nil {
		t.Fatal(err)
	}
	return workspace{dir: dir, env: found.WithOverrides(os.Environ(), rc), cli: found}
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

// Who is killed: the CLI alone, whose provider then runs on for a moment as an
// orphan, or both at once.
var victims = map[string]func(*exec.Cmd) error{
	"CLI":            func(c *exec.Cmd) error { return c.Process.Kill() },
	"CLIAndProvider": func(c *exec.Cmd) error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) },
}

// TestAccVMKilled kills a run in each phase of a VM's life and wants the next
// run to go on: never a second VM, nothing left in the end.
func TestAccVMKilled(t *testing.T) {
	t.Parallel()
	phases := map[string]struct {
		reason string
		verb   string
		reach  func(x *target, t *testing.T, name string)
	}{
		"Composing": {
			reason: "The compose was sent, and MAAS is at it.", verb: "apply",
			reach: func(x *target, t *testing.T, _ string) { x.whenCalled(t, composeRoute) },
		},
		"Newborn": {
			reason: "The VM is there and nothing knows it but its birth mark.", verb: "apply",
			reach: func(x *target, t *testing.T, name string) { x.when(t, name, "Ready", func(sim.Machine) {}) },
		},
		"Commissioning": {
			reason: "Commissioning goes on without us.", verb: "apply",
			reach: func(x *target, t *testing.T, name string) { x.when(t, name, "Commissioning", func(sim.Machine) {}) },
		},
		"Deploying": {
			reason: "The deployment goes on without us.", verb: "apply",
			reach: func(x *target, t *testing.T, name string) { x.when(t, name, "Deploying", func(sim.Machine) {}) },
		},
		"Releasing": {
			reason: "A destroy that was cut off is finished by the next.", verb: "destroy",
			reach: func(x *target, t *testing.T, name string) { x.when(t, name, "Releasing", func(sim.Machine) {}) },
		},
	}
	for phase, tc := range phases {
		for who, kill := range victims {
			t.Run(phase+"/"+who, func(t *testing.T) {
				t.Parallel()
				x := simulated(t, slow, func(m *sim.Model) { m.Latency.Release = 2 * m.Latency.Deploy; m.Latency.Compose = 2 * m.Latency.Deploy })
				name := x.name()
				w := newWorkspace(t, x.config(x.vm(name, x.deploy(`user_data_wo = "#cloud-config\n# `+secret+`\n"`))))
				t.Log(tc.reason)
				if tc.verb == "destroy" {
					w.run(t, "apply", "-auto-approve", "-no-color")
				}
				cmd, out := w.command(t.Context(), tc.verb, "-auto-approve", "-no-color")
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				tc.reach(x, t, name)
				if err := kill(cmd); err != nil {
					t.Fatal(err)
				}
				if err := cmd.Wait(); err == nil {
					t.Fatalf("the run ended well before it was killed:\n%s", out)
				}
				if tc.verb == "apply" {
					w.run(t, "apply", "-auto-approve", "-no-color")
					if got := w.status(t); got != "Deployed" {
						t.Errorf("%s\nafter the second apply the VM is %s", tc.reason, got)
					}
					if n := len(x.sim.Instances()); n != 1 {
						t.Errorf("%s\nwant one instance, got %+v", tc.reason, x.sim.Instances())
					}
				}
				w.run(t, "destroy", "-auto-approve", "-no-color")
				if err := x.checkEmpty(name)(nil); err != nil {
					t.Errorf("%s\n%v", tc.reason, err)
				}
				w.checkNoSecrets(t, x)
			})
		}
	}
}

// secret is a word of the user-data that must not be found anywhere.
const secret = "h0rse-battery-staple"

// checkNoSecrets searches all that the runs wrote, traces included, for
// user-data and for the API key's secret.
func (w workspace) checkNoSecrets(t *testing.T, x *target) {
	t.Helper()
	token := x.key[strings.LastIndex(x.key, ":")+1:]
	files, err := filepath.Glob(filepath.Join(w.dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	searched := 0
	for _, file := range files {
		if strings.HasSuffix(file, ".tf") || strings.HasSuffix(file, ".tfrc") {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		searched++
		for _, word := range []string{secret, token} {
			if bytes.Contains(data, []byte(word)) {
				t.Errorf("%s contains a secret", filepath.Base(file))
			}
		}
	}
	if searched < 2 {
		t.Errorf("only %d files were searched, want state and trace", searched)
	}
}
