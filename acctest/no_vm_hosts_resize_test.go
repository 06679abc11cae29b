package acctest_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/compare"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestAccGoneResize changes a VM's size in place, and replaces the VM for what
// LXD cannot change.
func TestAccGoneResize(t *testing.T) {
	t.Parallel()
	x := newTargetWithoutVMHosts(t)
	const address = "maaslxd_vm.test"
	plans := func(action plancheck.ResourceActionType) resource.ConfigPlanChecks {
		return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(address, action)}}
	}
	disk := func(name string, gb int64) statecheck.StateCheck {
		return statecheck.ExpectKnownValue(address, tfjsonpath.New("disks").AtMapKey(name).AtMapKey("size_gb"), knownvalue.Int64Exact(gb))
	}
	same := statecheck.CompareValue(compare.ValuesSame())
	id := func() statecheck.StateCheck { return same.AddStateValue(address, tfjsonpath.New("id")) }
	vm := func(attributes ...string) string {
		return x.configReachingLXD(hostOnNode1() + vmOnTestHost("web", attributes...))
	}
	runStory(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		CheckDestroy:             x.checkNothingLeft("node1"),
		Steps: []resource.TestStep{
			{Config: vm(`memory_mib = 2048`, `disks = { root = { size_gb = 8 }, data = { size_gb = 4 } }`), ConfigStateChecks: []statecheck.StateCheck{id()}},
			{
				Config:            vm(`cores = 3`, `memory_mib = 4096`, `disks = { root = { size_gb = 10 }, data = { size_gb = 6 } }`),
				ConfigPlanChecks:  plans(plancheck.ResourceActionUpdate),
				ConfigStateChecks: []statecheck.StateCheck{id(), disk("root", 10), disk("data", 6)},
			},
			{
				Config:            vm(`cores = 3`, `memory_mib = 4096`, `disks = { root = { size_gb = 10 }, data = { size_gb = 6 }, extra = { size_gb = 3 } }`),
				ConfigPlanChecks:  plans(plancheck.ResourceActionUpdate),
				ConfigStateChecks: []statecheck.StateCheck{id(), disk("data", 6), disk("extra", 3)},
			},
			{
				Config:           vm(`cores = 3`, `memory_mib = 4096`, `disks = { root = { size_gb = 9 }, data = { size_gb = 6 } }`),
				ConfigPlanChecks: plans(plancheck.ResourceActionReplace),
			},
		},
	})
}

