package sim

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// regionTimeout is how long the region waits for the rack to discover or to
// compose (clusterrpc/pods.py: timeout=120).
const regionTimeout = 120 * time.Second

// slowness is what a slow LXD adds to each of its operations.
const slowness = 3 * time.Second

// newHost makes the record of a VM host with MAAS's defaults.
func (w *world) newHost(name string, b *bmc) *vmHost {
	h := &vmHost{w: w, id: w.nextID("bmc"), name: name, bmc: b, zone: w.defaultZone(), pool: w.pools[0], cpuRatio: 1, memRatio: 1}
	h.setTags(nil)
	b.host = h
	w.hosts[h.id] = h
	w.bmcs[b.id()] = b
	return h
}

// reach is the LXD of a BMC if it answers and lets MAAS in, else the problem
// in the words of MAAS's LXD driver. It may let time pass.
func (w *world) reach(b *bmc, who string) (*lxdServer, string) {
	l := w.lxdAt(b.address)
	if l == nil {
		return w.lookAtReal(b, who)
	}
	if l.state() == Unreachable {
		return nil, connectionProblem(b)
	}
	switch l.state() {
	case Slow:
		w.sleep(slowness)
	case Hanging:
		w.sleep(regionTimeout)
		return nil, "timed out waiting for the LXD REST API"
	}
	if problem := l.admit(b, who); problem != "" {
		return l, problem
	}
	return l, l.unfit()
}

// withVMs is the least LXD that MAAS takes (drivers/pod/lxd.py).
var withVMs = lxdVersion{4, 16}

// unfit is what MAAS's driver misses in an LXD that let it in.
func (l *lxdServer) unfit() string {
	switch {
	case !l.since(withVMs):
		return "Please upgrade your LXD host to 4.16+ for virtual machine support."
	case len(l.pools) == 0:
		return "No storage pools exists. Please create a storage pool in LXD."
	}
	return ""
}

func connectionProblem(b *bmc) string {
	host, port, _ := strings.Cut(lxdAddress(b.address), ":")
	id := 0
	if b.host != nil {
		id = b.host.id
	}
	return fmt.Sprintf("Pod %d: Failed to connect to the LXD REST API: HTTPSConnectionPool(host='%s', port=%s): Max retries exceeded with url: /1.0?project=%s (Caused by NewConnectionError('<urllib3.connection.HTTPSConnection object at 0x7f0000000000>: Failed to establish a new connection: [Errno 111] Connection refused'))",
		id, host, port, url.QueryEscape(b.project))
}

// admit checks MAAS's credentials. The right password makes LXD trust the
// certificate, after which MAAS forgets the password. A restricted certificate
// is let in, and then sees only its projects.
func (l *lxdServer) admit(b *bmc, who string) string {
	if l.lent != nil {
		return l.admitReal(b, who)
	}
	switch known, isKnown := l.trusting(b.certificate); {
	case isKnown && !known.allows(b.project):
		return who + "not authorized"
	case isKnown:
	case b.password == "":
		return who + "Certificate is not trusted and no password was given"
	case l.since(withoutPassword):
		return who + "Password authentication failed: not implemented"
	case b.password != l.password:
		return who + "Password authentication failed: not authorized"
	default:
		l.trusted = append(l.trusted, trust{certificate: b.certificate})
	}
	if b.password != "" {
		b.password, b.hasPassword = "", false
	}
	return ""
}

// discover takes over what LXD says of itself.
func (w *world) discover(h *vmHost, l *lxdServer) {
	l.ensureProject(h.bmc.project)
	if h.version == "" {
		h.bmc.hasPassword = false
	}
	h.version = l.version
	h.capabilities = []string{"composable", "dynamic_local_storage", "over_commit", "storage_pools"}
	h.architectures = []string{"amd64/generic"}
	h.pools = l.pools
	if h.defaultPool == "" || !l.hasPool(h.defaultPool) {
		h.defaultPool = l.defaultPool()
	}
}

// findHost ties the VM host to the machine that its LXD runs on.
func (w *world) findHost(h *vmHost, l *lxdServer) {
	if l.hostMachine == nil {
		l.hostMachine = w.hostMachine(h, l)
	}
	h.machine = l.hostMachine
}

// hostMachine finds the machine with the server's MAC, or makes one. MAAS puts
// it into the default zone and pool, and calls it deployed.
func (w *world) hostMachine(h *vmHost, l *lxdServer) *machine {
	m := w.machineWithMAC(l.mac)
	if m == nil {
		name := h.name
		if w.machineNamed(name) != nil {
			name = w.randomName()
		}
		m = w.newMachine(name)
		m.owner = w.users[0]
		m.addNIC(l.mac, nil)
		m.addDisk(274877906944, "", nil, "")
		w.ensureTag("virtual")
		m.addTag("virtual")
	}
	m.status = StatusDeployed
	m.commissioningStatus, m.commissioning = 2, w.nextID("scriptset")
	m.osystem, m.series = l.osystem, l.series
	return m
}

// takeInventory is the hardware inventory, which comes after the answer to the
// call that asked for it.
func (h *vmHost) takeInventory(l *lxdServer) {
	h.inventory = nil
	h.cores, h.memoryMiB = l.cores, l.memoryMiB
	m := l.hostMachine
	if m == nil {
		return
	}
	m.cores, m.memoryMiB, m.cpuModel, m.commissioned = l.cores, l.memoryMiB, "Intel(R) Xeon(R) Processor", true
	h.w.connectNIC(m, l)
	if l.metal == m {
		m.fixAddresses()
	}
	for _, n := range l.subnets {
		h.w.learn(n)
		if slices.ContainsFunc(m.nics, func(i *nic) bool { return i.mac == l.bridgeMACs[n] }) {
			continue
		}
		bridge := m.addNIC(l.bridgeMACs[n], n)
		bridge.kind, bridge.name, bridge.onHost = "bridge", fmt.Sprintf("maasbr%d", n.vlan.fabric.id), true
		bridge.links = []*link{{id: h.w.nextID("link"), mode: "static", subnet: n, ip: h.w.hostAddress(n, l)}}
	}
}

