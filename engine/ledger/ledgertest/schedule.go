package ledgertest

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

var (
	firstSeed         = flag.Uint64("ledger.seed", 0, "seed of the interleavings; 0: a new one each time")
	interleavingCount = flag.Int("ledger.runs", 3, "how many interleavings to try, of 1,200 steps each")
)

// CheckNeverOverCommits interleaves inventories, creates, moves and deletes in two regions at
// random. The MAASes accept everything. Sometimes the ledger is lost, or an old copy replaces
// it, while older inventories are still in use. -ledger.seed repeats a run.
func CheckNeverOverCommits(t *testing.T, store func(*testing.T) Store) {
	first := *firstSeed
	if first == 0 {
		first = uint64(time.Now().UnixNano())
	}
	var sum interleavingTotals
	n := 0
	for ; n < *interleavingCount || sum.lost == 0 && n < 10**interleavingCount; n++ { // until one run has lost its ledger
		at := first + uint64(n)
		s := &schedule{t: t, rnd: rand.New(rand.NewPCG(at, 0)), newStore: store, store: store(t), totals: &sum}
		s.run()
		if t.Failed() {
			t.Fatalf("again with -ledger.seed=%d -ledger.runs=1", at)
		}
	}
	t.Logf("seed %d: %d interleavings, %d steps, %d VMs placed, %d moved, %d had to wait, %d composes left an instance, %d ledgers lost, %d restored, 0 over-commits",
		first, n, sum.steps, sum.placed, sum.moved, sum.busy, sum.strays, sum.lost, sum.restored)
	if sum.placed == 0 || sum.busy == 0 || sum.moved == 0 || sum.strays == 0 || sum.lost == 0 {
		t.Error("the interleavings prove nothing")
	}
}

// schedule takes steps in two regions whose ledgers share a store. Their keys
// and hosts have the same names.
type schedule struct {
	t        *testing.T
	rnd      *rand.Rand
	newStore func(*testing.T) Store
	store    Store
	copies   []func() // each restores a copy of the store; the newest is last
	regions  []*interleaving
	totals   *interleavingTotals
}

func (s *schedule) run() {
	s.regions = []*interleaving{s.newInterleaving(), s.newInterleaving()}
	s.open()
	for _, in := range s.regions {
		in.readInventory()
	}
	for range 1200 {
		switch s.rnd.IntN(300) {
		case 0:
			s.loseLedger()
		case 1, 2:
			if s.store.Save != nil {
				s.copies = append(s.copies, s.store.Save())
			}
		default:
			s.regions[s.rnd.IntN(len(s.regions))].step()
		}
	}
	for _, in := range s.regions {
		in.clearAndRefill()
		for _, over := range in.region.OverCommits() {
			s.t.Error(over)
		}
	}
}

// open opens two handles on each region's ledger.
func (s *schedule) open() {
	for i, in := range s.regions {
		name := []string{"one", "two"}[i]
		handles := []engine.Ledger{s.store.Open(name), s.store.Open(name)}
		in.ledger = func() engine.Ledger { return handles[in.rnd.IntN(len(handles))] }
	}
}

// loseLedger empties the store, or replaces it by one of the copies. It does so at rest: all
// programs have ended, and MAAS has finished their requests. No ledger can keep the room of a VM
// that is being made and that no inventory shows. But inventories outlive the loss, even those
// that are being read. Each owner comes back at another time.
func (s *schedule) loseLedger() {
	for _, in := range s.regions {
		in.region.FinishAll()
		for _, vm := range in.vms {
			vm.next = in.resume
		}
	}
	if n := len(s.copies); n > 0 && s.rnd.IntN(3) > 0 {
		s.copies[s.rnd.IntN(n)]()
		s.totals.restored++
	} else {
		s.store, s.copies = s.newStore(s.t), nil
		s.totals.lost++
	}
	s.open()
}
