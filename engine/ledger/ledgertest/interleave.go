package ledgertest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
)

// interleaving is one random schedule in one region. One goroutine takes all
// steps, so that a seed repeats it; what runs side by side is cut into steps.
type interleaving struct {
	t      *testing.T
	rnd    *rand.Rand
	ledger func() engine.Ledger // any of the handles
	region *Region
	vms    []*creation
	reads  []*inventory // under way
	known  []inventory  // complete, the newest last
	sum    *figures
}

// figures are what the interleavings of a run came to.
type figures struct{ steps, placed, moved, busy, strays, lost, restored int }

// inventory is a read of all hosts, one after the other.
type inventory struct {
	tag   engine.Tag
	hosts []engine.Candidate
}

// creation is one VM's life: what its owner does next.
type creation struct {
	key  engine.Key
	need engine.Need
	row  engine.Row
	away bool // its host has something of it left
	next func(*creation)
}

func (s *schedule) interleaving() *interleaving {
	in := &interleaving{t: s.t, rnd: s.rnd, region: &Region{}, sum: s.sum}
	for id := range 3 {
		h := candidate(id+1, fmt.Sprintf("az%d", id%2), 4)
		h.Rank, h.Step = in.rnd.Int64N(4), in.rnd.Int64N(3)
		in.region.Hosts = append(in.region.Hosts, h)
	}
	for i := range 12 {
		vm := &creation{key: engine.Key(fmt.Sprintf("vm-%d", i)), next: in.place, need: engine.Need{
			Cores: 1 + in.rnd.Int64N(2), MemoryMiB: 1024 * (1 + in.rnd.Int64N(2)), HugePagesMiB: 512 * in.rnd.Int64N(3),
			DiskBytes: map[string]int64{"": 4e9 * in.rnd.Int64N(3), "default": 4e9},
		}}
		in.vms = append(in.vms, vm)
	}
	return in
}

func (in *interleaving) step() {
	in.sum.steps++
	if in.rnd.IntN(60) == 0 { // an operator clears up
		in.region.Clear()
	}
	switch in.rnd.IntN(8) {
	case 0:
		if len(in.reads) > 2 {
			return
		}
		tag, err := in.ledger().Tag(in.t.Context())
		ok(in.t, err)
		in.reads = append(in.reads, &inventory{tag: tag})
	case 1, 2, 3:
		if len(in.reads) > 0 {
			in.read(in.rnd.IntN(len(in.reads)))
		}
	default:
		vm := in.vms[in.rnd.IntN(len(in.vms))]
		vm.next(vm)
	}
}

// read goes on with an inventory by one host.
func (in *interleaving) read(n int) {
	inv := in.reads[n]
	inv.hosts = append(inv.hosts, in.region.Inventory(len(inv.hosts)))
	if len(inv.hosts) == len(in.region.Hosts) {
		in.known = append(in.known, *inv)
		in.reads = slices.Delete(in.reads, n, n+1)
	}
}

// look reads a whole inventory at once.
func (in *interleaving) look() {
	tag, err := in.ledger().Tag(in.t.Context())
	ok(in.t, err)
	in.reads = append(in.reads, &inventory{tag: tag})
	for range in.region.Hosts {
		in.read(len(in.reads) - 1)
	}
}

// wish uses any inventory that was ever complete: caches may be old. Most are
// rather new, or all would soon wait.
func (in *interleaving) wish(vm *creation) engine.Reservation {
	age := min(int(in.rnd.ExpFloat64()*2), len(in.known)-1)
	inv := in.known[len(in.known)-1-age]
	return engine.Reservation{
		Key: vm.key, Name: string(vm.key), Group: []string{"", "web"}[in.rnd.IntN(2)],
		Need: vm.need, Candidates: inv.hosts, Inventory: inv.tag,
	}
}

func (in *interleaving) place(vm *creation) {
	row, fresh, err := in.ledger().Place(in.t.Context(), in.wish(vm))
	if in.waits(err) {
		return
	}
	if !fresh {
		in.t.Errorf("%s is not fresh", vm.key)
	}
	in.sum.placed++
	vm.row, vm.next, vm.away = row, in.compose, false
}

// waits reports whether there is no room for now.
func (in *interleaving) waits(err error) bool {
	if e, is := errors.AsType[*engine.Error](err); is && e.Type == engine.InsufficientResources {
		return true
	}
	if errors.Is(err, engine.ErrBusy) {
		in.sum.busy++
		return true
	}
	ok(in.t, err)
	return err != nil
}

