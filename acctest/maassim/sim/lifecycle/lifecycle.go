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
	Untested    bool // testing_scripts=none
}

// Commission starts commissioning. The power action is the caller's.
func Commission(w *world.World, m *world.Machine, u *world.User, o CommissionOptions) {
	m.NoteRequest(u, "User starting node commissioning", "start commissioning", "")
	m.Log("Commissioning", "")
	m.Commissioning, m.CommissioningStatus = BeginScripts(w, m, script.Commissioning), ScriptsPending
	if !o.Untested {
		m.Testing, m.TestingStatus = BeginScripts(w, m, script.Testing), ScriptsPending
	}
	if !o.KeepStorage {
		storage.ClearAll(&m.Storage)
	}
	setStatus(m, world.StatusCommissioning)
	m.Owner = u
	took := w.Latency.Commission
	if !o.Untested {
		took -= took / 5
	}
	m.Progress.Cancel()
	m.Progress = w.Later(took, func() { startTesting(w, m, o) })
}

// startTesting is the last fifth of commissioning, unless there is nothing to test.
func startTesting(w *world.World, m *world.Machine, o CommissionOptions) {
	rest := w.Latency.Commission / 5
	if rest <= 0 || o.Untested {
		passCommissioning(m, o)
		return
	}
	passScripts(m)
	setStatus(m, world.StatusTesting)
	m.Progress = w.Later(rest, func() { passCommissioning(m, o) })
}

// passCommissioning is the good end of commissioning: what was found replaces
// what compose wrote.
func passCommissioning(m *world.Machine, o CommissionOptions) {
	EndPower(m, "on")
	if !o.KeepNetwork { // MAAS then does not look at what was found, either
		FindNICs(m)
		m.GatewayLink = nil
		m.AutoLinks()
	}
	takeInventory(m, o)
	if m.PowerType == "lxd" {
		m.World.EnsureTag("virtual")
		m.AddTag("virtual")
	}
	noteResults(m, o)
	FinishCommissioning(m)
	if i := m.LXDInstance(); i != nil {
		i.Turn(false) // the guest turns itself off; MAAS does not know yet
	}
}

// noteResults writes what the scripts of a commissioning ended in.
func noteResults(m *world.Machine, o CommissionOptions) {
	if m.Status == world.StatusCommissioning {
		passScripts(m)
		if !o.Untested {
			setStatus(m, world.StatusTesting)
		}
	}
	if !o.Untested {
		passTests(m)
	}
	m.Log("Ready", "")
}

// FinishCommissioning makes the machine Ready.
func FinishCommissioning(m *world.Machine) {
	m.Commissioned, m.CommissioningStatus = true, ScriptsPassed
	m.Found()
	setStatus(m, world.StatusReady)
}

// FindNICs writes what commissioning finds of the machine's interfaces.
func FindNICs(m *world.Machine) {
	if m.Hardware != nil && len(m.Hardware.Ports) > 0 {
		findPorts(m)
		return
	}
	for n, i := range physicalNICs(m) {
		findNIC(m, n, i)
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

// findNIC is what commissioning learns about the nth NIC of a VM.
func findNIC(m *world.Machine, n int, i *world.NIC) {
	if i.VLAN == nil && i.Wire != nil {
		i.VLAN = i.Wire.VLAN
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
