package hosts

import (
	"fmt"
	"slices"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/driver"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lifecycle"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// composeOnVMHost composes a VM. It answers after LXD has made the instance and MAAS has
// saved the machine. A failure in between leaves the instance in LXD.
func composeOnVMHost(c *request.Call, h *world.VMHost) rest.Reply {
	if len(h.Capabilities) == 0 {
		return rest.BadTextReply("VM host does not support composability.")
	}
	v, bad := readCompose(c, h)
	if bad != nil {
		return *bad
	}
	m, bad := ComposeVM(c.World, &v)
	if bad != nil {
		return *bad
	}
	if !v.SkipCommissioning {
		lifecycle.CommissionMachine(c.World, m, v.Commissioner, lifecycle.CommissionOptions{KeepNetwork: len(v.nics) > 0})
	}
	rep := rest.OKReply(rest.Object{"system_id": m.SystemID, "resource_uri": rest.URI("machines", m.SystemID)})
	if !v.SkipCommissioning {
		lifecycle.RequestPower(c.World, m, "on")
	}
	syncOverCompose(c.World, h, m)
	return rep
}

// ComposeVM makes the instance, then the machine.
func ComposeVM(w *world.World, v *ComposeRequest) (*world.Machine, *rest.Reply) {
	l, bad := checkBeforeCompose(w, v)
	if bad != nil {
		return nil, bad
	}
	i, bad := createInstance(w, v, l)
	if bad != nil {
		return nil, bad
	}
	return saveVM(w, v, i)
}

// checkBeforeCompose does MAAS's checks before it calls LXD.
func checkBeforeCompose(w *world.World, v *ComposeRequest) (*world.LXD, *rest.Reply) {
	if problem := v.overCommitProblem(); problem != "" && !w.FaultSource.Overcommit {
		bad := rest.UnavailableReply(problem)
		return nil, &bad
	}
	if w.RackCondition != world.ConditionOK {
		bad := NoRackReply("Unable to connect to any rack controller ; no connections available.")
		return nil, &bad
	}
	l, problem := driver.ReachLXD(w, v.Host.BMC, fmt.Sprintf("VM Host %d: ", v.Host.ID))
	if problem == "" && w.Hosts[v.Host.ID] != v.Host {
		problem = "the VM host was deleted"
	}
	if problem != "" {
		bad := rest.UnavailableReply("Unable to compose machine because: Failed talking to pod: " + problem)
		return nil, &bad
	}
	if w.FaultSource.Overcommit {
		return l, nil
	}
	return l, v.checkPoolSpace(l)
}

// overCommitProblem is MAAS's message when the host's ratios do not allow the VM
// (forms/pods.py). MAAS does not count the resources of composes in flight.
func (v *ComposeRequest) overCommitProblem() string {
	h, used, problem := v.Host, v.Host.Usage(), ""
	cores := int(float64(h.Cores)*h.CPURatio) - used.Cores
	memory := int64(float64(h.MemoryMiB)*h.MemRatio) - used.MemoryMiB
	if v.Cores > cores {
		problem += fmt.Sprintf("CPU overcommit ratio is %s and there are %d available resources; %d requested.", FormatRatio(h.CPURatio), cores, v.Cores)
	}
	if v.MemoryMiB > memory {
		problem += fmt.Sprintf("Memory overcommit ratio is %s and there are %d available resources; %d requested.", FormatRatio(h.MemRatio), memory, v.MemoryMiB)
	}
	if problem == "" {
		return ""
	}
	return fmt.Sprintf("Unable to compose KVM instance in '%s'. %s", h.Name, problem)
}

// FormatRatio is a ratio as MAAS writes it.
func FormatRatio(f float64) string { return string(rest.Encode(rest.Float(f))) }

// checkPoolSpace refuses disks that do not fit into their storage pools. A disk's pool is
// the one that a tag names, else the host's default. A tag that names no pool is only a
// tag.
func (v *ComposeRequest) checkPoolSpace(l *world.LXD) *rest.Reply {
	free, used := map[string]int64{}, v.Host.Usage()
	for _, p := range v.Host.Pools {
		free[p.Name] = p.SizeBytes - used.ByPool[p.Name]
	}
	for _, d := range v.Disks {
		pool, named := v.poolOf(l, d)
		if free[pool] -= d.sizeBytes; free[pool] >= 0 {
			continue
		}
		text := "Not enough space in default storage pool: " + pool
		if named {
			text = "Not enough storage space on storage pools: " + pool
		}
		bad := InternalErrorReply(text)
		return &bad
	}
	return nil
}

func (v *ComposeRequest) poolOf(l *world.LXD, d requestedDisk) (name string, named bool) {
	if i := slices.IndexFunc(d.tags, l.HasPool); i >= 0 {
		return d.tags[i], true
	}
	return v.Host.DefaultPool, false
}

// instanceExistsText is LXD's message about a name that an instance already has.
const instanceExistsText = `Failed creating instance record: Add instance info to the database: This "instances" entry already exists`
