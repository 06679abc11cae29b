package lifecycle

import (
	"strconv"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/driver"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// powerQueryDelay is how long after a change of status MAAS asks for the power
// (signals/power.py, WAIT_TO_QUERY); until then a machine that commissioning
// turned off is still shown as on.
const powerQueryDelay = 20 * time.Second

// CommissionOptions are what the caller of a commissioning may leave out.
type CommissionOptions struct {
	KeepNetwork bool // skip_networking
	Untested    bool // testing_scripts=none
}

// Commission starts commissioning. The power action is the caller's.
func Commission(w *world.World, m *world.Machine, u *world.User, o CommissionOptions) {
	m.Previous, m.Status = m.Status, world.StatusCommissioning
	m.Owner = u
	m.Commissioning, m.CommissioningStatus = w.NextID("scriptset"), 0
	took := w.Latency.Commission
	m.TestingStatus = -1
	if !o.Untested {
		m.Testing, m.TestingStatus = w.NextID("scriptset"), 0
		took -= took / 5
	}
	m.Log("Commissioning", "", "")
	m.Progress.Cancel()
	m.Progress = w.Later(took, func() { startTesting(w, m, o) })
}

// startTesting is the last fifth of commissioning, unless there is nothing to test.
func startTesting(w *world.World, m *world.Machine, o CommissionOptions) {
	rest := w.Latency.Commission / 5
	if rest <= 0 || o.Untested {
		passCommissioning(m, o.KeepNetwork)
		return
	}
	m.Status = world.StatusTesting
	m.Progress = w.Later(rest, func() { passCommissioning(m, o.KeepNetwork) })
}

// passCommissioning is the good end of commissioning: what was found replaces
// what compose wrote.
func passCommissioning(m *world.Machine, keepNetwork bool) {
	EndPower(m, "on")
	if !keepNetwork { // MAAS then does not look at what was found, either
		for n, i := range physicalNICs(m) {
			findNIC(m, n, i)
		}
		dropBridges(m)
		m.AutoLinks()
	}
	findHardware(m)
	for _, d := range m.Disks {
		d.Tags = []string{"ssd"}
		if d.Model == world.LXDDisk {
			d.Firmware = "2.5+"
		}
	}
	if m.PowerType == "lxd" {
		m.World.EnsureTag("virtual")
		m.AddTag("virtual")
	}
	FinishCommissioning(m)
	m.Log("Ready", "", "")
	if i := m.LXDInstance(); i != nil {
		i.Turn(false) // the guest turns itself off; MAAS does not know yet
	}
}

// findHardware is what commissioning learns about a machine that was enlisted
// without its hardware.
func findHardware(m *world.Machine) {
	i := m.LXDInstance()
	if i == nil || len(m.Disks) > 0 {
		return
	}
	m.Cores, m.MemoryMiB = i.Cores, i.MemoryMiB
	for _, v := range i.Disks {
		m.AddDisk(v.SizeBytes, "", nil, world.LXDDisk)
	}
}

// FinishCommissioning makes the machine Ready.
func FinishCommissioning(m *world.Machine) {
	m.LayOut()
	m.Status, m.Owner, m.Commissioned = world.StatusReady, nil, true
	m.CommissioningStatus, m.TestingStatus = 2, -1
	queryLater(m)
}

// queryLater is MAAS's look at the power after a change of status.
func queryLater(m *world.Machine) {
	m.Query.Cancel()
	m.Query = &world.Job{W: m.World, Run: func() { queryPower(m) }}
	m.Query.Timer = m.World.After(powerQueryDelay, m.Query.Finish)
}

// queryPower takes over the power state from the driver.
func queryPower(m *world.Machine) {
	if m.PowerType == "manual" || m.Power.Pending() {
		return
	}
	SetPower(m, driver.PowerState(m))
}

// SetPower is what MAAS remembers of the power. A machine that is off and has
// nothing under way gives its auto addresses back.
func SetPower(m *world.Machine, state string) {
	m.PowerState = state
	if state == "off" && isIdle(m) {
		m.ReleaseAddresses()
	}
}

// isIdle says that no auto address is kept once the machine is off.
func isIdle(m *world.Machine) bool {
	switch m.Status {
	case world.StatusCommissioning, world.StatusTesting, world.StatusDeploying, world.StatusDeployed, world.StatusDiskErasing,
		world.StatusRescueMode, world.StatusEnteringRescueMode, world.StatusExitingRescueMode:
		return false
	}
	return true
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
	i.Vendor, i.Product = "Red Hat, Inc.", "Virtio network device"
	if s := m.World.SubnetOn(i.VLAN); s != nil && s.VLAN.DHCP && i.Discovered == nil {
		i.Discovered = []world.Discovery{{ID: m.World.NextID("link"), Subnet: s, IP: world.LeaseAddress(m.World, s)}}
	}
}

// Fail ends the transition that is under way badly, as the metadata service or
// the power driver would report it.
func Fail(m *world.Machine, message string) bool {
	failed, passing := map[world.Status]world.Status{
		world.StatusCommissioning: world.StatusFailedCommissioning, world.StatusTesting: world.StatusFailedTesting,
		world.StatusDeploying: world.StatusFailedDeployment, world.StatusReleasing: world.StatusFailedReleasing,
		world.StatusDiskErasing: world.StatusFailedDiskErasing, world.StatusEnteringRescueMode: world.StatusFailedEnteringRescueMode,
		world.StatusExitingRescueMode: world.StatusFailedExitingRescueMode,
	}[m.Status]
	if !passing {
		return false
	}
	m.Progress.Cancel()
	if m.Status == world.StatusCommissioning {
		m.CommissioningStatus, m.TestingStatus = 3, -1
	}
	m.Previous, m.Status = m.Status, failed
	m.Log("Marking node failed", strings.TrimSpace(message), "mark_failed")
	return true
}

// Deploy starts a deployment that was checked.
func Deploy(w *world.World, m *world.Machine, u *world.User) {
	if m.Owner == nil {
		m.Owner = u
	}
	m.Previous, m.Status = m.Status, world.StatusDeploying
	m.Installing = w.NextID("scriptset")
	m.Log("Deploying", "", "")
	m.Progress.Cancel()
	if m.FirstBoot == world.BootReal && m.BMC == nil {
		return // until it asks for its user-data
	}
	m.Progress = w.Later(w.Latency.Deploy, func() { PassDeployment(m) })
}

// PassDeployment is the good end of a deployment.
func PassDeployment(m *world.Machine) {
	EndPower(m, "on")
	m.Netboot = m.Ephemeral
	m.SwapOn = makesSwap(m)
	if m.RegisterHost != nil {
		startHostBoot(m)
		return
	}
	finishDeployment(m)
	StartFirstBoot(m)
}

// finishDeployment calls a machine deployed.
func finishDeployment(m *world.Machine) {
	m.Status = world.StatusDeployed
	m.Log("Deployed", "", "")
}

// IsReleasable says whether a release may begin (enum.py, RELEASABLE_STATUSES).
func IsReleasable(m *world.Machine) bool {
	return world.OneOf(m.Status, world.StatusAllocated, world.StatusDeploying, world.StatusDeployed, world.StatusReserved, world.StatusBroken,
		world.StatusFailedDeployment, world.StatusFailedDiskErasing, world.StatusFailedReleasing, world.StatusRescueMode,
		world.StatusFailedEnteringRescueMode, world.StatusFailedExitingRescueMode)
}

// Release starts to give a machine back. Before it is over the machine keeps
// its owner and its addresses.
func Release(w *world.World, m *world.Machine) {
	m.Previous, m.Status = m.Status, world.StatusReleasing
	ClearDeployment(m)
	m.AgentName, m.OwnerData, m.Locked = "", nil, false
	wipeLXD(m)
	m.Log("Releasing", "", "")
	m.Progress.Cancel()
	m.Progress = w.Later(w.Latency.Release, func() { passRelease(m) })
}

// ClearDeployment forgets what was installed.
func ClearDeployment(m *world.Machine) {
	m.Osystem, m.Series, m.Kernel, m.UserData = "", "", "", nil
	m.Netboot, m.Ephemeral, m.Installing = true, false, 0
	m.Boot.Cancel()
	m.BootHeld = false
}

// passRelease is the end of a release: Ready, New if the machine never passed
// commissioning, or gone if allocate had composed it.
func passRelease(m *world.Machine) {
	EndPower(m, "off")
	m.Owner = nil
	unbridge(m)
	m.ReleaseAddresses()
	m.Log("Released", "", "")
	if m.Dynamic {
		RemoveVM(m.World, m)
		return
	}
	m.Status = world.StatusNew
	if m.Commissioned {
		m.Status = world.StatusReady
	}
}
