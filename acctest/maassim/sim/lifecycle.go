package sim

import (
	"strings"
	"time"
)

// powerQueryDelay is how long after a change of status MAAS asks for the power
// (signals/power.py, WAIT_TO_QUERY); until then a machine that commissioning
// turned off is still shown as on.
const powerQueryDelay = 20 * time.Second

// commissionOptions are what the caller of a commissioning may leave out.
type commissionOptions struct {
	keepNetwork bool // skip_networking
	untested    bool // testing_scripts=none
}

// commission starts commissioning. The power action is the caller's.
func (w *world) commission(m *machine, u *user, o commissionOptions) {
	m.previous, m.status = m.status, StatusCommissioning
	m.owner = u
	m.commissioning, m.commissioningStatus = w.nextID("scriptset"), 0
	took := w.model.Latency.Commission
	m.testingStatus = -1
	if !o.untested {
		m.testing, m.testingStatus = w.nextID("scriptset"), 0
		took -= took / 5
	}
	m.log("Commissioning", "", "")
	m.progress.cancel()
	m.progress = w.later(took, func() { w.test(m, o) })
}

// test is the last fifth of commissioning, unless there is nothing to test.
func (w *world) test(m *machine, o commissionOptions) {
	rest := w.model.Latency.Commission / 5
	if rest <= 0 || o.untested {
		m.passCommissioning(o.keepNetwork)
		return
	}
	m.status = StatusTesting
	m.progress = w.later(rest, func() { m.passCommissioning(o.keepNetwork) })
}

// passCommissioning is the good end of commissioning: what was found replaces
// what compose wrote.
func (m *machine) passCommissioning(keepNetwork bool) {
	m.endPower("on")
	for n, i := range m.physical() {
		m.findNIC(n, i)
	}
	if !keepNetwork {
		m.dropBridges()
		m.autoLinks()
	}
	m.findHardware()
	for _, d := range m.disks {
		d.tags = []string{"ssd"}
		if d.model == lxdDisk {
			d.firmware = "2.5+"
		}
	}
	if m.powerType == "lxd" {
		m.w.ensureTag("virtual")
		m.addTag("virtual")
	}
	m.finishCommissioning()
	m.log("Ready", "", "")
	if i := m.lxdInstance(); i != nil {
		i.turn(false) // the guest turns itself off; MAAS does not know yet
	}
}

// findHardware is what commissioning learns about a machine that was enlisted
// without its hardware.
func (m *machine) findHardware() {
	i := m.lxdInstance()
	if i == nil || len(m.disks) > 0 {
		return
	}
	m.cores, m.memoryMiB = i.cores, i.memoryMiB
	for _, v := range i.disks {
		m.addDisk(v.sizeBytes, "", nil, lxdDisk)
	}
}

// finishCommissioning makes the machine Ready.
func (m *machine) finishCommissioning() {
	m.layOut()
	m.status, m.owner, m.commissioned = StatusReady, nil, true
	m.commissioningStatus, m.testingStatus = 2, -1
	m.queryLater()
}

// queryLater is MAAS's look at the power after a change of status.
func (m *machine) queryLater() {
	m.query.cancel()
	m.query = &job{w: m.w, run: m.queryPower}
	m.query.timer = m.w.after(powerQueryDelay, m.query.finish)
}

// queryPower takes over the power state from the driver.
func (m *machine) queryPower() {
	if m.powerType == "manual" || m.power.pending() {
		return
	}
	m.setPower(m.driverState())
}

// setPower is what MAAS remembers of the power. A machine that is off and has
// nothing under way gives its auto addresses back.
func (m *machine) setPower(state string) {
	m.powerState = state
	if state == "off" && m.idle() {
		m.releaseAddresses()
	}
}

// idle says that no auto address is kept once the machine is off.
func (m *machine) idle() bool {
	switch m.status {
	case StatusCommissioning, StatusTesting, StatusDeploying, StatusDeployed, StatusDiskErasing,
		StatusRescueMode, StatusEnteringRescueMode, StatusExitingRescueMode:
		return false
	}
	return true
}

