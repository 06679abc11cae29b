package acctest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// stopLXD makes the LXD of a machine silent for good.
func (x *metalTarget) stopLXD(t *testing.T, machine string) {
	t.Helper()
	if err := x.simulatorOrSkip().SetLXDCondition(machine, sim.ConditionUnreachable); err != nil {
		t.Fatal(err)
	}
}

// forEachComposer runs a story where MAAS makes the VMs, and where the provider makes them in LXD.
func forEachComposer(t *testing.T, story func(t *testing.T, x *metalTarget, config func(string) string, inLXD bool)) {
	t.Helper()
	t.Run("MAAS", func(t *testing.T) {
		t.Parallel()
		x := newMetalTarget(t)
		story(t, x, func(body string) string { return x.config(body) }, isLXDColumn())
	})
	t.Run("LXD", func(t *testing.T) {
		t.Parallel()
		x := newTargetWithoutVMHosts(t)
		story(t, x, func(body string) string { return x.configReachingLXD(body) }, true)
	})
}

// TestAccWorkflowLostLXD gives up a VM host whose LXD is lost for good, with its VM. A destroy of the
// VM says how, and that works: the state forgets the VM, and an apply without both releases the
// machine. Another VM host stays.
func TestAccWorkflowLostLXD(t *testing.T) {
	t.Parallel()
	forEachComposer(t, func(t *testing.T, x *metalTarget, config func(string) string, inLXD bool) {
		other := strings.Replace(vmHost("kvm2", `machine = "node2"`, deployNoble), `"test"`, `"other"`, 1)
		body := func(more ...string) string {
			return config(hostOnNode1(more...) + other + vmOnTestHost("web", `timeouts = { delete = "5s" }`))
		}
		w := newWorkspace(t, body())
		w.run(t, "apply", "-auto-approve", "-no-color")
		x.stopLXD(t, "node1")
		w.configure(t, body(`force_destroy = true`))
		w.run(t, "apply", "-auto-approve", "-no-color")
		w.wantCommandFailure(t, `web cannot be deleted yet If the LXD is lost for good force_destroy = true terraform state rm remove the VM host and its VMs from the configuration`, "destroy", "-auto-approve", "-no-color", "-target=maaslxd_vm.test")
		w.run(t, "state", "rm", "maaslxd_vm.test")
		w.configure(t, config(other))
		w.run(t, "apply", "-auto-approve", "-no-color")
		if got := x.statusOf("node2"); got != "Deployed" {
			t.Errorf("the other VM host is %s", got)
		}
		w.run(t, "destroy", "-auto-approve", "-no-color") // what the state still has
		if err := x.checkReady("node1", "node2")(nil); err != nil {
			t.Error(err)
		}
		left := slices.ContainsFunc(x.machines(), func(m sim.Machine) bool { return m.Hostname == "web" })
		if left != inLXD {
			t.Errorf("MAAS still has the machine of the VM: %v", left)
		}
	})
}

// TestAccWorkflowForeignLXD gives up a VM host, with its VM, at whose address another LXD answers. Its
// destroy is refused before.
func TestAccWorkflowForeignLXD(t *testing.T) {
	t.Parallel()
	targets := map[string]func(*testing.T) *metalTarget{
		"MAAS": func(t *testing.T) *metalTarget { return newMetalTarget(t, listenOnLoopback) },
		"LXD":  func(t *testing.T) *metalTarget { return newTargetWithoutVMHosts(t) },
	}
	for composer, newTarget := range targets {
		t.Run(composer, func(t *testing.T) {
			t.Parallel()
			x := newTarget(t)
			body := func(more ...string) string { return x.configReachingLXD(hostOnNode1(more...) + vmOnTestHost("web")) }
			w := newWorkspace(t, body())
			w.run(t, "apply", "-auto-approve", "-no-color")
			if _, err := x.simulatorOrSkip().RenewCertificate("node1"); err != nil {
				t.Fatal(err)
			}
			w.wantCommandFailure(t, `shows the certificate`, "destroy", "-auto-approve", "-no-color")
			w.configure(t, body(`force_destroy = true`))
			w.run(t, "apply", "-auto-approve", "-no-color", "-target="+hostAddress)
			if composer == "LXD" { // MAAS deletes its VMs before
				w.run(t, "state", "rm", "maaslxd_vm.test")
			}
			w.configure(t, x.configReachingLXD(""))
			w.run(t, "apply", "-auto-approve", "-no-color")
			if err := x.checkReady("node1")(nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAccWorkflowSilentLXDUpdate changes a VM host while its LXD does not answer. What only MAAS keeps
// is changed at once. What the LXD must confirm waits for it, and the error says so.
func TestAccWorkflowSilentLXDUpdate(t *testing.T) {
	t.Parallel()
	forEachComposer(t, func(t *testing.T, x *metalTarget, config func(string) string, inLXD bool) {
		want := `VM host kvm2 has no storage pool "tape"` // MAAS remembers the pools
		if inLXD {
			want = `VM host kvm2 is not changed yet the LXD of kvm2 does not answer`
		}
		w := newWorkspace(t, config(hostOnNode1()))
		w.run(t, "apply", "-auto-approve", "-no-color")
		x.stopLXD(t, "node1")
		apply := func(host string) {
			t.Helper()
			w.configure(t, config(host))
			w.run(t, "apply", "-auto-approve", "-no-color")
			w.wantEmptyPlan(t)
		}
		for _, change := range []string{`force_destroy = true`, `zone = "az2"`, `tags = ["rack1"]`, `pool = "kvm"`, `cpu_overcommit = 2`, `memory_overcommit = 1.5`} {
			apply(hostOnNode1(change, `timeouts = { update = "10s" }`))
		}
		renamed := []string{`machine = "node1"`, deployNoble, `timeouts = { update = "5s" }`}
		apply(vmHost("kvm2", renamed...))
		w.configure(t, config(vmHost("kvm2", append(renamed, `default_storage_pool = "tape"`)...)))
		w.wantCommandFailure(t, want, "apply", "-auto-approve", "-no-color")
		apply(vmHost("kvm2", renamed...))
	})
}
