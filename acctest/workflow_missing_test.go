package acctest_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestAccWorkflowInstanceMissing deletes the instance of a VM in LXD, without
// MAAS, where the provider can reach the LXD. The plan shows it, and the apply
// repairs it.
func TestAccWorkflowInstanceMissing(t *testing.T) {
	t.Parallel()
	x := newTargetWithoutVMHosts(t)
	config := x.configReachingLXD(hostOnNode1() + vmOnTestHost("web", x.deploy()))
	w := newWorkspace(t, config)
	w.run(t, "apply", "-auto-approve", "-no-color")
	made := x.findMachine(t, "web").SystemID
	for _, i := range x.instances() {
		x.removeInstance(t, i)
	}
	if got := joinActions(w.planActions(t)); got != "delete,create" {
		t.Errorf("the plan wants %s", got)
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	if x.findMachine(t, "web").SystemID == made {
		t.Error("it is still the machine without an instance")
	}
	x.untagHostMachine(t, "kvm1")
	if got := joinActions(w.planActions(t)); got == "delete,create" {
		t.Error("a VM whose host is not listed is no VM without an instance")
	}
}

// TestAccWorkflowDestroyTogether destroys a VM host and VMs without a
// dependency between them. Both begin at once, and the host waits for its VMs.
func TestAccWorkflowDestroyTogether(t *testing.T) {
	t.Parallel()
	host := vmHost("kvm-1", `machine = "node1"`, deployNoble)
	const vms = `
resource "maaslxd_vm" "named" {
  name    = "named"
  vm_host = "kvm-1"
  %s
}
resource "maaslxd_vm" "placed" {
  name      = "placed"
  placement = {}
  %s
}
`
	const after = `depends_on = [maaslxd_vm_host.test]`
	for _, forgets := range []bool{false, true} { // whether the ledger of the first runner is lost
		x := newMetalTarget(t)
		w := newWorkspace(t, x.config(host))
		w.run(t, "apply", "-auto-approve", "-no-color")
		w.configure(t, x.config(host+vmsWith(vms, "")))
		w.run(t, "apply", "-auto-approve", "-no-color")
		if forgets {
			pair, err := os.ReadFile(filepath.Join(x.folder, "lxd-client.pem")) // CI gives its jobs the pair
			if err != nil {
				t.Fatal(err)
			}
			x.folder = t.TempDir()
			if err := os.WriteFile(filepath.Join(x.folder, "lxd-client.pem"), pair, 0o600); err != nil {
				t.Fatal(err)
			}
			w.configure(t, x.config(host+vmsWith(vms, "")))
		}
		w.run(t, "destroy", "-auto-approve", "-no-color")
		if err := x.checkNothingLeft("node1")(nil); err != nil {
			t.Errorf("forgets is %v: %v", forgets, err)
		}
	}

	// If they are made at once, without an order, the error says so, once.
	x := newMetalTarget(t)
	w := newWorkspace(t, x.config(host+vmsWith(vms, "")))
	cmd, out := w.command(t.Context(), "apply", "-auto-approve", "-no-color")
	if err := cmd.Run(); err == nil {
		t.Fatalf("a VM was made before its host:\n%s", out)
	}
	_, failed, _ := strings.Cut(unwrapMessage(out.String()), "Error:")
	for _, want := range []string{`Cannot create VM placed depends_on = [maaslxd_vm_host.NAME]`, `Cannot create VM named vm_host: MAAS knows no VM host "kvm-1"`} {
		if !wordsPattern(want).MatchString(failed) {
			t.Errorf("want an error with the words %q, got:\n%s", want, out)
		}
	}
	if n := strings.Count(failed, "depends_on ="); n != 1 {
		t.Errorf("depends_on is told of %d times:\n%s", n, out)
	}
	w.configure(t, x.config(host+vmsWith(vms, after)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkNothingLeft("node1")(nil); err != nil {
		t.Error(err)
	}
}

// removeInstance deletes an instance in its LXD, without MAAS.
func (x *target) removeInstance(t *testing.T, i sim.Instance) {
	t.Helper()
	if x.sim != nil {
		if err := x.sim.RemoveInstance(i.Host, i.Project, i.Name); err != nil {
			t.Fatal(err)
		}
		return
	}
	for host, l := range x.servers() {
		if host == i.Host {
			if err := l.RemoveVM(t.Context(), i.Project, x.siteNameOf(t, i.Name)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func vmsWith(vms, line string) string { return strings.ReplaceAll(vms, "%s", line) }

// acceptSilently accepts connections, and answers none.
func acceptSilently(t *testing.T, address string) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Skipf("there is no such loopback address here: %v", err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close() //nolint:gocritic // they stay open until the test ends
		}
	}()
}

// TestAccWorkflowUnreached makes a host whose LXD cannot be reached from here.
// With probe = "auto" that costs seconds, and a warning says so.
func TestAccWorkflowUnreached(t *testing.T) {
	t.Parallel()
	if isLXDColumn() {
		t.Skip("its LXDs are reached")
	}
	if isOnSite() {
		t.Skip("runs only on the simulator: it needs a network that swallows connections")
	}
	// No other simulator has this network: the silent listener would take the
	// connections to its LXDs.
	x := newMetalTarget(t, func(m *sim.Model) { m.Subnets[0].CIDR = "127.1.0.0/24" })
	for n := 1; n < 10; n++ { // the machine has one of the first addresses
		acceptSilently(t, fmt.Sprintf("127.1.0.%d:8443", n))
	}
	config := strings.Replace(x.config(hostOnNode1(`timeouts = { create = "2m" }`)), `probe = "maas"`, `probe = "auto"`, 1)
	w := newWorkspace(t, config)
	began := time.Now()
	out := w.run(t, "apply", "-auto-approve", "-no-color")
	if took := time.Since(began); took > 90*time.Second {
		t.Errorf("it took %s", took)
	}
	if !wordsPattern(`Warning: The LXD of VM host kvm1 was not reached from here probe = "maas"`).MatchString(unwrapMessage(out)) {
		t.Errorf("want a word about it, got:\n%s", out)
	}
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
}
