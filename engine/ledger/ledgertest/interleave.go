package ledgertest

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
)

var (
	seed = flag.Uint64("ledger.seed", 0, "seed of the interleavings; 0: a new one each time")
	runs = flag.Int("ledger.runs", 5, "how many interleavings to try, of 400 steps each")
)

// NeverOverCommits interleaves inventories, creations, moves and deletions at
// random, against a region that stops no one. -ledger.seed repeats a run.
func NeverOverCommits(t *testing.T, store Store) {
	first := *seed
	if first == 0 {
		first = uint64(time.Now().UnixNano())
	}
	var sum interleaving
	for n := range uint64(*runs) {
		in := interleave(t, store, first+n)
		sum.steps, sum.placed, sum.busy, sum.moved = sum.steps+in.steps, sum.placed+in.placed, sum.busy+in.busy, sum.moved+in.moved
		if t.Failed() {
			t.Fatalf("again with -ledger.seed=%d -ledger.runs=1", first+n)
		}
	}
	t.Logf("seed %d: %d interleavings, %d steps, %d VMs placed, %d moved, %d had to wait, 0 over-commits",
		first, *runs, sum.steps, sum.placed, sum.moved, sum.busy)
	if sum.placed == 0 || sum.busy == 0 || sum.moved == 0 {
		t.Error("the interleavings prove nothing")
	}
}

// interleaving is one random schedule. One goroutine takes all steps, so that
// a seed repeats it; what runs side by side is cut into steps.
type interleaving struct {
	t      *testing.T
	rnd    *rand.Rand
	ledger func() engine.Ledger // any of the handles
	region *Region
	vms    []*creation
	reads  []*inventory // under way
	known  []inventory  // complete, the newest last

	steps, placed, moved, busy int
}

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
	next func(*creation)
}

func interleave(t *testing.T, store Store, seed uint64) *interleaving {
	open := store(t)
	handles := []engine.Ledger{open(), open()}
	in := &interleaving{t: t, rnd: rand.New(rand.NewPCG(seed, 0)), region: &Region{}}
	in.ledger = func() engine.Ledger { return handles[in.rnd.IntN(len(handles))] }
	for id := range 3 {
		h := candidate(id+1, fmt.Sprintf("az%d", id%2), 4)
		h.Rank, h.Step = in.rnd.Int64N(4), in.rnd.Int64N(3)
		in.region.Hosts = append(in.region.Hosts, h)
	}
	for i := range 12 {
		vm := &creation{key: engine.Key(fmt.Sprintf("vm-%d", i)), next: in.place, need: engine.Need{
			Cores: 1 + in.rnd.Int64N(2), MemoryMiB: 1024 * (1 + in.rnd.Int64N(2)),
			DiskBytes: map[string]int64{"": 4e9 * in.rnd.Int64N(3), "default": 4e9},
		}}
		in.vms = append(in.vms, vm)
	}
	in.look()
	for range 400 {
		in.step()
	}
	in.settle()
	for _, over := range in.region.OverCommits() {
		t.Error(over)
	}
	return in
}

func (in *interleaving) step() {
	in.steps++
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
	in.placed++
	vm.row, vm.next = row, in.compose
}

// waits reports whether there is no room for now.
func (in *interleaving) waits(err error) bool {
	if e, is := errors.AsType[*engine.Error](err); is && e.Type == engine.InsufficientResources {
		return true
	}
	if errors.Is(err, engine.ErrBusy) {
		in.busy++
		return true
	}
	ok(in.t, err)
	return err != nil
}

func (in *interleaving) compose(vm *creation) {
	if in.rnd.IntN(4) == 0 { // the host failed before there was anything
		vm.next = in.move
		return
	}
	in.region.Compose(vm.row)
	vm.next = in.composed
}

func (in *interleaving) move(vm *creation) {
	r := in.wish(vm)
	if in.rnd.IntN(2) == 0 && len(vm.row.Excluded) == 0 {
		r.Exclude = []int{vm.row.HostID}
	}
	row, fresh, err := in.ledger().Move(in.t.Context(), vm.row.Attempt+1, r)
	if in.waits(err) {
		vm.next = []func(*creation){in.move, in.forget}[in.rnd.IntN(2)]
		return
	}
	if !fresh || slices.Contains(row.Excluded, row.HostID) {
		in.t.Errorf("moved to %+v, fresh %t", row, fresh)
	}
	in.moved++
	vm.row, vm.next = row, in.compose
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
	ok(in.t, in.ledger().Forget(in.t.Context(), vm.key))
	vm.next = in.place
}

// settle removes everything, and then wants all room to be there: what is
// counted twice must not be counted for ever.
func (in *interleaving) settle() {
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
	if diff := cmp.Diff(map[int]int{1: 4, 2: 4, 3: 4}, in.region.VMs()); diff != "" {
		in.t.Errorf("VMs by host, -want +got:\n%s", diff)
	}
}

// lostLedger replaces the ledger with an empty one while an old inventory is
// still about.
func lostLedger(t *testing.T, store Store) {
	one := candidate(1, "az1", 1)
	before := store(t)()
	old := wish(t, before, "other", one)
	row := placed(t, before, key, one)
	ok(t, before.Bind(t.Context(), bound(row, "abc123")))

	after := store(t)()
	_, _, err := after.Place(t.Context(), old)
	is(t, "The old inventory lacks a VM of which the new ledger knows nothing.", err, engine.ErrBusy)
}
