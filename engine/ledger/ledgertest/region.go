package ledgertest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/maaslxd/maaslxd/engine"
)

// Region is a model of a MAAS and its LXDs that composes whatever it is asked
// to, room or not, and keeps the books. The zero value has no hosts.
type Region struct {
	// Hosts are the hosts while they are empty.
	Hosts []engine.Candidate

	mu   sync.Mutex
	vms  map[engine.Key]instance
	made map[engine.Key]int
	over []string

	strays int // that there were
}

// instance is an LXD instance. MAAS shows it from the end of its compose to
// the beginning of its removal; it takes room before and after, too.
type instance struct {
	host  string
	need  engine.Need
	shown bool
	going bool // is being removed
}

// Compose begins to make a VM.
func (r *Region) Compose(row engine.Row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.vms == nil {
		r.vms, r.made = map[engine.Key]instance{}, map[engine.Key]int{}
	}
	r.made[row.Key]++
	if old, ok := r.vms[row.Key]; ok {
		r.over = append(r.over, fmt.Sprintf("%s is composed on host %s, and was on host %s already", row.Key, row.HostKey, old.host))
	}
	r.vms[row.Key] = instance{host: row.HostKey, need: row.Need}
	for _, h := range r.Hosts {
		if free := r.free(h, func(instance) bool { return true }); h.HostKey == row.HostKey && negative(free) {
			r.over = append(r.over, fmt.Sprintf("host %s has %+v left after %s", h.HostKey, free, row.Key))
		}
	}
}

// Composed ends a compose: MAAS shows the VM.
func (r *Region) Composed(key engine.Key) { r.change(key, func(vm *instance) { vm.shown = true }) }

// Removing begins a removal: MAAS does not show the VM any more.
func (r *Region) Removing(key engine.Key) {
	r.change(key, func(vm *instance) { vm.shown, vm.going = false, true })
}

func (r *Region) change(key engine.Key, do func(*instance)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if vm, ok := r.vms[key]; ok {
		do(&vm)
		r.vms[key] = vm
	}
}

// Stray ends a compose that failed after its instance was made, and which MAAS
// shows from now on as one that is nobody's.
func (r *Region) Stray(key engine.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	vm := r.vms[key]
	vm.shown = true
	delete(r.vms, key)
	r.strays++
	r.vms[engine.Key(fmt.Sprint(stray, r.strays))] = vm
}

const stray = "stray "

// Clear removes all strays.
func (r *Region) Clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.vms, func(key engine.Key, _ instance) bool { return strings.HasPrefix(string(key), stray) })
}

// Rest ends all composes and removals.
func (r *Region) Rest() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, vm := range r.vms {
		if vm.shown = true; vm.going {
			delete(r.vms, key)
			continue
		}
		r.vms[key] = vm
	}
}

// VM says where a VM is that MAAS shows.
func (r *Region) VM(key engine.Key) (host string, need engine.Need, there bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	vm := r.vms[key]
	return vm.host, vm.need, vm.shown
}

// Removed ends a removal: LXD has its room back.
func (r *Region) Removed(key engine.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.vms, key)
}

// Inventory is the nth host as MAAS shows it now.
func (r *Region) Inventory(n int) engine.Candidate {
	r.mu.Lock()
	defer r.mu.Unlock()
	host := r.Hosts[n]
	host.Free = r.free(host, func(vm instance) bool { return vm.shown })
	return host
}

// Made counts how often a VM of this key was composed.
func (r *Region) Made(key engine.Key) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.made[key]
}

// VMs counts the instances by host.
func (r *Region) VMs() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	count := map[string]int{}
	for _, vm := range r.vms {
		count[vm.host]++
	}
	return count
}

// OverCommits says what went wrong up to now: hosts that had less than
// nothing left, and VMs that were there twice.
func (r *Region) OverCommits() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.over)
}

func (r *Region) free(h engine.Candidate, counts func(instance) bool) engine.Need {
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

func negative(n engine.Need) bool {
	for _, bytes := range n.DiskBytes {
		if bytes < 0 {
			return true
		}
	}
	return n.Cores < 0 || n.MemoryMiB < 0 || n.HugePagesMiB < 0
}
