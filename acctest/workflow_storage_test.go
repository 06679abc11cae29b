package acctest_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// addSecondDisk gives node1 a second disk.
func addSecondDisk(m *sim.Model) {
	at := slices.IndexFunc(m.Machines, func(n sim.MachineModel) bool { return n.Hostname == "node1" })
	m.Machines[at].DiskGB, m.Machines[at].MoreDisksGB = 64, []int64{100}
}

// inGB converts bytes to GB and rounds, because MAAS's partitions begin and end
// at whole MiB.
func inGB(bytes int64) int64 { return (bytes + 5e8) / 1e9 }

// rootFileSystem is the place of node1's root file system: its device, and its
// size in whole GB.
func (x *metalTarget) rootFileSystem(t *testing.T, name string) string {
	t.Helper()
	type filesystem struct {
		Mount string `json:"mount_point"`
	}
	type device struct {
		Name       string      `json:"name"`
		Size       int64       `json:"size"`
		Filesystem *filesystem `json:"filesystem"`
		Partitions []struct {
			Path       string      `json:"path"`
			Size       int64       `json:"size"`
			Filesystem *filesystem `json:"filesystem"`
		} `json:"partitions"`
	}
	var devices []device
	x.callAsOperator(t, "GET", "nodes/"+x.findMachine(t, name).SystemID+"/blockdevices/", &devices)
	root := func(f *filesystem) bool { return f != nil && f.Mount == "/" }
	for _, d := range devices {
		if root(d.Filesystem) {
			return fmt.Sprintf("%s of %d GB", d.Name, inGB(d.Size))
		}
		for _, p := range d.Partitions {
			if root(p.Filesystem) {
				return fmt.Sprintf("partition of %s of %d GB", d.Name, inGB(p.Size))
			}
		}
	}
	return "nowhere"
}

// TestAccWorkflowStorageLayout sets the disk layout of bare metal, changes it,
// leaves it out, and names a disk that the machine does not have.
func TestAccWorkflowStorageLayout(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t, addSecondDisk)
	laidOut := func(layout string) string {
		return x.config(testMachine("db", `machine = "node1"`, `deploy = { image = "ubuntu/noble", storage_layout = `+layout+` }`))
	}
	w := newWorkspace(t, laidOut(`{ type = "flat", root_disk = "sdb", root_size_gb = 40 }`))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	if got := x.rootFileSystem(t, "node1"); got != "partition of sdb of 40 GB" {
		t.Errorf("the root file system is on %s", got)
	}
	w.configure(t, laidOut(`{ type = "lvm", root_disk = "sdc" }`))
	w.wantRefusedPlan(t, `no disk of machine node1 "sdc"`)
	w.configure(t, laidOut(`{ type = "flat", root_disk = "sdb", root_size_gb = 400 }`))
	w.wantRefusedPlan(t, `has 100 GB, but the layout needs 400 GB`)
	for layout, want := range map[string]string{
		`{ type = "flat", root_size_gb = 70 }`:   `Cannot replace machine MAAS refuses 70 GB, because machine node1 boots from the disk sda of 64 GB at most 62`,
		`{ type = "lvm", volume_size_gb = 70 }`:  `MAAS refuses 70 GB at most 63`,
		`{ type = "bcache", root_disk = "sdb" }`: `MAAS takes the disk sdb of machine node1 for the cache`,
	} {
		w.configure(t, laidOut(layout))
		w.wantRefusedPlan(t, want)
	}
	w.configure(t, laidOut(`{ type = "lvm", volume_size_gb = 20 }`))
	if got := joinActions(w.planActionsOn(t, machineAddress)); got != "delete,create" {
		t.Errorf("the plan of another layout wants %s", got)
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	if got := x.rootFileSystem(t, "node1"); got != "vgroot-lvroot of 20 GB" {
		t.Errorf("the root file system is on %s", got)
	}
	w.configure(t, x.config(machineOnNode1()))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	if n, counted := x.countDeployments(); counted && n != 2 {
		t.Errorf("it was deployed %d times", n)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccWorkflowHostStorageLayout gives a VM host a layout that its disks cannot have. The plan says
// so before its machine is released.
func TestAccWorkflowHostStorageLayout(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t, func(m *sim.Model) {
		addSecondDisk(m)
		for n := range m.Machines {
			m.Machines[n].MoreDisksGB = nil
		}
	})
	host := func(layout string) string {
		return x.config(vmHost("kvm1", `machine = "node1"`, `deploy = { image = "ubuntu/noble", storage_layout = `+layout+` }`, `lxd = { storage_pools = { default = { driver = "dir" } } }`))
	}
	w := newWorkspace(t, host(`{ type = "flat" }`))
	w.run(t, "apply", "-auto-approve", "-no-color")
	for layout, want := range map[string]string{
		`{ type = "flat", root_size_gb = 70 }`:  `Cannot replace VM host kvm1 MAAS refuses 70 GB, because machine node1 boots from the disk sda of 64 GB`,
		`{ type = "lvm", volume_size_gb = 70 }`: `Cannot replace VM host kvm1 MAAS refuses 70 GB`,
		`{ type = "bcache" }`:                   `Cannot replace VM host kvm1 machine node1 has no disk for the cache`,
	} {
		w.configure(t, host(layout))
		w.wantRefusedPlan(t, want)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color", "-refresh=false")
}

// TestAccExampleHostStorage applies the example that leaves the second disk to
// LXD, and a part of the first one to the root file system.
func TestAccExampleHostStorage(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t, addSecondDisk)
	w := newWorkspace(t, x.config(""))
	w.copyRepositoryFiles(t, hostExamples+"resource_storage.tf")
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	if got := x.rootFileSystem(t, "node1"); got != "vgroot-lvroot of 30 GB" {
		t.Errorf("the root file system is on %s", got)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1")(nil); err != nil {
		t.Error(err)
	}
}
