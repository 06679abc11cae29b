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

// interleaving is one random schedule in one region. One goroutine takes all steps, so that a
// seed repeats the schedule. Concurrent work is cut into steps.
type interleaving struct {
	t                   *testing.T
	rnd                 *rand.Rand
	ledger              func() engine.Ledger // any of the handles
	region              *Region
	vms                 []*simulatedVM
	reads               []*inventory // under way
	completeInventories []inventory  // complete, the newest last
	totals              *interleavingTotals
}

// interleavingTotals add up the results of all interleavings of a run.
type interleavingTotals struct{ steps, placed, moved, busy, strays, lost, restored int }

// inventory is a read of all hosts, one after the other.
type inventory struct {
	tag   engine.Tag
	hosts []engine.Candidate
}

// simulatedVM is the life of one VM: what its owner does next.
type simulatedVM struct {
	key          engine.Key
	need         engine.Need
	row          engine.Row
	leftInstance bool // its host still has an instance of it
	next         func(*simulatedVM)
}

func (s *schedule) newInterleaving() *interleaving {
	in := &interleaving{t: s.t, rnd: s.rnd, region: &Region{}, totals: s.totals}
	for id := range 3 {
		h := candidate(id+1, fmt.Sprintf("az%d", id%2), 4)
		h.Rank, h.Step = in.rnd.Int64N(4), in.rnd.Int64N(3)
		in.region.Hosts = append(in.region.Hosts, h)
	}
	for i := range 12 {
		vm := &simulatedVM{key: engine.Key(fmt.Sprintf("vm-%d", i)), next: in.place, need: engine.Need{
			Cores: 1 + in.rnd.Int64N(2), MemoryMiB: 1024 * (1 + in.rnd.Int64N(2)), HugePagesMiB: 512 * in.rnd.Int64N(3),
			DiskBytes: map[string]int64{"": 4e9 * in.rnd.Int64N(3), "default": 4e9},
		}}
		in.vms = append(in.vms, vm)
	}
	return in
}

func (in *interleaving) step() {
	in.totals.steps++
	if in.rnd.IntN(60) == 0 { // an operator removes the strays
		in.region.RemoveStrays()
	}
	switch in.rnd.IntN(8) {
	case 0:
		if len(in.reads) > 2 {
			return
		}
		tag, err := in.ledger().CurrentTag(in.t.Context())
		wantNoError(in.t, err)
		in.reads = append(in.reads, &inventory{tag: tag})
	case 1, 2, 3:
		if len(in.reads) > 0 {
			in.readNextHost(in.rnd.IntN(len(in.reads)))
		}
	default:
		vm := in.vms[in.rnd.IntN(len(in.vms))]
		vm.next(vm)
	}
}

// readNextHost reads the next host of an inventory.
func (in *interleaving) readNextHost(n int) {
	inv := in.reads[n]
	inv.hosts = append(inv.hosts, in.region.ReadHost(len(inv.hosts)))
	if len(inv.hosts) == len(in.region.Hosts) {
		in.completeInventories = append(in.completeInventories, *inv)
		in.reads = slices.Delete(in.reads, n, n+1)
	}
}

// readInventory reads a whole inventory at once.
func (in *interleaving) readInventory() {
	tag, err := in.ledger().CurrentTag(in.t.Context())
	wantNoError(in.t, err)
	in.reads = append(in.reads, &inventory{tag: tag})
	for range in.region.Hosts {
		in.readNextHost(len(in.reads) - 1)
	}
}

// newReservation uses any complete inventory, because caches may be old. Most are rather new:
// otherwise all VMs would soon wait.
func (in *interleaving) newReservation(vm *simulatedVM) engine.Reservation {
	age := min(int(in.rnd.ExpFloat64()*2), len(in.completeInventories)-1)
	inv := in.completeInventories[len(in.completeInventories)-1-age]
	return engine.Reservation{
		Key: vm.key, Name: string(vm.key), Group: []string{"", "web"}[in.rnd.IntN(2)],
		Need: vm.need, Candidates: inv.hosts, Inventory: inv.tag,
	}
}

func (in *interleaving) place(vm *simulatedVM) {
	row, fresh, err := in.ledger().Place(in.t.Context(), in.newReservation(vm))
	if in.countIfNoRoom(err) {
		return
	}
	if !fresh {
		in.t.Errorf("%s is not fresh", vm.key)
	}
	in.totals.placed++
	vm.row, vm.next, vm.leftInstance = row, in.compose, false
}

// countIfNoRoom reports whether the error says that there is no room now, and counts it.
func (in *interleaving) countIfNoRoom(err error) bool {
	if e, is := errors.AsType[*engine.Error](err); is && e.Type == engine.InsufficientResources {
		return true
	}
	if errors.Is(err, engine.ErrBusy) {
		in.totals.busy++
		return true
	}
	wantNoError(in.t, err)
	return err != nil
}

