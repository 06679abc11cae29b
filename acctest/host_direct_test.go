package acctest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// listenOnLoopback makes the simulated LXDs listen on a loopback network, so
// that the test reaches them.
func listenOnLoopback(m *sim.Model) {
	m.LXDListen, m.Subnets = "auto", nil
	m.Hosts[0].Address, m.Hosts[0].Project = "", "maas"
}

// configWithProbe is a configuration whose provider connects to LXDs itself.
func (x *metalTarget) configWithProbe(probe, body string) string {
	return strings.Replace(x.config(body), `probe = "maas"`, fmt.Sprintf("probe = %q", probe), 1)
}

// TestAccHostSeenDirectly waits for the LXD itself, and registers it when it
// answers.
func TestAccHostSeenDirectly(t *testing.T) {
	t.Parallel()
	for _, probe := range []string{"direct", "auto"} {
		t.Run(probe, func(t *testing.T) {
			t.Parallel()
			x := newMetalTarget(t, listenOnLoopback, func(m *sim.Model) { m.Latency.FirstBoot = 4 * time.Second })
			w := newWorkspace(t, x.configWithProbe(probe, hostOnNode1()))
			run := startApplies(t, w)[0]
			x.actAtStatus(t, "node1", "Deployed", func(sim.Machine) {})
			time.Sleep(time.Second) // the first boot is still under way
			if n, counted := x.countCalls(t, "POST vm-hosts/"); counted && n != 0 {
				t.Errorf("the host was registered before its LXD answered")
			}
			if err := run.cmd.Wait(); err != nil {
				t.Fatalf("%v\n%s", err, run.out)
			}
			if n, counted := x.countCalls(t, "POST vm-hosts/{id}/ refresh"); counted && n != 0 {
				t.Errorf("MAAS was made to look %d times at an LXD that was there", n)
			}
			w.run(t, "plan", "-detailed-exitcode", "-no-color")
			w.run(t, "destroy", "-auto-approve", "-no-color")
			if err := x.checkReady("node1")(nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAccHostProjectInUse looks into a running LXD before MAAS takes over its
// instances.
func TestAccHostProjectInUse(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t, listenOnLoopback)
	x.makeLXDTrustNewKey(t, "stray")
	address := ""
	for _, l := range x.simulatorOrSkip().LXDs() {
		if l.Name == "stray" {
			address = l.Address
		}
	}
	if err := x.simulatorOrSkip().AddInstance(sim.Instance{Host: "stray", Name: "precious"}); err != nil {
		t.Fatal(err)
	}
	w := newWorkspace(t, x.configWithProbe("direct", vmHost("kvm", fmt.Sprintf("address = %q", address))))
	cmd, out := w.command(t.Context(), "apply", "-auto-approve", "-no-color")
	if err := cmd.Run(); err == nil || !wordsPattern("holds instances already: precious adopt_existing_vms").MatchString(out.String()) {
		t.Errorf("want it refused with the instance named, got %v:\n%s", err, out)
	}
	if n, counted := x.countCalls(t, "POST vm-hosts/"); counted && n != 0 {
		t.Errorf("it was registered %d times", n)
	}
	if err := x.simulatorOrSkip().RemoveInstance("stray", "", "precious"); err != nil {
		t.Fatal(err)
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if got := x.listVMHosts(t); len(got) != 0 {
		t.Errorf("MAAS still has %+v", got)
	}
}