// TestAccGoneResizeRefused leaves a VM unchanged where it cannot be resized
// now.
func TestAccGoneResizeRefused(t *testing.T) {
	t.Parallel()
	x := newTargetWithoutVMHosts(t)
	needBoots(t)
	vm := func(attributes ...string) string {
		return x.configReachingLXD(hostOnNode1() + vmOnTestHost("web", append(attributes, x.deploy())...))
	}
	w := newWorkspace(t, vm(`memory_mib = 2048`))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.configure(t, vm(`memory_mib = 4096`))
	w.wantRefusedChange(t, x, "", `Cannot update VM web web runs, and must be stopped to change limits.memory Set allow_stopping_for_update = true`)
	w.configure(t, vm(`memory_mib = 2048`, `cores = 64`))
	w.wantRefusedChange(t, x, "cores", `64 cores are more than the 8 that VM host kvm1 has`)
	w.configure(t, vm(`memory_mib = 2048`, `disks = { root = { size_gb = 8 }, data = { size_gb = 5, pool = "nope" } }`))
	w.wantRefusedChange(t, x, "", `has no storage pool "nope"`)
	w.configure(t, vm(`memory_mib = 2048`, `disks = { root = { size_gb = 8 }, data = { size_gb = 900000 } }`))
	w.wantRefusedChange(t, x, "", `GB of storage pool "default"`)
	w.configure(t, vm(`memory_mib = 2048`, `cores = 4`))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	if i := x.instances(); len(i) != 1 || i[0].Cores != 4 || i[0].MemoryMiB != 2048 || !i[0].Running {
		t.Errorf("the instance is %+v", i)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkNothingLeft("node1")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccGoneResizeStops lets an update stop a running VM. Afterwards it has
// its new size, and runs. The plan says so.
func TestAccGoneResizeStops(t *testing.T) {
	t.Parallel()
	x := newTargetWithoutVMHosts(t)
	needBoots(t)
	vm := func(attributes ...string) string {
		return x.configReachingLXD(hostOnNode1() + vmOnTestHost("web", append(attributes, `allow_stopping_for_update = true`, x.deploy())...))
	}
	const sized = `disks = { root = { size_gb = 10 } }`
	w := newWorkspace(t, vm(`memory_mib = 2048`))
	w.run(t, "apply", "-auto-approve", "-no-color")
	made := x.findMachine(t, "web").SystemID
	wantInstance := func(memory int64, runs bool) {
		t.Helper()
		if i := x.instances(); len(i) != 1 || i[0].MemoryMiB != memory || i[0].Running != runs || x.findMachine(t, "web").SystemID != made {
			t.Errorf("want the VM with %d MiB, running %v, got %+v", memory, runs, i)
		}
	}
	w.configure(t, vm(`memory_mib = 4096`, sized))
	if out := unwrapMessage(w.run(t, "apply", "-auto-approve", "-no-color")); !wordsPattern(`VM web is stopped for a while web runs, and must be stopped`).MatchString(out) {
		t.Errorf("the plan does not say that the VM is stopped:\n%s", out)
	}
	wantInstance(4096, true)
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	w.configure(t, vm(`memory_mib = 3072`, sized, `power_state = "stopped"`))
	w.run(t, "apply", "-auto-approve", "-no-color")
	wantInstance(3072, false)
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkNothingLeft("node1")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccGoneResizeAndDeploy gives a VM another size in the apply that deploys it: once when deploy is
// added, and once after somebody released the VM in MAAS. It has the size when it is deployed.
func TestAccGoneResizeAndDeploy(t *testing.T) {
	t.Parallel()
	x := newTargetWithoutVMHosts(t)
	vm := func(attributes ...string) string {
		return x.configReachingLXD(hostOnNode1() + vmOnTestHost("web", attributes...))
	}
	const smallDisk, largeDisk = `disks = { root = { size_gb = 8 } }`, `disks = { root = { size_gb = 10 }, data = { size_gb = 3 } }`
	w := newWorkspace(t, vm(`memory_mib = 2048`, smallDisk))
	w.run(t, "apply", "-auto-approve", "-no-color")
	id := x.findMachine(t, "web").SystemID
	wantDeployed := func(memory string, disks int) {
		t.Helper()
		w.run(t, "apply", "-auto-approve", "-no-color")
		if m := x.findMachine(t, "web"); m.StatusName != "Deployed" || m.SystemID != id {
			t.Errorf("machine %s is %s, want %s", m.SystemID, m.StatusName, id)
		}
		i, _, err := x.connectLXD(t, "node1").GetInstance("web")
		if err != nil {
			t.Fatal(err)
		}
		have := 0
		for _, d := range i.Devices {
			if d["type"] == "disk" {
				have++
			}
		}
		if i.Config["limits.memory"] != memory || have != disks {
			t.Errorf("want the VM with %s and %d disks, got %s and %v", memory, disks, i.Config["limits.memory"], i.Devices)
		}
		w.wantEmptyPlan(t)
	}
	w.configure(t, vm(`memory_mib = 4096`, largeDisk, x.deploy()))
	wantDeployed("4096MiB", 2)
	x.postForm(t, "machines/"+id+"/?op=release", nil)
	x.waitUntil(t, "the VM is released", func() bool { return x.statusOf("web") == "Ready" })
	w.configure(t, vm(`memory_mib = 3072`, largeDisk, x.deploy()))
	wantDeployed("3072MiB", 2)
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccWorkflowUpgradedDisks gives a VM with two disks more cores after an upgrade of MAAS. MAAS
// composed the VM before, and the provider knows the disks as its own.
func TestAccWorkflowUpgradedDisks(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t, listenOnLoopback)
	config := func(cores string) string {
		return x.configReachingLXD(hostOnNode1() + vmOnTestHost("web", cores, `disks = { root = { size_gb = 8 }, data = { size_gb = 2 } }`))
	}
	w := newWorkspace(t, config("cores = 1"))
	w.run(t, "apply", "-auto-approve", "-no-color")
	if err := x.simulatorOrSkip().Upgrade(); err != nil {
		t.Fatal(err)
	}
	w.configure(t, config("cores = 2"))
	if got := joinActions(w.planActionsOn(t, "maaslxd_vm.test")); got != "update" {
		t.Errorf("more cores are %s", got)
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccGoneSilent: the LXD of a host does not answer. A VM that was resized
// before shows no change, and an unknown VM is not imported.
func TestAccGoneSilent(t *testing.T) {
	t.Parallel()
	x := newTargetWithoutVMHosts(t)
	vm := func(attributes ...string) string {
		return x.configReachingLXD(hostOnNode1() + vmOnTestHost("web", attributes...))
	}
	w := newWorkspace(t, vm())
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.configure(t, vm(`cores = 3`, `disks = { root = { size_gb = 10 } }`))
	w.run(t, "apply", "-auto-approve", "-no-color")
	turn := func(c sim.Condition) {
		if err := x.simulatorOrSkip().SetLXDCondition("node1", c); err != nil {
			t.Fatal(err)
		}
	}
	turn(sim.ConditionUnreachable)
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	w.run(t, "state", "rm", "maaslxd_vm.test")
	cmd, out := w.command(t.Context(), "import", "-no-color", "maaslxd_vm.test", "web")
	if err := cmd.Run(); err == nil || !wordsPattern(`Cannot import VM web Only the LXD of VM host kvm1 knows its size`).MatchString(unwrapMessage(out.String())) {
		t.Errorf("want an error about the LXD, got %v:\n%s", err, out)
	}
	turn(sim.ConditionOK)
	w.run(t, "import", "-no-color", "maaslxd_vm.test", "web")
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkNothingLeft("node1")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccWorkflowFailedUpdateKeepsDisks lets updates fail after LXD gave a VM disks that MAAS does not
// know. The state keeps them, and has the disk that a failed update made.
func TestAccWorkflowFailedUpdateKeepsDisks(t *testing.T) {
	t.Parallel()
	x := newTargetWithoutVMHosts(t)
	const root, data1, data2 = `root = { size_gb = 8 }`, `, data1 = { size_gb = 2 }`, `, data2 = { size_gb = 3 }`
	const refused = `config = { "boot.mode" = "bios" }` // the LXD is too old for it
	w := newWorkspace(t, x.configReachingLXD(hostOnNode1()+vmOnTestHost("web")))
	w.run(t, "apply", "-auto-approve", "-no-color")
	configure := func(disks string, more ...string) {
		t.Helper()
		w.configure(t, x.configReachingLXD(hostOnNode1()+vmOnTestHost("web", append(more, `disks = { `+disks+` }`)...)))
	}
	configure(root + data1)
	w.run(t, "apply", "-auto-approve", "-no-color")
	for _, disks := range []string{root + data1, root + data1 + data2} {
		configure(disks, refused)
		w.wantCommandFailure(t, `does not have "boot.mode"`, "apply", "-auto-approve", "-no-color")
		configure(disks)
		if out := w.run(t, "plan", "-no-color"); strings.Contains(out, "disks ") {
			t.Errorf("the state has other disks than the VM:\n%s", out)
		}
		w.run(t, "apply", "-auto-approve", "-no-color")
		w.wantEmptyPlan(t)
	}
	configure(root)
	if out := w.run(t, "plan", "-no-color"); !strings.Contains(out, "must be replaced") {
		t.Errorf("want a new VM for two disks less, got:\n%s", out)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
}
