package hosts

import (
	"strconv"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/driver"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd/daemon"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// realVM is the VM that MAAS requests from a real LXD.
func (v *ComposeRequest) realVM(w *world.World, l *world.LXD) driver.VM {
	vm := driver.VM{
		Project: v.Host.BMC.Project, Name: v.hostname, Cores: strconv.Itoa(v.Cores), Memory: strconv.FormatInt(v.MemoryMiB<<20, 10), Hugepages: v.hugepages,
	}
	if len(v.pinned) > 0 {
		vm.Cores = driver.PinnedCores(v.pinned)
	}
	for n, d := range v.Disks {
		pool, _ := v.poolOf(l, d)
		disk := world.Volume{SizeBytes: d.sizeBytes, Pool: pool}
		if n > 0 {
			disk.Source = "maas-" + world.NewRandomUUID()
		}
		vm.Disks = append(vm.Disks, disk)
	}
	for _, n := range v.subnets(w) {
		vm.Bridges = append(vm.Bridges, l.InterfaceOn(n))
	}
	return vm
}

// composeOnRealLXD makes a VM in a real LXD with the credentials of the VM host.
func composeOnRealLXD(w *world.World, v *ComposeRequest, l *world.LXD) (*world.Instance, error) {
	c, err := driver.LentTo(l).ClientFor(v.Host.BMC)
	if err != nil {
		return nil, err
	}
	return driver.MakeVM(w, l, c, v.realVM(w, l))
}

// describeComposed adds MAAS's description to a VM that it composes.
func describeComposed(i *world.Instance, v *ComposeRequest) {
	if !i.Server.IsAtLeast(daemon.VersionWithoutSecureBoot) {
		i.Config["security.secureboot"] = "false"
	}
	i.Config["limits.memory.hugepages"] = strconv.FormatBool(v.hugepages)
	if len(v.pinned) > 0 {
		i.Config["limits.cpu"] = driver.PinnedCores(v.pinned)
	}
	if i.Server.Profile(i.Project, "maas") != nil {
		i.Profiles = []string{"maas"}
	}
}
