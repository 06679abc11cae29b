package lxd

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// TestGrowthNeverOvercommits lets two programs with one ledger take the same room of a host
// at once. Two VMs grow, or one grows while another is made. Only one of them gets the
// room.
func TestGrowthNeverOvercommits(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		grown  func(*engine.VMSpec)
		second string // that wants the room, too
	}{
		"Cores":   {"Eight cores are there, and ten are wanted.", func(s *engine.VMSpec) { s.Cores = 5 }, "web2"},
		"Memory":  {"16 GiB are there.", func(s *engine.VMSpec) { s.MemoryMiB = 9000 }, "web2"},
		"Disks":   {"The pool fast has 100 GB.", func(s *engine.VMSpec) { s.Disks[1].SizeGB = 60 }, "web2"},
		"NewVM":   {"The room that is being taken is not there for another VM.", func(s *engine.VMSpec) { s.Cores = 5 }, "web3"},
		"NewDisk": {"Nor is the pool.", func(s *engine.VMSpec) { s.Disks[1].SizeGB = 60 }, "web3"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, book := newWorld(t, 1), ledger.NewMemory(nil)
			first, second := w.createVM(t, book, "web1"), engine.Ref{Key: engine.Key("test/" + tc.second), Name: tc.second}
			if tc.second == "web2" {
				second = w.createVM(t, book, "web2")
			}
			w.sim.AddFault(sim.Fault{Method: "PUT", Path: "lxd/h1/1.0/**", Kind: sim.FaultDelay, Delay: 300 * time.Millisecond})
			var outcomes [2]error
			var both errgroup.Group
			for n, ref := range []engine.Ref{first, second} {
				want := newTwoCoreSpec(ref.Name)
				tc.grown(&want)
				e := w.newEngineWith(t, book)
				both.Go(func() error {
					_, outcomes[n] = engine.WaitUntilDone(t.Context(), e.VMs.Steps(ref, want)) // hopes for room for a while
					return nil
				})
			}
			both.Wait() //nolint:errcheck // the errors are in outcomes
			w.checkNotOvercommitted(t, tc.reason)
			lacking := 0
			for _, err := range outcomes {
				if typed, ok := errors.AsType[*engine.Error](err); ok && typed.Type == engine.InsufficientResources || isSpecError(err) {
					lacking++
				} else if err != nil {
					t.Errorf("%s: %v", tc.reason, err)
				}
			}
			if lacking != 1 {
				t.Errorf("%s: want one of them refused, got %v", tc.reason, outcomes)
			}
			if rows, err := book.PendingRows(t.Context()); err != nil || len(rows) != 0 {
				t.Errorf("left in the ledger: %+v, %v", rows, err)
			}
		})
	}
}

// isSpecError reports that a spec wants more than exists.
func isSpecError(err error) bool {
	_, ok := errors.AsType[*engine.SpecError](err)
	return ok
}

// newTwoCoreSpec returns a VM with 2 cores that is not deployed, and whose size may change.
func newTwoCoreSpec(name string) engine.VMSpec {
	want := newSpec()
	want.Name, want.Host, want.Deploy, want.Resize = name, "h1", nil, true
	return want
}

// createVM makes a VM and returns what a front end stores about it.
func (w *composeWorld) createVM(t *testing.T, book engine.Ledger, name string) engine.Ref {
	t.Helper()
	ref := engine.Ref{Key: engine.Key("test/" + name), Name: name}
	vm, err := engine.WaitUntilDone(t.Context(), w.newEngineWith(t, book).VMs.Steps(ref, newTwoCoreSpec(name)))
	if err != nil {
		t.Fatal(err)
	}
	ref.SystemID, ref.Finished = vm.SystemID, true
	return ref
}

// checkNotOvercommitted checks that the instances use no more than the first host has.
func (w *composeWorld) checkNotOvercommitted(t *testing.T, reason string) {
	t.Helper()
	hosts, err := w.newComposer().Hosts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h := hosts[0]
	room := fmt.Sprintf("%d of %d cores, %d of %d MiB", h.Cores.Used, h.Cores.Total, h.MemoryMiB.Used, h.MemoryMiB.Total)
	if h.Cores.Used > h.Cores.Total || h.MemoryMiB.Used > h.MemoryMiB.Total {
		t.Errorf("%s: over-committed: %s", reason, room)
	}
	grown, err := w.newComposer().currentInventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range grown.hosts[0].pools {
		if p.promisedBytes > p.totalBytes {
			t.Errorf("%s: pool %s has %d bytes, and promises %d", reason, p.name, p.totalBytes, p.promisedBytes)
		}
	}
}
