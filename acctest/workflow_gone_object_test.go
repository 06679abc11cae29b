package acctest_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestAccWorkflowVMHostDeletedInMAAS deletes a VM host in MAAS, which then forgets its VMs. The plan
// makes them, and replaces nothing. So it does not stop before it destroys a VM.
func TestAccWorkflowVMHostDeletedInMAAS(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	w := newWorkspace(t, x.config(hostOnNode1()+vmOnTestHost("web", x.deploy())))
	w.run(t, "apply", "-auto-approve", "-no-color")
	x.forgetVMHost(t, "kvm1")
	out := unwrapMessage(w.run(t, "plan", "-no-color"))
	if !wordsPattern("Plan: 1 to add, 1 to change, 0 to destroy").MatchString(out) || wordsPattern("Cannot create VM web as things are").MatchString(out) {
		t.Errorf("want a plan that registers the VM host and makes its VM, got:\n%s", out)
	}
	w.wantCommandFailure(t, `Cannot update VM host kvm1 adopt_existing_vms`, "apply", "-auto-approve", "-no-color")
}

// TestAccWorkflowOlderState puts back an older state whose VM was replaced since. The plan tells how
// to get the VM back into the state, and the advice works.
func TestAccWorkflowOlderState(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	w := newWorkspace(t, x.config(vmNamed("test", "web")))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.writeFile(t, "before.tfstate", w.run(t, "state", "pull"))
	w.run(t, "apply", "-auto-approve", "-no-color", "-replace="+vmAddress)
	id := w.systemID(t)
	w.run(t, "state", "push", "-force", "before.tfstate")
	w.wantCommandFailure(t, `Cannot create VM web earlier and is finished import it: terraform import ADDRESS `+id, "apply", "-auto-approve", "-no-color")
	w.run(t, "import", "-no-color", vmAddress, id)
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	if now := w.systemID(t); now != id {
		t.Errorf("the VM is %s, want %s", now, id)
	}
}

// TestAccGoneDestroyWithoutPair destroys a VM in LXD where the fleet's key pair is missing. MAAS does not
// release the VM: it runs on, and with the pair the destroy succeeds.
func TestAccGoneDestroyWithoutPair(t *testing.T) {
	t.Parallel()
	x := newTargetWithoutVMHosts(t)
	w := newWorkspace(t, x.configReachingLXD(hostOnNode1()+vmOnTestHost("web", x.deploy())))
	w.run(t, "apply", "-auto-approve", "-no-color")
	before := x.findMachine(t, "web")
	away := x.keyFile() + ".away"
	if err := os.Rename(x.keyFile(), away); err != nil {
		t.Fatal(err)
	}
	w.wantCommandFailure(t, "Cannot delete VM web the fleet's key pair is not here", "destroy", "-auto-approve", "-no-color", "-target="+vmAddress)
	if now := x.findMachine(t, "web"); now.StatusName != before.StatusName || now.PowerState != before.PowerState || before.StatusName != "Deployed" {
		t.Errorf("it is %s and %s, was %s and %s", now.StatusName, now.PowerState, before.StatusName, before.PowerState)
	}
	if err := os.Rename(away, x.keyFile()); err != nil {
		t.Fatal(err)
	}
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccGoneDestroyLXDUnreachable destroys a VM whose LXD does not answer. MAAS does not release the
// VM, so the plan stays empty once the LXD is back.
func TestAccGoneDestroyLXDUnreachable(t *testing.T) {
	t.Parallel()
	x := newTargetWithoutVMHosts(t)
	w := newWorkspace(t, x.configReachingLXD(hostOnNode1()+vmOnTestHost("web", x.deploy(), `timeouts = { delete = "5s" }`)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	setCondition := func(c sim.Condition) {
		t.Helper()
		if err := x.simulatorOrSkip().SetLXDCondition("node1", c); err != nil {
			t.Fatal(err)
		}
	}
	setCondition(sim.ConditionUnreachable)
	w.wantCommandFailure(t, "VM web is not gone yet web cannot be deleted yet, and stays Deployed: its LXD cannot be used If the LXD is lost for good", "destroy", "-auto-approve", "-no-color", "-target="+vmAddress)
	if now := x.findMachine(t, "web"); now.StatusName != "Deployed" || now.PowerState != "on" {
		t.Errorf("it is %s and %s", now.StatusName, now.PowerState)
	}
	setCondition(sim.ConditionOK)
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccGoneDeployWithoutPair deploys a VM again that somebody released, where the fleet's key pair is
// missing. MAAS can do that by itself. Only an interface that was added in LXD needs the pair: the error
// says so at once.
func TestAccGoneDeployWithoutPair(t *testing.T) {
	t.Parallel()
	x := newTargetWithoutVMHosts(t)
	vm := func(attributes ...string) string {
		return x.configReachingLXD(hostOnNode1() + vmOnTestHost("web", append(attributes, x.deploy())...))
	}
	w := newWorkspace(t, vm())
	w.run(t, "apply", "-auto-approve", "-no-color")
	release := func() {
		t.Helper()
		x.postForm(t, "machines/"+x.findMachine(t, "web").SystemID+"/?op=release", nil)
		x.waitUntil(t, "the VM is released", func() bool { return x.statusOf("web") == "Ready" })
	}
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	pair, away := x.keyFile(), x.keyFile()+".away"
	release()
	move(pair, away)
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	move(away, pair)
	var subnets []maasSubnet
	x.callAsOperator(t, "GET", "subnets/", &subnets)
	w.configure(t, vm(fmt.Sprintf(`interfaces = { enp5s0 = { subnet = %[1]q }, eth1 = { subnet = %[1]q, mode = "dhcp" } }`, subnets[0].CIDR)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	release()
	x.postForm(t, "machines/"+x.findMachine(t, "web").SystemID+"/?op=commission", nil) // MAAS learns of eth1
	x.waitUntil(t, "the VM is commissioned", func() bool { return x.statusOf("web") == "Ready" })
	move(pair, away)
	w.wantCommandFailure(t, "Cannot update VM web the fleet's key pair is not here", "apply", "-auto-approve", "-no-color")
	move(away, pair)
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
}
