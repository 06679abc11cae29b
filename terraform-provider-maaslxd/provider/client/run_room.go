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

// vmNeed is what a VM that a plan makes takes of its host.
type vmNeed struct {
	host      string // HostKey; empty: placement chooses
	cores     int64
	memoryMiB int64
	pagesMiB  int64 // huge pages
}

// NoteNeed adds a VM to what the plan of this run makes, and warns where all of it
// is more than its host has left, or all hosts have.
func (r *Run) NoteNeed(ctx context.Context, b *Backend, spec engine.VMSpec, v Verdict) {
	placed := spec.Host == "" && spec.Placement.Strategy != ""
	if spec.Name == "" || spec.Host == "" && !placed {
		return
	}
	hosts, err := b.Inventory.Hosts(ctx)
	if err != nil {
		return // it was said
	}
	want := vmNeed{cores: int64(max(spec.Cores, len(spec.PinnedCores))), memoryMiB: spec.MemoryMiB}
	if spec.HugePages {
		want.pagesMiB = spec.MemoryMiB
	}
	if !placed {
		n := slices.IndexFunc(hosts, func(h engine.VMHost) bool { return h.AnswersTo(spec.Host) })
		if n < 0 {
			return
		}
		want.host = hosts[n].HostKey
	}
	all := r.together(spec.Name, want)
	if len(all) < 2 {
		return // its own check has said it
	}
	for _, h := range hosts {
		if h.HostKey == want.host {
			r.short(all, []engine.VMHost{h}, "VM host "+h.Name, v)
		}
	}
	if !r.MakesHosts() {
		r.short(all, hosts, "all VM hosts together", v)
	}
}

// together notes what a VM takes, and returns what all do that this run makes.
func (r *Run) together(name string, want vmNeed) map[string]vmNeed {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wanted == nil {
		r.wanted = map[string]vmNeed{}
	}
	r.wanted[name] = want
	return maps.Clone(r.wanted)
}

// short warns, once for each where, of VMs that some hosts cannot hold.
func (r *Run) short(all map[string]vmNeed, hosts []engine.VMHost, where string, v Verdict) {
	var need, left vmNeed
	count := 0
	for _, n := range all {
		if len(hosts) == 1 && n.host != hosts[0].HostKey {
			continue
		}
		count++
		need.cores, need.memoryMiB, need.pagesMiB = need.cores+n.cores, need.memoryMiB+n.memoryMiB, need.pagesMiB+n.pagesMiB
	}
	for _, h := range hosts {
		if !values.HasInventory(h) {
			return // what it has is not known
		}
		left.cores += h.Cores.Left(h.CPUOvercommit)
		left.memoryMiB += h.MemoryMiB.Left(h.MemoryOvercommit)
		left.pagesMiB += h.HugePagesMiB.Left(1)
	}
	var lacks []string
	if need.cores > left.cores {
		lacks = append(lacks, fmt.Sprintf("%d cores, and %d are left", need.cores, left.cores))
	}
	if need.memoryMiB > left.memoryMiB {
		lacks = append(lacks, fmt.Sprintf("%d MiB of memory, and %d are left", need.memoryMiB, left.memoryMiB))
	}
	if told := slices.ContainsFunc(hosts, engine.VMHost.TellsHugePages); told && need.pagesMiB > left.pagesMiB {
		lacks = append(lacks, fmt.Sprintf("%d MiB of huge pages, and %d are left", need.pagesMiB, left.pagesMiB))
	}
	if count < 2 || len(lacks) == 0 || !r.Once("room "+where) {
		return
	}
	v.What = "all VMs of this plan"
	v.warn(fmt.Errorf("the VMs planned for %s take more than it has: %d or more of them need %s", where, count, strings.Join(lacks, "; ")),
		"What this run destroys or moves away is not counted. Raise the over-commit ratio, make the VMs smaller, or use other VM hosts.")
}
