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

// Room is what VMs take of a VM host, or what it has left.
type Room struct{ Cores, MemoryMiB, HugePagesMiB int64 }

func (r Room) plus(more Room) Room {
	return Room{r.Cores + more.Cores, r.MemoryMiB + more.MemoryMiB, r.HugePagesMiB + more.HugePagesMiB}
}

// StateVM is a VM of the state, with the room that it takes on its VM host.
type StateVM struct {
	SystemID    string
	HostMachine string // system id of its VM host's machine; empty: not known
	Room        Room
}

// isOnOneOf tells whether the VM is on one of these hosts.
func (vm StateVM) isOnOneOf(hosts []engine.VMHost) bool {
	return vm.HostMachine != "" && slices.ContainsFunc(hosts, func(h engine.VMHost) bool { return h.MachineID == vm.HostMachine })
}

// NoteVMInState records that the state names a VM. Terraform plans a tainted VM as new, and so
// it plans the second time a VM that it replaces. It does not tell which VM that is.
func (r *Run) NoteVMInState(name string, vm StateVM) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.vmsInState == nil {
		r.vmsInState = map[string]StateVM{}
	}
	r.vmsInState[name] = vm
}

// VMInState is the state's VM of a name; the zero value if the run knows none.
func (r *Run) VMInState(name string) StateVM {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.vmsInState[name]
}

// vmNeed is the room that a planned VM takes on its host.
type vmNeed struct {
	host     string // HostKey of the VM host; empty: placement chooses it
	room     Room
	replaced StateVM // its room is free by then; the zero value: the VM is new
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
	want := vmNeed{room: Room{Cores: int64(max(spec.Cores, len(spec.PinnedCores))), MemoryMiB: spec.MemoryMiB}, replaced: r.VMInState(spec.Name)}
	if spec.HugePages {
		want.room.HugePagesMiB = spec.MemoryMiB
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
	if slices.ContainsFunc(hosts, func(h engine.VMHost) bool { return !values.HasInventory(h) }) {
		return // the hosts' room is not known
	}
	var need, left Room
	count := 0
	for _, n := range all {
		if n.replaced.isOnOneOf(hosts) {
			left = left.plus(n.replaced.Room)
		}
		if len(hosts) > 1 || n.host == hosts[0].HostKey {
			need = need.plus(n.room)
			count++
		}
	}
	for _, h := range hosts {
		left = left.plus(Room{h.Cores.FreeAtRatio(h.CPUOvercommit), h.MemoryMiB.FreeAtRatio(h.MemoryOvercommit), h.HugePagesMiB.FreeAtRatio(1)})
	}
	if !slices.ContainsFunc(hosts, engine.VMHost.HasHugePages) {
		need.HugePagesMiB = 0 // only an LXD can refuse them
	}
	lacks := lackingText(need, left)
	if count < 2 || lacks == "" {
		return
	}
	shortage := fmt.Errorf("the VMs planned for %s take more than it has: %d or more of them need %s", where, count, lacks)
	const hint = "The room of VMs that this run only deletes is not counted. Raise the over-commit ratio, make the VMs smaller, or use other VM hosts."
	switch {
	case v.IsForced:
		v.Action = "replace"
		v.addErrors(shortage, hint)
	case r.ClaimWarning("room " + where):
		v.Object = "all VMs of this plan"
		v.addWarnings(shortage, hint)
	}
}

// lackingText says of what more is needed than is left; empty: there is enough.
func lackingText(need, left Room) string {
	var lacks []string
	if need.Cores > left.Cores {
		lacks = append(lacks, fmt.Sprintf("%d cores, and %d are left", need.Cores, left.Cores))
	}
	if need.MemoryMiB > left.MemoryMiB {
		lacks = append(lacks, fmt.Sprintf("%d MiB of memory, and %d are left", need.MemoryMiB, left.MemoryMiB))
	}
	if need.HugePagesMiB > left.HugePagesMiB {
		lacks = append(lacks, fmt.Sprintf("%d MiB of huge pages, and %d are left", need.HugePagesMiB, left.HugePagesMiB))
	}
	return strings.Join(lacks, "; ")
}