// connectNIC links the server's first NIC, where the model says to what.
func (w *world) connectNIC(m *machine, l *lxdServer) {
	n := l.nicSubnet
	i := slices.IndexFunc(m.nics, func(i *nic) bool { return i.mac == l.mac })
	if n == nil || i < 0 {
		return
	}
	w.learn(n)
	if nic := m.nics[i]; nic.vlan != n.vlan || len(nic.links) == 0 {
		nic.vlan, nic.links = n.vlan, []*link{{id: w.nextID("link"), mode: "static", subnet: n, ip: w.freeAddress(n)}}
	}
}

// hostAddress is the address of a server's bridge: the first host has .1.
func (w *world) hostAddress(n *subnet, l *lxdServer) string {
	for i, other := range sorted(w.lxds) {
		if other != l {
			continue
		}
		if i == 0 {
			return offset(n.cidr, 1).String()
		}
		return w.freeAddress(n)
	}
	return ""
}

func (w *world) machineWithMAC(mac string) *machine {
	for _, m := range w.machines {
		if slices.ContainsFunc(m.nics, func(n *nic) bool { return n.mac == mac }) {
			return m
		}
	}
	return nil
}

// sync makes the host's machines agree with a listing of its instances:
// unknown instances are adopted, machines that are not in it are removed, and
// with them, where it can be, the instance of their name.
func (w *world) sync(h *vmHost, l *lxdServer, listed []*instance) {
	adopted := map[*instance]bool{}
	for _, i := range listed {
		if l.projects[i.project][i.name] == i {
			adopted[i] = w.recognise(h, i)
		}
	}
	for _, m := range h.vms() {
		if slices.ContainsFunc(listed, m.has) {
			continue
		}
		i := m.lxdInstance()
		if i != nil && !adopted[i] && i.busy == "" {
			l.remove(i)
		}
		if i != nil && !adopted[i] && m.power.inFlight() {
			m.finishWithoutRecord(i)
		}
		m.forget()
	}
}

// has says whether the instance is the machine's, which MAAS knows by MAC.
func (m *machine) has(i *instance) bool {
	return slices.ContainsFunc(m.nics, func(n *nic) bool { return slices.Contains(i.macs, n.mac) })
}

// recognise ties an instance to its machine, or adopts it, which it reports.
func (w *world) recognise(h *vmHost, i *instance) bool {
	for _, m := range sortedMachines(w.machines) {
		if m.has(i) {
			m.moveUnder(h, i)
			return false
		}
	}
	w.adopt(h, i)
	return true
}

// moveUnder makes a known machine a VM of the host. The disks lose their pool:
// MAAS writes that at compose only.
func (m *machine) moveUnder(h *vmHost, i *instance) {
	m.bmc, m.instance = h.bmc, i.name
	m.vmID = or(m.vmID, m.w.nextID("virtualmachine"))
	m.cores, m.memoryMiB = i.cores, i.memoryMiB
	for _, d := range m.disks {
		d.storagePool = ""
	}
}

// adopt makes a machine of an instance that MAAS does not know, and commissions
// it: a running VM is power-cycled.
func (w *world) adopt(h *vmHost, i *instance) {
	name := i.name
	if w.machineNamed(name) != nil || !validLabel(name) || w.nasty.strikes("random_names", name) {
		name = w.randomName()
	}
	m := w.newVM(name, h, i)
	m.zone, m.pool = h.zone, h.pool
	for _, v := range i.disks {
		m.addDisk(v.sizeBytes, v.pool, nil, lxdDisk)
	}
	w.commission(m, w.users[0], commissionOptions{})
	if i.running {
		w.power(m, "cycle")
	} else {
		w.power(m, "on")
	}
}

// newVM is the record of an instance: with the host's tags, without disks.
func (w *world) newVM(hostname string, h *vmHost, i *instance) *machine {
	m := w.newMachine(hostname)
	m.powerType, m.powerState, m.uefi = "lxd", "off", true
	m.bmc, m.instance, m.vmID, m.parent = h.bmc, i.name, w.nextID("virtualmachine"), h.machine
	m.cores, m.memoryMiB = i.cores, i.memoryMiB
	if i.running {
		m.powerState = "on"
	}
	for n, mac := range i.macs {
		m.addNIC(mac, i.subnets[n])
	}
	for _, name := range h.tags {
		w.ensureTag(name)
		m.addTag(name)
	}
	return m
}

// addInstance makes a VM in an LXD.
func (w *world) addInstance(l *lxdServer, project, name string, cores int, memoryMiB int64, disks []volume, subnets []*subnet) *instance {
	l.ensureProject(project)
	i := &instance{server: l, project: project, name: name, cores: cores, memoryMiB: memoryMiB, disks: disks, subnets: subnets, number: w.nextID("instance")}
	for range subnets {
		i.macs = append(i.macs, w.newMAC())
	}
	l.projects[project][name] = i
	i.describe()
	w.measure(l)
	return i
}

// noRack is 503 when MAAS cannot reach a rack controller.
func noRack(text string) reply {
	rep := unavailable(text)
	rep.header.Set("Retry-After", "10")
	return rep
}

func internalError(text string) reply { return refused(http.StatusInternalServerError, text) }
