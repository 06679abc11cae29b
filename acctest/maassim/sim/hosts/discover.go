package hosts

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lifecycle"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/script"
)

// NewVMHost makes the record of a VM host with MAAS's defaults.
func NewVMHost(w *world.World, name string, b *world.BMC) *world.VMHost {
	h := &world.VMHost{World: w, ID: w.NextID("bmc"), Name: name, BMC: b, Zone: w.DefaultZone(), Pool: w.Pools[0], CPURatio: 1, MemRatio: 1}
	h.SetTags(nil)
	b.Host = h
	w.Hosts[h.ID] = h
	w.BMCs[b.RowKey()] = b
	return h
}

// DiscoverHost copies what LXD reports about itself.
func DiscoverHost(w *world.World, h *world.VMHost, l *world.LXD) {
	l.EnsureProject(h.BMC.Project)
	if h.Version == "" {
		h.BMC.HasPassword = false
	}
	h.Version = l.Version
	h.Capabilities = []string{"composable", "dynamic_local_storage", "over_commit", "storage_pools"}
	h.Architectures = []string{l.Architecture}
	h.Pools = l.Pools
	if h.DefaultPool == "" || !l.HasPool(h.DefaultPool) {
		h.DefaultPool = l.DefaultPool()
	}
}

// FindHostMachine connects the VM host to the machine that its LXD runs on.
func FindHostMachine(w *world.World, h *world.VMHost, l *world.LXD) {
	if l.HostMachine == nil {
		l.HostMachine = findOrMakeHostMachine(w, h, l)
	}
	h.Machine = l.HostMachine
}

// findOrMakeHostMachine finds the machine with the server's MAC, or makes one. MAAS puts a
// new one into the default zone and pool, as Deployed.
func findOrMakeHostMachine(w *world.World, h *world.VMHost, l *world.LXD) *world.Machine {
	m := MachineWithMAC(w, l.MAC)
	if m == nil {
		name := h.Name
		if w.MachineNamed(name) != nil {
			name = w.RandomName()
		}
		m = w.NewMachine(name)
		m.Architecture = l.Architecture
		m.Owner = w.Users[0]
		m.AddNIC(l.MAC, nil)
		m.AddDisk(274877906944, "", nil, "")
		w.EnsureTag("virtual")
		m.AddTag("virtual")
	}
	m.Status = world.StatusDeployed
	m.CommissioningStatus, m.CommissioningSet = lifecycle.ScriptsPassed, lifecycle.BeginScripts(w, m, script.Commissioning)
	script.FindSet(m.Scripts, m.CommissioningSet).End(script.StatusPassed, time.Now())
	m.Osystem, m.Series = l.Osystem, l.Series
	return m
}

// TakeInventory reads the host's hardware. It happens after the answer to the call that
// requested it.
func TakeInventory(h *world.VMHost, l *world.LXD) {
	h.Inventory = nil
	h.Cores, h.MemoryMiB = l.Cores, l.MemoryMiB
	m := l.HostMachine
	if m == nil {
		return
	}
	m.Cores, m.MemoryMiB, m.CPUModel, m.Commissioned = l.Cores, l.MemoryMiB, "Intel(R) Xeon(R) Processor", true
	m.NUMA = world.NUMANode{Cores: l.Cores, MemoryMiB: l.MemoryMiB}
	lifecycle.NoteInventory(m)
	connectNIC(h.World, m, l)
	if l.Metal == m {
		lifecycle.MakeAddressesStatic(m)
	}
	for _, n := range l.Subnets {
		h.World.LearnSubnet(n)
		if slices.ContainsFunc(m.NICs, func(i *world.NIC) bool { return i.MAC == l.BridgeMACs[n] }) {
			continue
		}
		bridge := m.AddNIC(l.BridgeMACs[n], n)
		bridge.Kind, bridge.Name, bridge.OnHost = "bridge", fmt.Sprintf("maasbr%d", n.VLAN.Fabric.ID), true
		address := cmp.Or(world.BridgeAddress(h.World, n, l), h.World.FreeAddress(n))
		world.TakeAddress(h.World, address)
		bridge.Links = []*world.Link{{ID: h.World.NextID("link"), Mode: world.LinkStatic, Subnet: n, IP: address}}
	}
}

// connectNIC links the server's first NIC to the subnet that the model names, if any.
func connectNIC(w *world.World, m *world.Machine, l *world.LXD) {
	n := l.NICSubnet
	i := slices.IndexFunc(m.NICs, func(i *world.NIC) bool { return i.MAC == l.MAC })
	if n == nil || i < 0 {
		return
	}
	w.LearnSubnet(n)
	if nic := m.NICs[i]; nic.VLAN != n.VLAN || len(nic.Links) == 0 {
		nic.VLAN, nic.Links = n.VLAN, []*world.Link{{ID: w.NextID("link"), Mode: "static", Subnet: n, IP: w.FreeAddress(n)}}
	}
}