func (in *interleaving) compose(vm *creation) {
	fate := in.rnd.IntN(12)
	if fate < 3 { // the host failed before there was anything
		vm.next = in.move
		return
	}
	in.region.Compose(vm.row)
	if fate == 3 { // MAAS says that it failed, and then finds what LXD has made
		in.region.Stray(vm.key)
		in.sum.strays++
		vm.away = true
		vm.next = []func(*creation){in.move, in.forget}[in.rnd.IntN(2)]
		return
	}
	vm.next = in.composed
}

func (in *interleaving) move(vm *creation) {
	r := in.wish(vm)
	if vm.away || in.rnd.IntN(2) == 0 && len(vm.row.Excluded) == 0 {
		r.Exclude = []string{vm.row.HostKey}
	}
	row, fresh, err := in.ledger().Move(in.t.Context(), vm.row.Attempt+1, r)
	if in.waits(err) {
		vm.next = []func(*creation){in.move, in.forget}[in.rnd.IntN(2)]
		return
	}
	if !fresh || slices.Contains(row.Excluded, row.HostKey) {
		in.t.Errorf("moved to %+v, fresh %t", row, fresh)
	}
	in.sum.moved++
	vm.row, vm.next, vm.away = row, in.compose, false
}

func (in *interleaving) composed(vm *creation) {
	in.region.Composed(vm.key)
	vm.next = []func(*creation){in.bind, in.bind, in.leave}[in.rnd.IntN(3)]
}

func (in *interleaving) bind(vm *creation) {
	for range 1 + in.rnd.IntN(2) {
		ok(in.t, in.ledger().Bind(in.t.Context(), bound(vm.row, string(vm.key))))
	}
	vm.next = []func(*creation){in.bind, in.leave, in.rest, in.rest}[in.rnd.IntN(4)]
}

// rest lets a VM live for a while.
func (in *interleaving) rest(vm *creation) {
	if in.rnd.IntN(2) == 0 {
		vm.next = in.leave
	}
}

func (in *interleaving) leave(vm *creation) {
	ok(in.t, in.ledger().Leaving(in.t.Context(), vm.key))
	vm.next = in.removing
}

func (in *interleaving) removing(vm *creation) {
	in.region.Removing(vm.key)
	vm.next = in.removed
}

func (in *interleaving) removed(vm *creation) {
	in.region.Removed(vm.key)
	vm.next = in.forget
}

func (in *interleaving) forget(vm *creation) {
	ok(in.t, Forget(in.t.Context(), in.ledger(), vm.key))
	vm.next = in.place
}

// resume is what an owner does who comes back after the ledger was lost: if
// the VM is there, it is noted, and if not, whatever the ledger says of it is
// forgotten.
func (in *interleaving) resume(vm *creation) {
	host, need, there := in.region.VM(vm.key)
	if !there {
		in.forget(vm)
		return
	}
	row := engine.Row{Key: vm.key, Name: string(vm.key), HostKey: host, Need: need, SystemID: string(vm.key)}
	switch err := in.ledger().Bind(in.t.Context(), row); {
	case errors.Is(err, engine.ErrBusy): // it was leaving when the copy was made
		vm.next = in.leave
	default:
		ok(in.t, err)
		vm.next = in.rest
	}
}

// settle removes everything, and then wants all room to be there: what is
// counted twice must not be counted for ever.
func (in *interleaving) settle() {
	in.region.Clear()
	for _, vm := range in.vms {
		in.region.Removed(vm.key)
		in.forget(vm)
		vm.need = need
	}
	in.look()
	in.known = in.known[len(in.known)-1:]
	for _, vm := range in.vms {
		vm.row = engine.Row{}
		in.place(vm)
		if vm.row.Attempt == 0 {
			in.t.Errorf("%s found no room in an empty region", vm.key)
			continue
		}
		in.region.Compose(vm.row)
		in.region.Composed(vm.key)
		ok(in.t, in.ledger().Bind(in.t.Context(), bound(vm.row, string(vm.key))))
	}
	if diff := cmp.Diff(map[string]int{"h1": 4, "h2": 4, "h3": 4}, in.region.VMs()); diff != "" {
		in.t.Errorf("VMs by host, -want +got:\n%s", diff)
	}
}
