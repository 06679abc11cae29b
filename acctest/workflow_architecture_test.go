package acctest_test

import (
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// mixedArchitectures makes lxd2 a larger arm64 server. MAAS has noble for amd64, and jammy for
// both.
func mixedArchitectures(m *sim.Model) {
	m.Hosts[1].Architecture, m.Hosts[1].Cores, m.Hosts[1].MemoryMiB = "arm64/generic", 64, 65536
	m.ImageArchitectures = map[string][]string{"ubuntu/jammy": {"amd64", "arm64"}}
}

// TestAccWorkflowArchitecture makes VMs in a fleet of amd64 and arm64 VM hosts. Each goes to a VM
// host that can run its image. A wrong VM host is named in the plan, and nothing is made there. Its
// room does not count for the image.
func TestAccWorkflowArchitecture(t *testing.T) {
	t.Parallel()
	x := newSimulatedTarget(t, mixedArchitectures)
	placed := func(image string) string {
		return x.config(x.placedVM("web", `{ strategy = "spread" }`, `deploy = { image = "`+image+`" }`))
	}
	named := x.config(x.placedVM("web", "null", `vm_host = "lxd2"`, `deploy = { image = "ubuntu/noble" }`))
	const refusal = "VM host lxd2 is arm64; MAAS has ubuntu/noble for amd64 only Import ubuntu/noble for arm64 in MAAS"
	w := newWorkspace(t, named)
	if out := unwrapMessage(w.run(t, "plan", "-no-color")); !wordsPattern("Cannot create VM web as things are " + refusal).MatchString(out) {
		t.Errorf("want a warning of the plan, got:\n%s", out)
	}
	w.wantCommandFailure(t, refusal, "apply", "-auto-approve", "-no-color")
	if n := len(x.sim.Instances()); n != 0 {
		t.Errorf("%d instances were made", n)
	}
	w.configure(t, x.config(x.placedVM("web-${count.index}", "{}", "count = 18", `deploy = { image = "ubuntu/noble" }`)))
	if out := w.run(t, "plan", "-json"); !strings.Contains(out, "the VMs planned for VM host lxd1 take more than it has") {
		t.Errorf("want a warning that lxd2 does not count, got:\n%s", out)
	}
	w.configure(t, placed("ubuntu/noble"))
	w.run(t, "apply", "-auto-approve", "-no-color")
	x.wantOnHost(t, "web", "lxd1")
	w.configure(t, named)
	w.wantRefusedPlan(t, "Cannot replace VM web "+refusal+" before VM web is destroyed")
	w.run(t, "destroy", "-auto-approve", "-no-color", "-refresh=false")
	w.configure(t, placed("ubuntu/jammy"))
	w.run(t, "apply", "-auto-approve", "-no-color")
	x.wantOnHost(t, "web", "lxd2")
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// wantOnHost checks in which LXD a VM is.
func (x *target) wantOnHost(t *testing.T, name, host string) {
	t.Helper()
	id := x.findMachine(t, name).SystemID
	for _, i := range x.sim.Instances() {
		if i.MachineID == id && i.Host != host {
			t.Errorf("%s is on %s, want %s", name, i.Host, host)
		}
		if i.MachineID == id {
			return
		}
	}
	t.Errorf("no LXD has %s", name)
}