// MachineWithMAC is the machine with a NIC of that address, or nil.
func MachineWithMAC(w *world.World, mac string) *world.Machine {
	for _, m := range w.Machines {
		if slices.ContainsFunc(m.NICs, func(n *world.NIC) bool { return n.MAC == mac }) {
			return m
		}
	}
	return nil
}

// syncInstances makes the host's machines agree with a list of its instances. It adopts
// unknown instances, and removes machines whose instance is not in the list. With such a
// machine it removes the instance of that name, if it can.
func syncInstances(w *world.World, h *world.VMHost, l *world.LXD, listed []*world.Instance) {
	adopted := map[*world.Instance]bool{}
	for _, i := range listed {
		if l.Projects[i.Project][i.Name] == i {
			adopted[i] = adoptUnlessKnown(w, h, i)
		}
	}
	for _, m := range h.VMs() {
		if slices.ContainsFunc(listed, m.HasInstance) {
			continue
		}
		i := m.LXDInstance()
		if i != nil && !adopted[i] && i.Busy == "" {
			l.Remove(i)
		}
		if i != nil && !adopted[i] && m.PowerJob.IsInFlight() {
			lifecycle.FinishWithoutRecord(m, i)
		}
		m.Forget()
	}
}

// adoptUnlessKnown connects an instance to its machine, or adopts it. It returns true if
// it adopted.
func adoptUnlessKnown(w *world.World, h *world.VMHost, i *world.Instance) bool {
	for _, m := range world.SortedMachines(w.Machines) {
		if m.HasInstance(i) {
			moveToVMHost(m, h, i)
			return false
		}
	}
	adoptInstance(w, h, i)
	return true
}

// moveToVMHost makes a known machine a VM of the host. Its disks lose their storage pool,
// because MAAS sets that only in a compose.
func moveToVMHost(m *world.Machine, h *world.VMHost, i *world.Instance) {
	m.BMC, m.Instance = h.BMC, i.Name
	m.VMID = cmp.Or(m.VMID, m.World.NextID("virtualmachine"))
	m.Cores, m.MemoryMiB = i.Cores, i.MemoryMiB
	m.CountInstance(i)
	for _, d := range m.Storage.Disks {
		d.StoragePool = ""
	}
	m.PowerState = "off"
	if i.Running {
		m.PowerState = "on"
	}
}

// adoptInstance makes a machine for an instance that MAAS does not know, and commissions
// it. A running VM is power-cycled.
func adoptInstance(w *world.World, h *world.VMHost, i *world.Instance) {
	name := i.Name
	if w.MachineNamed(name) != nil || !rest.IsValidLabel(name) || w.FaultSource.DrawFault("random_names", name) {
		name = w.RandomName()
	}
	m := newVM(w, name, h, i)
	m.Zone, m.Pool = h.Zone, h.Pool
	m.CountInstance(i)
	for _, v := range i.Disks {
		m.AddDisk(v.SizeBytes, v.Pool, nil, world.LXDDiskModel)
	}
	m.CountComposed()
	lifecycle.CommissionMachine(w, m, w.Users[0], lifecycle.CommissionOptions{})
	if i.Running {
		lifecycle.RequestPower(w, m, "cycle")
	} else {
		lifecycle.RequestPower(w, m, "on")
	}
}

// newVM is the machine record of an instance, with the host's tags and without disks.
func newVM(w *world.World, hostname string, h *world.VMHost, i *world.Instance) *world.Machine {
	m := w.NewMachine(hostname)
	m.PowerType, m.PowerState, m.UEFI, m.Architecture = "lxd", "off", true, i.Server.Architecture
	m.BMC, m.Instance, m.VMID, m.Parent = h.BMC, i.Name, w.NextID("virtualmachine"), h.Machine
	m.Cores, m.MemoryMiB = i.Cores, i.MemoryMiB
	m.NUMA = world.NUMANode{Cores: i.Cores, MemoryMiB: i.MemoryMiB}
	if i.Running {
		m.PowerState = "on"
	}
	for n, mac := range i.MACs {
		m.AddNIC(mac, i.Subnets[n])
	}
	for _, name := range h.Tags {
		w.EnsureTag(name)
		m.AddTag(name)
	}
	return m
}

// AddInstance makes a VM in an LXD.
func AddInstance(w *world.World, l *world.LXD, project, name string, cores int, memoryMiB int64, disks []world.Volume, subnets []*world.Subnet) *world.Instance {
	l.EnsureProject(project)
	i := &world.Instance{Server: l, Project: project, Name: name, Cores: cores, MemoryMiB: memoryMiB, Disks: disks, Subnets: subnets, Number: w.NextID("instance")}
	for range subnets {
		i.MACs = append(i.MACs, w.NewMAC())
	}
	l.Projects[project][name] = i
	i.WriteDefinition()
	w.MeasureUse(l)
	return i
}

// NoRackReply is 503 because MAAS cannot reach a rack controller.
func NoRackReply(text string) rest.Reply {
	rep := rest.UnavailableReply(text)
	rep.Header.Set("Retry-After", "10")
	return rep
}

// InternalErrorReply is 500 with a message.
func InternalErrorReply(text string) rest.Reply { return rest.InternalErrorReply(text) }