func (in *interleaving) compose(vm *simulatedVM) {
	fate := in.rnd.IntN(12)
	if fate < 3 { // the host failed before it made an instance
		vm.next = in.move
		return
	}
	in.region.BeginCompose(vm.row)
	if fate == 3 { // MAAS reports a failure, and later shows the instance that LXD made
		in.region.LeaveStray(vm.key)
		in.totals.strays++
		vm.leftInstance = true
		vm.next = []func(*simulatedVM){in.move, in.dropRow}[in.rnd.IntN(2)]
		return
	}
	vm.next = in.finishCompose
}

func (in *interleaving) move(vm *simulatedVM) {
	r := in.newReservation(vm)
	if vm.leftInstance || in.rnd.IntN(2) == 0 && len(vm.row.Excluded) == 0 {
		r.Exclude = []string{vm.row.HostKey}
	}
	row, fresh, err := in.ledger().Move(in.t.Context(), vm.row.Attempt+1, r)
	if in.countIfNoRoom(err) {
		vm.next = []func(*simulatedVM){in.move, in.dropRow}[in.rnd.IntN(2)]
		return
	}
	if !fresh || slices.Contains(row.Excluded, row.HostKey) {
		in.t.Errorf("moved to %+v, fresh %t", row, fresh)
	}
	in.totals.moved++
	vm.row, vm.next, vm.leftInstance = row, in.compose, false
}

func (in *interleaving) finishCompose(vm *simulatedVM) {
	in.region.FinishCompose(vm.key)
	vm.next = []func(*simulatedVM){in.bind, in.bind, in.markLeaving}[in.rnd.IntN(3)]
}

func (in *interleaving) bind(vm *simulatedVM) {
	for range 1 + in.rnd.IntN(2) {
		wantNoError(in.t, in.ledger().Bind(in.t.Context(), withSystemID(vm.row, string(vm.key))))
	}
	vm.next = []func(*simulatedVM){in.bind, in.markLeaving, in.keepVM, in.keepVM}[in.rnd.IntN(4)]
}

// keepVM lets a VM live for a while.
func (in *interleaving) keepVM(vm *simulatedVM) {
	if in.rnd.IntN(2) == 0 {
		vm.next = in.markLeaving
	}
}

func (in *interleaving) markLeaving(vm *simulatedVM) {
	wantNoError(in.t, in.ledger().MarkLeaving(in.t.Context(), vm.key))
	vm.next = in.beginRemoval
}

func (in *interleaving) beginRemoval(vm *simulatedVM) {
	in.region.BeginRemoval(vm.key)
	vm.next = in.finishRemoval
}

func (in *interleaving) finishRemoval(vm *simulatedVM) {
	in.region.FinishRemoval(vm.key)
	vm.next = in.dropRow
}

func (in *interleaving) dropRow(vm *simulatedVM) {
	wantNoError(in.t, DropRow(in.t.Context(), in.ledger(), vm.key))
	vm.next = in.place
}

// resume does what an owner does after the ledger was lost. If the VM exists,
// the owner binds its row. If not, the owner forgets the ledger's row.
func (in *interleaving) resume(vm *simulatedVM) {
	host, need, there := in.region.FindVM(vm.key)
	if !there {
		in.dropRow(vm)
		return
	}
	row := engine.Row{Key: vm.key, Name: string(vm.key), HostKey: host, Need: need, SystemID: string(vm.key)}
	switch err := in.ledger().Bind(in.t.Context(), row); {
	case errors.Is(err, engine.ErrBusy): // it was leaving when the copy was made
		vm.next = in.markLeaving
	default:
		wantNoError(in.t, err)
		vm.next = in.keepVM
	}
}

// clearAndRefill removes everything, and then wants all room to be free. So no room stays
// counted that nothing uses.
func (in *interleaving) clearAndRefill() {
	in.region.RemoveStrays()
	for _, vm := range in.vms {
		in.region.FinishRemoval(vm.key)
		in.dropRow(vm)
		vm.need = need
	}
	in.readInventory()
	in.completeInventories = in.completeInventories[len(in.completeInventories)-1:]
	for _, vm := range in.vms {
		vm.row = engine.Row{}
		in.place(vm)
		if vm.row.Attempt == 0 {
			in.t.Errorf("%s found no room in an empty region", vm.key)
			continue
		}
		in.region.BeginCompose(vm.row)
		in.region.FinishCompose(vm.key)
		wantNoError(in.t, in.ledger().Bind(in.t.Context(), withSystemID(vm.row, string(vm.key))))
	}
	if diff := cmp.Diff(map[string]int{"h1": 4, "h2": 4, "h3": 4}, in.region.CountByHost()); diff != "" {
		in.t.Errorf("VMs by host, -want +got:\n%s", diff)
	}
}
