package sim

import (
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// compose makes a VM. The call answers when LXD has made it and MAAS has saved
// it; what fails in between leaves the instance behind.
func compose(c *call, h *vmHost) reply {
	if len(h.capabilities) == 0 {
		return badText("VM host does not support composability.")
	}
	v, bad := readCompose(c, h)
	if bad != nil {
		return *bad
	}
	m, bad := c.w.composeVM(&v)
	if bad != nil {
		return *bad
	}
	if !v.skip {
		c.w.commission(m, v.commissions, commissionOptions{})
	}
	rep := ok(object{"system_id": m.systemID, "resource_uri": uri("machines", m.systemID)})
	if !v.skip {
		c.w.power(m, "on")
	}
	c.w.overCompose(h, m)
	return rep
}

// composeVM makes the instance, then the machine.
func (w *world) composeVM(v *wantedVM) (*machine, *reply) {
	l, bad := w.beforeCompose(v)
	if bad != nil {
		return nil, bad
	}
	i, bad := w.createInstance(v, l)
	if bad != nil {
		return nil, bad
	}
	return w.saveVM(v, i)
}

// beforeCompose is what MAAS checks before it lets LXD act.
func (w *world) beforeCompose(v *wantedVM) (*lxdServer, *reply) {
	if problem := v.overCommit(); problem != "" && !w.nasty.Overcommit {
		bad := unavailable(problem)
		return nil, &bad
	}
	if w.rack != OK {
		bad := noRack("Unable to connect to any rack controller ; no connections available.")
		return nil, &bad
	}
	l, problem := w.reach(v.host.bmc, fmt.Sprintf("VM Host %d: ", v.host.id))
	if problem == "" && w.hosts[v.host.id] != v.host {
		problem = "the VM host was deleted"
	}
	if problem != "" {
		bad := unavailable("Unable to compose machine because: Failed talking to pod: " + problem)
		return nil, &bad
	}
	if w.nasty.Overcommit {
		return l, nil
	}
	return l, v.place(l)
}

// overCommit is MAAS's sentence when the host's ratios do not allow the VM
// (forms/pods.py). What other composes in flight take does not count.
func (v *wantedVM) overCommit() string {
	h, used, problem := v.host, v.host.usage(), ""
	cores := int(float64(h.cores)*h.cpuRatio) - used.cores
	memory := int64(float64(h.memoryMiB)*h.memRatio) - used.memoryMiB
	if v.cores > cores {
		problem += fmt.Sprintf("CPU overcommit ratio is %s and there are %d available resources; %d requested.", ratio(h.cpuRatio), cores, v.cores)
	}
	if v.memoryMiB > memory {
		problem += fmt.Sprintf("Memory overcommit ratio is %s and there are %d available resources; %d requested.", ratio(h.memRatio), memory, v.memoryMiB)
	}
	if problem == "" {
		return ""
	}
	return fmt.Sprintf("Unable to compose KVM instance in '%s'. %s", h.name, problem)
}

func ratio(f float64) string { return string(encode(float(f))) }

// place chooses the storage pool of each disk: the one that a tag names, else
// the host's default. A tag that is no pool is only a tag.
func (v *wantedVM) place(l *lxdServer) *reply {
	free, used := map[string]int64{}, v.host.usage()
	for _, p := range v.host.pools {
		free[p.Name] = p.SizeBytes - used.byPool[p.Name]
	}
	for _, d := range v.disks {
		pool, named := v.poolOf(l, d)
		if free[pool] -= d.sizeBytes; free[pool] >= 0 {
			continue
		}
		text := "Not enough space in default storage pool: " + pool
		if named {
			text = "Not enough storage space on storage pools: " + pool
		}
		bad := internalError(text)
		return &bad
	}
	return nil
}

func (v *wantedVM) poolOf(l *lxdServer, d wantedDisk) (name string, named bool) {
	if i := slices.IndexFunc(d.tags, l.hasPool); i >= 0 {
		return d.tags[i], true
	}
	return v.host.defaultPool, false
}

// createInstance is LXD's part: the first half of the time. It goes on if MAAS
// gives up waiting for it.
func (w *world) createInstance(v *wantedVM, l *lxdServer) (*instance, *reply) {
	v.hostname = or(v.hostname, w.randomName())
	project := v.host.bmc.project
	if len(v.subnets(w)) == 0 {
		bad := unavailable(noHostNetwork)
		return nil, &bad
	}
	if problem := v.refusedByLXD(w, l); problem != "" {
		w.leakVolumes(v, l)
		bad := unavailable("Unable to compose machine because: Failed talking to pod: " + problem)
		return nil, &bad
	}
	i, err := w.composed(v, l, project)
	if err != nil {
		bad := unavailable("Unable to compose machine because: Failed talking to pod: " + err.Error())
		return nil, &bad
	}
	i.busy = "create"
	took := w.model.Latency.Compose/2 + w.lateBy(v)
	if took <= regionTimeout {
		w.sleep(took)
		i.busy = ""
		return i, w.lookAgain(v.host.bmc, i, regionTimeout-took)
	}
	w.orphan(took, func() { i.busy = "" })
	w.sleep(regionTimeout)
	bad := unavailable("Unable to compose machine because: Failed talking to pod: timed out")
	return nil, &bad
}

// composed is the new instance in an LXD.
func (w *world) composed(v *wantedVM, l *lxdServer, project string) (*instance, error) {
	if l.lent != nil {
		return w.composeReal(v, l)
	}
	var disks []volume
	for _, d := range v.disks {
		pool, _ := v.poolOf(l, d)
		disks = append(disks, volume{sizeBytes: d.sizeBytes, pool: pool})
	}
	i := w.addInstance(l, project, v.hostname, v.cores, v.memoryMiB, disks, v.subnets(w))
	i.describeComposed(v)
	return i, nil
}

// lookAgain is MAAS's read of the instance that it has just asked LXD for. Where
// that fails, the instance is there and MAAS does not know it.
func (w *world) lookAgain(b *bmc, i *instance, patience time.Duration) *reply {
	l := i.server
	if l.state() == Hanging {
		w.sleep(patience)
	}
	problem := ""
	switch {
	case w.rack != OK:
		bad := noRack("Unable to compose machine because: Unable to connect to any rack controller ; no connections available.")
		return &bad
	case l.state() == Unreachable:
		problem = connectionProblem(b)
	case l.state() == Hanging:
		problem = "timed out"
	case l.projects[i.project][i.name] != i:
		problem = "Instance not found"
	default:
		return nil
	}
	bad := unavailable("Unable to compose machine because: Failed talking to pod: " + problem)
	return &bad
}

// refusedByLXD is LXD's or its driver's word against a new instance.
func (v *wantedVM) refusedByLXD(w *world, l *lxdServer) string {
	i := l.projects[v.host.bmc.project][v.hostname]
	switch {
	case instanceNameProblem(v.hostname) != "":
		return instanceNameProblem(v.hostname)
	case repeated(v.pinned):
		return "Failed creating instance record: Cannot define CPU multiple times"
	case l.since(withoutSecureBoot):
		return "Invalid config: Unknown configuration key: security.secureboot"
	case l.lent != nil:
		return "" // it says so itself
	case i != nil && i.busy == "create":
		return `Failed creating instance record: Instance is busy running a "create" operation`
	case i != nil:
		return instanceExists
	}
	return ""
}

// instanceExists is LXD's word on a name that an instance has.
const instanceExists = `Failed creating instance record: Add instance info to the database: This "instances" entry already exists`

// leakVolumes leaves the volumes of the data disks: MAAS's driver makes them
// before it asks LXD for the instance, and removes none when LXD refuses it.
func (w *world) leakVolumes(v *wantedVM, l *lxdServer) {
	if l.lent != nil {
		return // a real one has them
	}
	for _, d := range v.disks[min(1, len(v.disks)):] {
		pool, _ := v.poolOf(l, d)
		key := volumeKey{pool, l.owner(v.host.bmc.project, "features.storage.volumes"), "maas-" + newRandomUUID()}
		l.volumes[key] = &customVolume{sizeBytes: d.sizeBytes, config: map[string]string{}, made: time.Now()}
	}
}

func repeated(cores []int) bool {
	return len(slices.Compact(slices.Sorted(slices.Values(cores)))) < len(cores)
}

// saveVM is MAAS's part: the second half of the time, then one commit. Where
// it fails the instance stays in LXD without a machine.
func (w *world) saveVM(v *wantedVM, i *instance) (*machine, *reply) {
	w.sleep(w.model.Latency.Compose - w.model.Latency.Compose/2)
	if bad := w.afterLXD(v, i); bad != nil {
		return nil, bad
	}
	if bad := w.beforeCommit(v); bad != nil {
		return nil, bad
	}
	if bad := w.lostTagRace(v, i.server); bad != nil {
		return nil, bad
	}
	m := w.newVM(v.hostname, v.host, i)
	m.zone, m.pool, m.domain = v.zone, v.pool, v.domain
	m.pinned, m.hugepages = v.pinned, v.hugepages
	for _, d := range v.disks {
		pool, _ := v.poolOf(i.server, d)
		m.addDisk(d.sizeBytes, pool, slices.Clone(d.tags), lxdDisk)
	}
	for n, want := range v.nics {
		m.nics[n].links = []*link{{id: w.nextID("link"), mode: "auto", subnet: want.subnet, ip: want.ip}}
	}
	if v.skip {
		m.layOut()
		if len(v.nics) == 0 {
			m.autoLinks()
		}
		m.status = StatusReady
	}
	return m, nil
}

// beforeCommit is what only the database can say: another one was first.
func (w *world) beforeCommit(v *wantedVM) *reply {
	var bad reply
	switch {
	case w.hosts[v.host.id] != v.host:
		bad = noObject("Pod")
	case w.machineNamed(v.hostname) != nil:
		bad = badField("hostname", nameTaken(v.hostname))
	case !v.skip && !w.hasImage("ubuntu", w.defaultSeries()):
		bad = badText(w.noCommissioningImage())
	default:
		return w.takenIP(v)
	}
	return &bad
}

// lostTagRace runs a compose again after another one was the first to give MAAS a
// tag of the host: a machine gets the host's tags, each made where there is none,
// and PostgreSQL lets one of several transactions do so. MAAS runs the others
// again from the start, where they meet the instances that they made before.
func (w *world) lostTagRace(v *wantedVM, l *lxdServer) *reply {
	if len(w.withoutTag(v.newTags)) == len(v.newTags) {
		return nil
	}
	w.leakVolumes(v, l)
	bad := unavailable("Unable to compose machine because: Failed talking to pod: " + instanceExists)
	return &bad
}

// withoutTag lists the names for which there is no tag.
func (w *world) withoutTag(names []string) (missing []string) {
	for _, name := range names {
		if w.tags[name] == nil {
			missing = append(missing, name)
		}
	}
	return missing
}

func (w *world) takenIP(v *wantedVM) *reply {
	for _, n := range v.nics {
		if n.ip == "" {
			continue
		}
		ip, err := netip.ParseAddr(n.ip)
		if err != nil {
			continue
		}
		if r := w.inRange(ip); r != nil && r.kind == "dynamic" {
			bad := refused(404, fmt.Sprintf("%s is within the dynamic range from %s to %s", n.ip, r.start, r.end))
			return &bad
		}
		if w.taken(ip) {
			bad := refused(404, fmt.Sprintf("The IP address %s is already in use.", n.ip))
			return &bad
		}
	}
	return nil
}
