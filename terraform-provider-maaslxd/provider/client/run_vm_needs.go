package client

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// vmNeed is the room that a planned VM takes on its host.
type vmNeed struct {
	host         string // HostKey of the VM host; empty: placement chooses it
	cores        int64
	memoryMiB    int64
	hugePagesMiB int64 // huge pages
}

// NoteVMNeed adds a VM to those that this run's plan makes. It warns if together they take
// more than their host has left, or than all hosts have.
func (r *Run) NoteVMNeed(ctx context.Context, b *Backend, spec engine.VMSpec, v ObstacleReport) {
	placed := spec.Host == "" && spec.Placement.Strategy != ""
	if spec.Name == "" || spec.Host == "" && !placed {
		return
	}
	hosts, err := b.Inventory.Hosts(ctx)
	if err != nil {
		return // the warning was given
	}
	want := vmNeed{cores: int64(max(spec.Cores, len(spec.PinnedCores))), memoryMiB: spec.MemoryMiB}
	if spec.HugePages {
		want.hugePagesMiB = spec.MemoryMiB
	}
	if !placed {
		n := slices.IndexFunc(hosts, func(h engine.VMHost) bool { return h.MatchesName(spec.Host) })
		if n < 0 {
			return
		}
		want.host = hosts[n].HostKey
	}
	all := r.addVMNeed(spec.Name, want)
	if len(all) < 2 {
		return // the VM's own check has warned
	}
	for _, h := range hosts {
		if h.HostKey == want.host {
			r.warnShortage(all, []engine.VMHost{h}, "VM host "+h.Name, v)
		}
	}
	if !r.MakesHosts() {
		r.warnShortage(all, hosts, "all VM hosts together", v)
	}
}

// addVMNeed records the need of a VM, and returns the need of all VMs that this run makes.
func (r *Run) addVMNeed(name string, want vmNeed) map[string]vmNeed {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.vmNeeds == nil {
		r.vmNeeds = map[string]vmNeed{}
	}
	r.vmNeeds[name] = want
	return maps.Clone(r.vmNeeds)
}

// warnShortage warns, once for each place, of VMs that some hosts have no room for.
func (r *Run) warnShortage(all map[string]vmNeed, hosts []engine.VMHost, where string, v ObstacleReport) {
	var need, left vmNeed
	count := 0
	for _, n := range all {
		if len(hosts) == 1 && n.host != hosts[0].HostKey {
			continue
		}
		count++
		need.cores, need.memoryMiB, need.hugePagesMiB = need.cores+n.cores, need.memoryMiB+n.memoryMiB, need.hugePagesMiB+n.hugePagesMiB
	}
	for _, h := range hosts {
		if !values.HasInventory(h) {
			return // the host's room is not known
		}
		left.cores += h.Cores.FreeAtRatio(h.CPUOvercommit)
		left.memoryMiB += h.MemoryMiB.FreeAtRatio(h.MemoryOvercommit)
		left.hugePagesMiB += h.HugePagesMiB.FreeAtRatio(1)
	}
	var lacks []string
	if need.cores > left.cores {
		lacks = append(lacks, fmt.Sprintf("%d cores, and %d are left", need.cores, left.cores))
	}
	if need.memoryMiB > left.memoryMiB {
		lacks = append(lacks, fmt.Sprintf("%d MiB of memory, and %d are left", need.memoryMiB, left.memoryMiB))
	}
	if told := slices.ContainsFunc(hosts, engine.VMHost.HasHugePages); told && need.hugePagesMiB > left.hugePagesMiB {
		lacks = append(lacks, fmt.Sprintf("%d MiB of huge pages, and %d are left", need.hugePagesMiB, left.hugePagesMiB))
	}
	if count < 2 || len(lacks) == 0 || !r.ClaimWarning("room "+where) {
		return
	}
	v.Object = "all VMs of this plan"
	v.addWarnings(fmt.Errorf("the VMs planned for %s take more than it has: %d or more of them need %s", where, count, strings.Join(lacks, "; ")),
		"Room that this run frees is not counted. Raise the over-commit ratio, make the VMs smaller, or use other VM hosts.")
}
