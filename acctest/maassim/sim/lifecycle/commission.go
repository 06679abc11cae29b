package lifecycle

import (
	"strconv"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/script"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/storage"
)

// CommissionOptions are the parts of a commissioning that the caller may skip.
type CommissionOptions struct {
	KeepNetwork bool // skip_networking
	KeepStorage bool // skip_storage
	SkipTesting bool // testing_scripts=none
}

// CommissionMachine starts commissioning. The caller starts the power action.
func CommissionMachine(w *world.World, m *world.Machine, u *world.User, o CommissionOptions) {
	m.AddRequestEvent(u, "User starting node commissioning", "start commissioning", "")
	m.AddStatusEvent("Commissioning", "")
	m.CommissioningSet, m.CommissioningStatus = BeginScripts(w, m, script.Commissioning), ScriptsPending
	if !o.SkipTesting {
		m.TestingSet, m.TestingStatus = BeginScripts(w, m, script.Testing), ScriptsPending
	}
	if !o.KeepStorage {
		storage.ClearAll(&m.Storage)
	}
	setStatus(m, world.StatusCommissioning)
	m.Owner = u
	took := w.Latency.Commission
	if !o.SkipTesting {
		took -= took / 5
	}
	m.Transition.Cancel()
	m.Transition = w.StartJob(took, func() { startTesting(w, m, o) })
}

// startTesting starts the last fifth of commissioning, unless there is nothing to test.
func startTesting(w *world.World, m *world.Machine, o CommissionOptions) {
	rest := w.Latency.Commission / 5
	if rest <= 0 || o.SkipTesting {
		passCommissioning(m, o)
		return
	}
	passScripts(m)
	setStatus(m, world.StatusTesting)
	m.Transition = w.StartJob(rest, func() { passCommissioning(m, o) })
}

// passCommissioning ends commissioning with success. The hardware that it found replaces
// what the compose wrote.
func passCommissioning(m *world.Machine, o CommissionOptions) {
	EndPower(m, "on")
	if !o.KeepNetwork { // in that case MAAS does not read the interfaces that it found
		UpdateNICs(m)
		m.GatewayLink = nil
		m.ResetLinks()
	}
	takeInventory(m, o)
	if m.PowerType == "lxd" {
		m.World.EnsureTag("virtual")
		m.AddTag("virtual")
	}
	noteResults(m, o)
	FinishCommissioning(m)
	if i := m.LXDInstance(); i != nil {
		i.SetRunning(false) // the guest switches itself off; MAAS does not know this yet
	}
}

// noteResults records the results of the commissioning scripts.
func noteResults(m *world.Machine, o CommissionOptions) {
	if m.Status == world.StatusCommissioning {
		passScripts(m)
		if !o.SkipTesting {
			setStatus(m, world.StatusTesting)
		}
	}
	if !o.SkipTesting {
		passTests(m)
	}
	m.AddStatusEvent("Ready", "")
}

// FinishCommissioning makes the machine Ready.
func FinishCommissioning(m *world.Machine) {
	m.Commissioned, m.CommissioningStatus = true, ScriptsPassed
	m.NoteHardwareFound()
	setStatus(m, world.StatusReady)
}

// UpdateNICs records the interfaces that commissioning found.
func UpdateNICs(m *world.Machine) {
	if m.Hardware != nil && len(m.Hardware.Ports) > 0 {
		updatePorts(m)
		return
	}
	for n, i := range physicalNICs(m) {
		updateNIC(m, n, i)
	}
	dropBridges(m)
}

// physicalNICs are the machine's NICs that are not bridges.
func physicalNICs(m *world.Machine) (out []*world.NIC) {
	for _, n := range m.NICs {
		if n.Kind == "physical" {
			out = append(out, n)
		}
	}
	return out
}

// dropBridges removes the interfaces that were configured on top of the NICs.
func dropBridges(m *world.Machine) {
	if len(physicalNICs(m)) > 0 {
		m.NICs = physicalNICs(m)
	}
}

// updateNIC records what commissioning finds out about the nth NIC of a VM.
func updateNIC(m *world.Machine, n int, i *world.NIC) {
	if i.VLAN == nil && i.RealSubnet != nil {
		i.VLAN = i.RealSubnet.VLAN
	}
	if m.PowerType != "lxd" {
		return
	}
	i.Name = "enp" + strconv.Itoa(5+n) + "s0"
	i.Vendor, i.Product, i.Firmware = "Red Hat, Inc.", "Virtio network device", new(string)
	if s := m.World.SubnetOn(i.VLAN); s != nil && s.VLAN.DHCP && i.Discovered == nil {
		i.Discovered = []world.Discovery{{ID: m.World.NextID("link"), Subnet: s, IP: world.LeaseAddress(m.World, s)}}
	}
}
