package hosts

import (
	"cmp"
	"slices"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/driver"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd/daemon"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// createInstance is LXD's part of a compose, the first half of its time. It continues even
// if MAAS stops waiting.
func createInstance(w *world.World, v *ComposeRequest, l *world.LXD) (*world.Instance, *rest.Reply) {
	v.hostname = cmp.Or(v.hostname, w.RandomName())
	project := v.Host.BMC.Project
	if len(v.subnets(w)) == 0 {
		bad := rest.UnavailableReply(noHostNetworkText)
		return nil, &bad
	}
	if problem := v.lxdProblem(w, l); problem != "" {
		leakVolumes(w, v, l)
		bad := rest.UnavailableReply("Unable to compose machine because: Failed talking to pod: " + problem)
		return nil, &bad
	}
	i, err := makeInstance(w, v, l, project)
	if err != nil {
		bad := rest.UnavailableReply("Unable to compose machine because: Failed talking to pod: " + err.Error())
		return nil, &bad
	}
	i.Busy = "create"
	took := w.Latency.Compose/2 + composeDelay(w, v)
	if took <= driver.RegionTimeout {
		w.Sleep(took)
		i.Busy = ""
		return i, rereadInstance(w, v.Host.BMC, i, driver.RegionTimeout-took)
	}
	w.StartLXDJob(took, func() { i.Busy = "" })
	w.Sleep(driver.RegionTimeout)
	bad := rest.UnavailableReply("Unable to compose machine because: Failed talking to pod: timed out")
	return nil, &bad
}

// makeInstance makes the new instance in an LXD.
func makeInstance(w *world.World, v *ComposeRequest, l *world.LXD, project string) (*world.Instance, error) {
	if l.Lent != nil {
		return composeOnRealLXD(w, v, l)
	}
	var disks []world.Volume
	for _, d := range v.Disks {
		pool, _ := v.poolOf(l, d)
		disks = append(disks, world.Volume{SizeBytes: d.sizeBytes, Pool: pool})
	}
	i := AddInstance(w, l, project, v.hostname, v.Cores, v.MemoryMiB, disks, v.subnets(w))
	describeComposed(i, v)
	return i, nil
}

// rereadInstance is MAAS's read of the instance that it has just made. If the read fails,
// the instance exists and MAAS does not know it.
func rereadInstance(w *world.World, b *world.BMC, i *world.Instance, timeout time.Duration) *rest.Reply {
	l := i.Server
	if l.EffectiveCondition() == world.ConditionHanging {
		w.Sleep(timeout)
	}
	problem := ""
	switch {
	case w.RackCondition != world.ConditionOK:
		bad := NoRackReply("Unable to compose machine because: Unable to connect to any rack controller ; no connections available.")
		return &bad
	case l.EffectiveCondition() == world.ConditionUnreachable:
		problem = driver.ConnectionProblem(b)
	case l.EffectiveCondition() == world.ConditionHanging:
		problem = "timed out"
	case l.Projects[i.Project][i.Name] != i:
		problem = "Instance not found"
	default:
		return nil
	}
	bad := rest.UnavailableReply("Unable to compose machine because: Failed talking to pod: " + problem)
	return &bad
}

// lxdProblem is the message of LXD or its driver that refuses a new instance.
func (v *ComposeRequest) lxdProblem(w *world.World, l *world.LXD) string {
	i := l.Projects[v.Host.BMC.Project][v.hostname]
	switch {
	case rest.InstanceNameProblem(v.hostname) != "":
		return rest.InstanceNameProblem(v.hostname)
	case hasDuplicates(v.pinned):
		return "Failed creating instance record: Cannot define CPU multiple times"
	case l.IsAtLeast(daemon.VersionWithoutSecureBoot):
		return "Invalid config: Unknown configuration key: security.secureboot"
	case l.Lent != nil:
		return "" // a real LXD reports it itself
	case i != nil && i.Busy == "create":
		return `Failed creating instance record: Instance is busy running a "create" operation`
	case i != nil:
		return instanceExistsText
	}
	return ""
}

// leakVolumes leaves the volumes of the data disks. MAAS's driver makes them before the
// instance, and does not remove them when LXD refuses the instance.
func leakVolumes(w *world.World, v *ComposeRequest, l *world.LXD) {
	if l.Lent != nil {
		return // a real LXD has them already
	}
	for _, d := range v.Disks[min(1, len(v.Disks)):] {
		pool, _ := v.poolOf(l, d)
		key := world.VolumeKey{Pool: pool, Project: l.OwnerProject(v.Host.BMC.Project, "features.storage.volumes"), Name: "maas-" + world.NewRandomUUID()}
		l.Volumes[key] = &world.CustomVolume{SizeBytes: d.sizeBytes, Config: map[string]string{}, CreatedAt: time.Now()}
	}
}

func hasDuplicates(cores []int) bool {
	return len(slices.Compact(slices.Sorted(slices.Values(cores)))) < len(cores)
}
