package lifecycle

import (
	"strconv"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/script"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/storage"
)

// CommissionOptions are what the caller of a commissioning may leave out.
type CommissionOptions struct {
	KeepNetwork bool // skip_networking
	KeepStorage bool // skip_storage
	SkipTesting bool // testing_scripts=none
}

// CommissionMachine starts commissioning. The power action is the caller's.
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

// startTesting is the last fifth of commissioning, unless there is nothing to test.
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

// passCommissioning is the good end of commissioning: what was found replaces
// what compose wrote.
func passCommissioning(m *world.Machine, o CommissionOptions) {
	EndPower(m, "on")
	if !o.KeepNetwork { // MAAS then does not look at what was found, either
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
		i.SetRunning(false) // the guest turns itself off; MAAS does not know yet
	}
}

// noteResults writes what the scripts of a commissioning ended in.
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

// UpdateNICs writes what commissioning finds of the machine's interfaces.
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

// physicalNICs are the machine's NICs without bridges.
func physicalNICs(m *world.Machine) (out []*world.NIC) {
	for _, n := range m.NICs {
		if n.Kind == "physical" {
			out = append(out, n)
		}
	}
	return out
}

// dropBridges removes what was configured on top of the NICs.
func dropBridges(m *world.Machine) {
	if len(physicalNICs(m)) > 0 {
		m.NICs = physicalNICs(m)
	}
}

// updateNIC is what commissioning learns about the nth NIC of a VM.
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
