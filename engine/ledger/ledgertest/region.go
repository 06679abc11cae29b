package ledgertest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/maaslxd/maaslxd/engine"
)

// Region is a model of a MAAS and its LXD servers. It composes whatever it is asked to, whether
// there is room or not, and records the room. The zero value has no hosts.
type Region struct {
	// Hosts are the hosts without any VM.
	Hosts []engine.Candidate

	mu            sync.Mutex
	vms           map[engine.Key]instance
	composeCounts map[engine.Key]int
	overCommits   []string

	strays int // how many there were
}

// instance is an LXD instance. MAAS shows it from the end of its compose until its removal
// begins. It takes room before and after that time, too.
type instance struct {
	host       string
	need       engine.Need
	isShown    bool
	isRemoving bool
}

// BeginCompose begins to make a VM.
func (r *Region) BeginCompose(row engine.Row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.vms == nil {
		r.vms, r.composeCounts = map[engine.Key]instance{}, map[engine.Key]int{}
	}
	r.composeCounts[row.Key]++
	if old, ok := r.vms[row.Key]; ok {
		r.overCommits = append(r.overCommits, fmt.Sprintf("%s is composed on host %s, and was on host %s already", row.Key, row.HostKey, old.host))
	}
	r.vms[row.Key] = instance{host: row.HostKey, need: row.Need}
	for _, h := range r.Hosts {
		if free := r.freeRoom(h, func(instance) bool { return true }); h.HostKey == row.HostKey && isNegative(free) {
			r.overCommits = append(r.overCommits, fmt.Sprintf("host %s has %+v left after %s", h.HostKey, free, row.Key))
		}
	}
}

// FinishCompose ends a compose: MAAS shows the VM.
func (r *Region) FinishCompose(key engine.Key) {
	r.changeInstance(key, func(vm *instance) { vm.isShown = true })
}

// BeginRemoval begins a removal: MAAS no longer shows the VM.
func (r *Region) BeginRemoval(key engine.Key) {
	r.changeInstance(key, func(vm *instance) { vm.isShown, vm.isRemoving = false, true })
}

func (r *Region) changeInstance(key engine.Key, do func(*instance)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if vm, ok := r.vms[key]; ok {
		do(&vm)
		r.vms[key] = vm
	}
}

// LeaveStray ends a compose that failed after it made its instance. From now on MAAS shows the
// instance as a machine without an owner.
func (r *Region) LeaveStray(key engine.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	vm := r.vms[key]
	vm.isShown = true
	delete(r.vms, key)
	r.strays++
	r.vms[engine.Key(fmt.Sprint(strayPrefix, r.strays))] = vm
}

const strayPrefix = "stray "

// RemoveStrays removes all strays.
func (r *Region) RemoveStrays() {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.vms, func(key engine.Key, _ instance) bool { return strings.HasPrefix(string(key), strayPrefix) })
}

// FinishAll ends all composes and removals.
func (r *Region) FinishAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, vm := range r.vms {
		if vm.isShown = true; vm.isRemoving {
			delete(r.vms, key)
			continue
		}
		r.vms[key] = vm
	}
}

// FindVM returns where MAAS shows a VM.
func (r *Region) FindVM(key engine.Key) (host string, need engine.Need, there bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	vm := r.vms[key]
	return vm.host, vm.need, vm.isShown
}

// FinishRemoval ends a removal: LXD has its room back.
func (r *Region) FinishRemoval(key engine.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.vms, key)
}

// ReadHost returns the nth host as MAAS shows it now.
func (r *Region) ReadHost(n int) engine.Candidate {
	r.mu.Lock()
	defer r.mu.Unlock()
	host := r.Hosts[n]
	host.Free = r.freeRoom(host, func(vm instance) bool { return vm.isShown })
	return host
}

// CountComposes counts how often a VM of this key was composed.
func (r *Region) CountComposes(key engine.Key) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.composeCounts[key]
}

// CountByHost counts the instances by host.
func (r *Region) CountByHost() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	count := map[string]int{}
	for _, vm := range r.vms {
		count[vm.host]++
	}
	return count
}

// OverCommits describes what has gone wrong so far: hosts with less than no room, and VMs that
// were there twice.
func (r *Region) OverCommits() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.overCommits)
}

func (r *Region) freeRoom(h engine.Candidate, counts func(instance) bool) engine.Need {
	free := h.Free
	free.DiskBytes = maps.Clone(h.Free.DiskBytes)
	for _, vm := range r.vms {
		if vm.host != h.HostKey || !counts(vm) {
			continue
		}
		free.Cores -= vm.need.Cores
		free.MemoryMiB -= vm.need.MemoryMiB
		free.HugePagesMiB -= vm.need.HugePagesMiB
		for pool, bytes := range vm.need.DiskBytes {
			free.DiskBytes[pool] -= bytes
		}
	}
	return free
}

func isNegative(n engine.Need) bool {
	for _, bytes := range n.DiskBytes {
		if bytes < 0 {
			return true
		}
	}
	return n.Cores < 0 || n.MemoryMiB < 0 || n.HugePagesMiB < 0
}
