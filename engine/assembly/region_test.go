package assembly_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/region"
)

// TestRegionSharesAddresses: two engines of one MAAS are asked for one address at
// once. The second is refused before anything is made for it.
func TestRegionSharesAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := inMemoryOf(t, addressWorld())
		r.shared = region.New()
		rows, errs := ledger.NewMemory(nil), make([]error, 2)
		var both sync.WaitGroup
		for n := range errs {
			p := r.start(t, rows, 0, breakage{})
			both.Go(func() { _, errs[n] = p.makeFixed(fmt.Sprintf("web-%d", n), "10.77.0.42") })
		}
		both.Wait()
		lost := slices.IndexFunc(errs, func(err error) bool { return err != nil })
		if lost < 0 || errs[1-lost] != nil {
			t.Fatalf("want one VM and one error, got %v", errs)
		}
		wantAddressError(t, "Two ask at once.", errs[lost], fmt.Sprintf("VM web-%d, which this run is still making", 1-lost))
		if r.countComposes() != 1 {
			t.Errorf("%d VMs were composed, want 1", r.countComposes())
		}
	})
}

// TestRegionSharesHosts: a new list of a host's instances and a compose there wait for each
// other, whichever engine makes them. A list that ends inside a compose makes MAAS adopt the
// new VM.
func TestRegionSharesHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := slowHosts()
		r := hostRegion(t, inMemoryOf(t, m))
		r.shared = region.New()
		rows := newRows()
		p, q := r.start(t, rows, 0, breakage{}), r.start(t, rows, 0, breakage{})
		_, ref := p.makeHost(t, metalHost())
		update := func(p process, ratio float64) {
			// It is busy where the VM is made, and not yet bound.
			if _, err := p.engine.Hosts.Reconcile(t.Context(), ref, overcommittedHost(ratio)); err != nil && !errors.Is(err, engine.ErrBusy) {
				t.Error(err)
			}
		}
		var both sync.WaitGroup
		begun := time.Now()
		both.Go(func() { update(p, 2) })
		time.Sleep(time.Second)
		q.vmOn(t, "web-1", "m1")
		if took := time.Since(begun); took < m.Latency.Refresh+m.Latency.Compose {
			t.Errorf("the compose did not wait for the update: both took %v", took)
		}
		both.Wait()

		both.Go(func() { q.vmOn(t, "web-2", "m1") })
		time.Sleep(5 * time.Second)
		begun = time.Now()
		update(p, 3)
		if took := time.Since(begun); took < m.Latency.Compose-5*time.Second {
			t.Errorf("the update did not wait for the compose: it took %v", took)
		}
		both.Wait()
	})
}
