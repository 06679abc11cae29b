package acctest_test

import (
	"bytes"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// Two ways to kill: the CLI alone, whose provider then lives on for a moment as
// an orphan, or both at once.
var killFunctions = map[string]func(*exec.Cmd) error{
	"CLI":            func(c *exec.Cmd) error { return c.Process.Kill() },
	"CLIAndProvider": func(c *exec.Cmd) error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) },
}

// TestAccVMKilled kills a run in each phase of a VM's life. The next run must
// go on: never a second VM, and nothing left at the end.
func TestAccVMKilled(t *testing.T) {
	t.Parallel()
	phases := map[string]struct {
		reason string
		verb   string
		before func(x *target, name string) string // a configuration that is applied first; nil: none
		brief  bool                                // too short to be seen on a real MAAS
		reach  func(x *target, t *testing.T, name string)
	}{
		"Composing": {
			reason: "MAAS is composing the VM when the run is killed.", verb: "apply", brief: true,
			reach: func(x *target, t *testing.T, _ string) { x.awaitCall(t, composeRoute()) },
		},
		"Newborn": {
			reason: "The VM exists, and only its birth mark tells of the killed run.", verb: "apply", brief: true,
			reach: func(x *target, t *testing.T, name string) {
				// The VM stays Ready until the run is dead. It goes on in the
				// next run.
				x.sim.AddFault(sim.Fault{Method: http.MethodPost, Path: machinePath, Op: "deploy", When: sim.FaultBeforeEffect, Kind: sim.FaultHang, Times: 1})
				x.awaitCall(t, "POST machines/{id}/ deploy")
			},
		},
		"Commissioning": {
			reason: "MAAS continues to commission the VM after the run is killed.", verb: "apply",
			reach: func(x *target, t *testing.T, name string) {
				x.actAtStatus(t, name, "Commissioning", func(sim.Machine) {})
			},
		},
		"Deploying": {
			reason: "MAAS continues the deployment after the run is killed.", verb: "apply",
			reach: func(x *target, t *testing.T, name string) { x.awaitDeploying(t, name) },
		},
		"DeployingInPlace": {
			reason: "The next run continues the deployment of a Ready VM, because nobody else can have begun it.", verb: "apply",
			before: func(x *target, name string) string { return x.config(x.vm(name)) },
			reach:  func(x *target, t *testing.T, name string) { x.actAtStatus(t, name, "Deploying", func(sim.Machine) {}) },
		},
		"Releasing": {
			reason: "The next destroy finishes the one that was killed.", verb: "destroy", brief: true,
			before: func(x *target, name string) string { return x.config(x.vm(name, x.deploy())) },
			reach:  func(x *target, t *testing.T, name string) { x.actAtStatus(t, name, "Releasing", func(sim.Machine) {}) },
		},
	}
	for phase, tc := range phases {
		for who, kill := range killFunctions {
			t.Run(phase+"/"+who, func(t *testing.T) {
				t.Parallel()
				if isOnSite() && tc.brief {
					t.Skip("runs only on the simulator: " + siteTooBrief)
				}
				x := newTarget(t, slowTransitions, func(m *sim.Model) { m.Latency.Release = 2 * m.Latency.Deploy; m.Latency.Compose = 2 * m.Latency.Deploy })
				name := x.name()
				config := x.config(x.vm(name, x.deploy(`user_data_wo = "#cloud-config\n# `+userDataSecret+`\n"`)))
				t.Log(tc.reason)
				w := newWorkspace(t, config).withTrace()
				if tc.before != nil {
					w.configure(t, tc.before(x, name))
					w.run(t, "apply", "-auto-approve", "-no-color")
					w.configure(t, config)
				}
				x.holdMachine(name)
				cmd, out := w.command(t.Context(), tc.verb, "-auto-approve", "-no-color")
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				// The provider of a killed CLI would wait for MAAS without end.
				t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
				tc.reach(x, t, name)
				if err := kill(cmd); err != nil {
					t.Fatal(err)
				}
				if err := cmd.Wait(); err == nil {
					t.Fatalf("the run ended well before it was killed:\n%s", out)
				}
				x.resumeMachines(name)
				if tc.verb == "apply" {
					w.run(t, "apply", "-auto-approve", "-no-color")
					if got := w.status(t); got != "Deployed" {
						t.Errorf("%s\nafter the second apply the VM is %s", tc.reason, got)
					}
					if n := len(x.instances()); n != 1 {
						t.Errorf("%s\nwant one instance, got %+v", tc.reason, x.instances())
					}
					if n, counted := x.countCalls(t, composeRoute()); counted && n != 1 {
						t.Errorf("%s\nwant one compose, got %d", tc.reason, n)
					}
				}
				w.run(t, "destroy", "-auto-approve", "-no-color")
				if err := x.checkVMGone(name)(nil); err != nil {
					t.Errorf("%s\n%v", tc.reason, err)
				}
				w.checkNoSecrets(t, x)
			})
		}
	}
}

// userDataSecret is a word of the user-data that must appear nowhere.
const userDataSecret = "h0rse-battery-staple"

// checkNoSecrets searches everything that the runs wrote, traces included, for
// user-data and for the API key's secret.
func (w workspace) checkNoSecrets(t *testing.T, x *target) {
	t.Helper()
	token := x.key[strings.LastIndex(x.key, ":")+1:]
	for name, data := range w.readWrittenFiles(t) {
		for _, word := range []string{userDataSecret, token} {
			if bytes.Contains(data, []byte(word)) {
				t.Errorf("%s contains a secret", name)
			}
		}
	}
}
