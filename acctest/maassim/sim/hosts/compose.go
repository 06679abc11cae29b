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

// compose makes a VM. The call answers when LXD has made it and MAAS has saved
// it; what fails in between leaves the instance behind.
func compose(c *request.Call, h *world.VMHost) rest.Reply {
	if len(h.Capabilities) == 0 {
		return rest.BadText("VM host does not support composability.")
	}
	v, bad := readCompose(c, h)
	if bad != nil {
		return *bad
	}
	m, bad := ComposeVM(c.World, &v)
	if bad != nil {
		return *bad
	}
	if !v.Skip {
		lifecycle.Commission(c.World, m, v.Commissions, lifecycle.CommissionOptions{KeepNetwork: len(v.nics) > 0})
	}
	rep := rest.OK(rest.Object{"system_id": m.SystemID, "resource_uri": rest.URI("machines", m.SystemID)})
	if !v.Skip {
		lifecycle.Power(c.World, m, "on")
	}
	overCompose(c.World, h, m)
	return rep
}

// ComposeVM makes the instance, then the machine.
func ComposeVM(w *world.World, v *WantedVM) (*world.Machine, *rest.Reply) {
	l, bad := beforeCompose(w, v)
	if bad != nil {
		return nil, bad
	}
	i, bad := createInstance(w, v, l)
	if bad != nil {
		return nil, bad
	}
	return saveVM(w, v, i)
}

// beforeCompose is what MAAS checks before it lets LXD act.
func beforeCompose(w *world.World, v *WantedVM) (*world.LXD, *rest.Reply) {
	if problem := v.overCommit(); problem != "" && !w.Nasty.Overcommit {
		bad := rest.Unavailable(problem)
		return nil, &bad
	}
	if w.Rack != world.OK {
		bad := NoRack("Unable to connect to any rack controller ; no connections available.")
		return nil, &bad
	}
	l, problem := driver.Reach(w, v.Host.BMC, fmt.Sprintf("VM Host %d: ", v.Host.ID))
	if problem == "" && w.Hosts[v.Host.ID] != v.Host {
		problem = "the VM host was deleted"
	}
	if problem != "" {
		bad := rest.Unavailable("Unable to compose machine because: Failed talking to pod: " + problem)
		return nil, &bad
	}
	if w.Nasty.Overcommit {
		return l, nil
	}
	return l, v.place(l)
}

// overCommit is MAAS's sentence when the host's ratios do not allow the VM
// (forms/pods.py). What other composes in flight take does not count.
func (v *WantedVM) overCommit() string {
	h, used, problem := v.Host, v.Host.Usage(), ""
	cores := int(float64(h.Cores)*h.CPURatio) - used.Cores
	memory := int64(float64(h.MemoryMiB)*h.MemRatio) - used.MemoryMiB
	if v.Cores > cores {
		problem += fmt.Sprintf("CPU overcommit ratio is %s and there are %d available resources; %d requested.", Ratio(h.CPURatio), cores, v.Cores)
	}
	if v.MemoryMiB > memory {
		problem += fmt.Sprintf("Memory overcommit ratio is %s and there are %d available resources; %d requested.", Ratio(h.MemRatio), memory, v.MemoryMiB)
	}
	if problem == "" {
		return ""
	}
	return fmt.Sprintf("Unable to compose KVM instance in '%s'. %s", h.Name, problem)
}

// Ratio is a ratio as MAAS writes it.
func Ratio(f float64) string { return string(rest.Encode(rest.Float(f))) }

// place chooses the storage pool of each disk: the one that a tag names, else
// the host's default. A tag that is no pool is only a tag.
func (v *WantedVM) place(l *world.LXD) *rest.Reply {
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
		bad := InternalError(text)
		return &bad
	}
	return nil
}

func (v *WantedVM) poolOf(l *world.LXD, d wantedDisk) (name string, named bool) {
	if i := slices.IndexFunc(d.tags, l.HasPool); i >= 0 {
		return d.tags[i], true
	}
	return v.Host.DefaultPool, false
}

// instanceExists is LXD's word on a name that an instance has.
const instanceExists = `Failed creating instance record: Add instance info to the database: This "instances" entry already exists`
