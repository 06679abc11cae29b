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
	HostID      int    // id of its VM host; 0: not known, or MAAS has no VM hosts
	Room        Room
}

// isOnOneOf tells whether the VM is on one of these hosts.
func (vm StateVM) isOnOneOf(hosts []engine.VMHost) bool {
	return vm.HostMachine != "" && slices.ContainsFunc(hosts, func(h engine.VMHost) bool {
		return h.MachineID == vm.HostMachine && (h.ID == vm.HostID || h.ID == 0 || vm.HostID == 0)
	})
}

// NoteVMInState records that the state names a VM. Terraform plans a tainted VM as new, and so
// it plans the second time a VM that it replaces. It does not tell which VM that is. A plan may
// rename the VM: another VM may then get the former name.
func (r *Run) NoteVMInState(formerName, name string, vm StateVM) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.vmsInState[formerName].SystemID == vm.SystemID {
		delete(r.vmsInState, formerName)
	}
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
	host string // HostKey of the VM host; empty: placement chooses it
	room Room
	// architectures are those for which MAAS has the image of a placed VM; none: any.
	architectures []string
	replaced      StateVM // its room is free by then; the zero value: the VM is new
	isForced      bool    // of a forced replacement
}

// CheckVMNeed adds a VM to those that this run's plan makes. It reports if together they take
// more than their host has left, or than all hosts have.
func (r *Run) CheckVMNeed(ctx context.Context, b *Backend, spec engine.VMSpec, v ObstacleReport) {
	placed := spec.Host == "" && spec.Placement.Strategy != ""
	if spec.Name == "" || spec.Host == "" && !placed {
		return
	}
	hosts, err := b.Inventory.Hosts(ctx)
	if err != nil {
		return // the warning was given
	}
	want := vmNeed{room: Room{Cores: int64(max(spec.Cores, len(spec.PinnedCores))), MemoryMiB: spec.MemoryMiB}, replaced: r.VMInState(spec.Name), isForced: v.IsForced}
	if spec.HugePages {
		want.room.HugePagesMiB = spec.MemoryMiB
	}
	if placed {
		want.architectures, _ = engine.ImageArchitectures(ctx, b.Catalog, spec.Deploy) // the warning was given
	} else {
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
	r.reportShortages(all, want, hosts, v)
}

// reportShortages reports if the VMs do not fit on the host of one of them, on the hosts of the
// architectures that their images have, or on all hosts.
func (r *Run) reportShortages(all map[string]vmNeed, want vmNeed, hosts []engine.VMHost, v ObstacleReport) {
	if r.MakesHosts() || len(hosts) > 1 {
		for _, h := range hosts {
			if h.HostKey == want.host {
				isOnIt := func(n vmNeed) bool { return n.host == h.HostKey }
				shortage{all, []engine.VMHost{h}, "VM host " + h.Name + " take more than it has", isOnIt, isOnIt}.report(v)
			}
		}
	}
	if r.MakesHosts() || len(hosts) == 0 {
		return // their room is not known, or each VM's own check has warned
	}
	reportGroupShortages(all, hosts, v)
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

// shortage compares what VMs need with what some hosts have.
type shortage struct {
	all     map[string]vmNeed // by the names of the VMs
	hosts   []engine.VMHost
	where   string            // these hosts, and that VMs take more than they have
	takes   func(vmNeed) bool // tells whether a VM takes its room there
	refuses func(vmNeed) bool // tells whether a forced replacement can fail for it
}

// report reports, once for each place, that the VMs do not fit there, and tells whether that is so.
// It is an error if one of them is forced: Terraform destroys that VM first.
func (s shortage) report(v ObstacleReport) bool {
	lacking, forced := s.lackText(), ""
	if lacking == "" {
		return false
	}
	for name, n := range s.all {
		if n.isForced && s.refuses(n) {
			forced = max(forced, name)
		}
	}
	err := fmt.Errorf("the VMs planned for %s: %s", s.where, lacking)
	const hint = "The room of VMs that this run only deletes is not counted. Raise the over-commit ratio, make the VMs smaller, or use other VM hosts."
	switch {
	case forced != "" && v.Run.ClaimWarning("forced room "+s.where):
		v.Object = "VM " + forced
		v.refuseReplacement(err, hint)
	case forced == "" && v.Run.ClaimWarning("room "+s.where):
		v.Object = "all VMs of this plan"
		v.addWarnings(err, hint)
	}
	return true
}

// lackText says what is missing; empty: nothing, or the hosts' room is not known, or there is only
// one VM, whose own check has warned.
func (s shortage) lackText() string {
	if slices.ContainsFunc(s.hosts, func(h engine.VMHost) bool { return !values.HasInventory(h) }) {
		return ""
	}
	var need, left Room
	count := 0
	for _, n := range s.all {
		if n.replaced.isOnOneOf(s.hosts) {
			left = left.plus(n.replaced.Room)
		}
		if s.takes(n) {
			need = need.plus(n.room)
			count++
		}
	}
	for _, h := range s.hosts {
		left = left.plus(Room{h.Cores.FreeAtRatio(h.CPUOvercommit), h.MemoryMiB.FreeAtRatio(h.MemoryOvercommit), h.HugePagesMiB.FreeAtRatio(1)})
	}
	if !slices.ContainsFunc(s.hosts, engine.VMHost.HasHugePages) {
		need.HugePagesMiB = 0 // only an LXD can refuse them
	}
	text := lackingText(need, left)
	if count < 2 || text == "" {
		return ""
	}
	return fmt.Sprintf("%d or more of them need %s", count, text)
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