// physical are the machine's NICs without bridges.
func (m *machine) physical() (out []*nic) {
	for _, n := range m.nics {
		if n.kind == "physical" {
			out = append(out, n)
		}
	}
	return out
}

// dropBridges removes what was configured on top of the NICs.
func (m *machine) dropBridges() {
	if len(m.physical()) > 0 {
		m.nics = m.physical()
	}
}

// findNIC is what commissioning learns about the nth NIC of a VM.
func (m *machine) findNIC(n int, i *nic) {
	if m.powerType != "lxd" {
		return
	}
	i.name = "enp" + itoa(5+n) + "s0"
	i.vendor, i.product = "Red Hat, Inc.", "Virtio network device"
	if s := m.w.subnetOn(i.vlan); s != nil && s.vlan.dhcp && i.discovered == nil {
		i.discovered = []discovery{{subnet: s, ip: m.w.leaseAddress(s)}}
	}
}

// fail ends the transition that is under way badly, as the metadata service or
// the power driver would report it.
func (m *machine) fail(message string) bool {
	failed, passing := map[Status]Status{
		StatusCommissioning: StatusFailedCommissioning, StatusTesting: StatusFailedTesting,
		StatusDeploying: StatusFailedDeployment, StatusReleasing: StatusFailedReleasing,
		StatusDiskErasing: StatusFailedDiskErasing, StatusEnteringRescueMode: StatusFailedEnteringRescueMode,
		StatusExitingRescueMode: StatusFailedExitingRescueMode,
	}[m.status]
	if !passing {
		return false
	}
	m.progress.cancel()
	if m.status == StatusCommissioning {
		m.commissioningStatus, m.testingStatus = 3, -1
	}
	m.previous, m.status = m.status, failed
	m.log("Marking node failed", strings.TrimSpace(message), "mark_failed")
	return true
}

// deploy starts a deployment that was checked.
func (w *world) deploy(m *machine, u *user) {
	if m.owner == nil {
		m.owner = u
	}
	m.previous, m.status = m.status, StatusDeploying
	m.installing = w.nextID("scriptset")
	m.log("Deploying", "", "")
	m.progress.cancel()
	if m.firstBoot == BootReal && m.bmc == nil {
		return // until it asks for its user-data
	}
	m.progress = w.later(w.model.Latency.Deploy, m.passDeployment)
}

func (m *machine) passDeployment() {
	m.endPower("on")
	m.status, m.netboot = StatusDeployed, m.ephemeral
	m.swapOn = m.makesSwap()
	m.log("Deployed", "", "")
	m.startFirstBoot()
}

// release starts to give a machine back. Before it is over the machine keeps
// its owner and its addresses.
func (w *world) release(m *machine) {
	m.previous, m.status = m.status, StatusReleasing
	m.clearDeployment()
	m.agentName, m.ownerData, m.locked = "", nil, false
	m.wipeLXD()
	m.log("Releasing", "", "")
	m.progress.cancel()
	m.progress = w.later(w.model.Latency.Release, m.passRelease)
}

// clearDeployment forgets what was installed.
func (m *machine) clearDeployment() {
	m.osystem, m.series, m.kernel, m.userData = "", "", "", nil
	m.netboot, m.ephemeral, m.installing = true, false, 0
	m.boot.cancel()
	m.bootHeld = false
}

// passRelease is the end of a release: Ready, New if the machine never passed
// commissioning, or gone if allocate had composed it.
func (m *machine) passRelease() {
	m.endPower("off")
	m.owner = nil
	m.unbridge()
	m.releaseAddresses()
	m.log("Released", "", "")
	if m.dynamic {
		m.w.removeVM(m)
		return
	}
	m.status = StatusNew
	if m.commissioned {
		m.status = StatusReady
	}
}
