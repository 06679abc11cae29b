package assembly_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// Failures that TestChaos found, one story each.

// TestResumeOfAPlacedVM: a VM that was placed somewhere is gone on with there.
func TestResumeOfAPlacedVM(t *testing.T) {
	inBubble(t, func(t *testing.T, r testMAAS, p process) {
		spec := webVMSpec()
		spec.Host = ""
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if vm, err := engine.WaitUntilDone(ctx, p.engine.VMs.Steps(newVMRef, spec)); err == nil || vm.SystemID == "" {
			t.Fatalf("want a VM that is not finished, got %+v, %v", vm, err)
		}
		q := r.start(t, ledger.NewMemory(nil), 0, breakage{})
		if _, err := engine.WaitUntilDone(t.Context(), q.engine.VMs.Steps(newVMRef, spec)); err != nil {
			t.Error(err)
		}
		r.wantOne(t)
	})
}

// TestResumeByMachine: a host may be named by the system id of its machine, and
// a VM on it is gone on with.
func TestResumeByMachine(t *testing.T) {
	inBubble(t, func(t *testing.T, r testMAAS, p process) {
		spec := webVMSpec()
		var hosts []record
		if err := json.Unmarshal([]byte(r.call(t, "GET", "vm-hosts/", nil)), &hosts); err != nil || hosts[0].Name != spec.Host {
			t.Fatalf("got %+v, %v", hosts, err)
		}
		spec.Host = hosts[0].Host.SystemID
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if vm, err := engine.WaitUntilDone(ctx, p.engine.VMs.Steps(newVMRef, spec)); err == nil || vm.SystemID == "" {
			t.Fatalf("want a VM that is not finished, got %+v, %v", vm, err)
		}
		q := r.start(t, ledger.NewMemory(nil), 0, breakage{})
		if _, err := engine.WaitUntilDone(t.Context(), q.engine.VMs.Steps(newVMRef, spec)); err != nil {
			t.Error(err)
		}
		r.wantOne(t)
	})
}

// TestCreateAfterACutOffDelete: a delete that died before its last step leaves
// a row that is leaving. The VM can be made again all the same.
func TestCreateAfterACutOffDelete(t *testing.T) {
	inBubble(t, func(t *testing.T, r testMAAS, p process) {
		rows := ledger.NewMemory(nil)
		q := r.start(t, rows, 0, breakage{})
		vm, err := q.create(newVMRef)
		if err != nil {
			t.Fatal(err)
		}
		if err := rows.MarkLeaving(t.Context(), vmKey); err != nil {
			t.Fatal(err)
		}
		if err := p.delete(engine.Ref{Key: vmKey, Name: "web-1", SystemID: vm.SystemID}); err != nil {
			t.Fatal(err)
		}
		if _, err := q.create(newVMRef); err != nil {
			t.Error(err)
		}
		r.wantOne(t)
	})
}

// TestWantedAgain: a delete that was cut off before it touched the VM can be
// thought better of.
func TestWantedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, r testMAAS, _ process) {
		rows := ledger.NewMemory(nil)
		p := r.start(t, rows, 0, breakage{})
		vm, err := p.create(newVMRef)
		if err != nil {
			t.Fatal(err)
		}
		if err := rows.MarkLeaving(t.Context(), vmKey); err != nil {
			t.Fatal(err)
		}
		if _, err := p.create(engine.Ref{Key: vmKey, Name: "web-1", SystemID: vm.SystemID, Finished: true}); err != nil {
			t.Error(err)
		}
		row, err := rows.Row(t.Context(), vmKey)
		if err != nil || row.State != engine.RowBound || row.Need.DiskBytes["default"] != 8e9 {
			t.Errorf("want it bound again with all that it takes, got %+v, %v", row, err)
		}
		r.wantOne(t)
	})
}

// reserveDead leaves a row as a process does that dies before its compose.
func reserveDead(t *testing.T, r testMAAS, rows engine.Ledger, spec engine.VMSpec) {
	t.Helper()
	tag, err := rows.CurrentTag(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	disks := map[string]int64{"default": 100e9}
	_, _, err = rows.Place(t.Context(), engine.Reservation{
		Key: vmKey, Name: spec.Name, Need: engine.Need{Cores: 8, MemoryMiB: 8192}, Inventory: tag,
		Candidates: []engine.Candidate{{HostKey: r.hostMachine(t, "lxd1"), Free: engine.Need{Cores: 8, MemoryMiB: 16384, DiskBytes: disks}, DefaultPool: "default"}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestDeadReservationIsGivenUp: a create that ends with an error leaves no room
// taken by an earlier one that died.
func TestDeadReservationIsGivenUp(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*engine.VMSpec)
	}{
		"NameTaken":  {"The name has gone to someone else meanwhile.", func(*engine.VMSpec) {}},
		"NoSuchHost": {"What is wanted now cannot be had.", func(s *engine.VMSpec) { s.Name, s.Host = "web-2", "mars" }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r testMAAS, p process) {
				if _, err := engine.WaitUntilDone(t.Context(), p.engine.VMs.Steps(engine.Ref{Key: "other/web-1"}, webVMSpec())); err != nil {
					t.Fatal(err)
				}
				rows := ledger.NewMemory(nil)
				spec := webVMSpec()
				tc.change(&spec)
				reserveDead(t, r, rows, spec)
				time.Sleep(131 * time.Second)
				q := r.start(t, rows, 0, breakage{})
				if _, err := engine.WaitUntilDone(t.Context(), q.engine.VMs.Steps(engine.Ref{Key: vmKey}, spec)); err == nil {
					t.Fatalf("%s\nwant an error", tc.reason)
				}
				if row, err := rows.Row(t.Context(), vmKey); !errors.Is(err, engine.ErrNotFound) {
					t.Errorf("%s\nthe room is still taken: %+v, %v", tc.reason, row, err)
				}
			})
		})
	}
}

// TestFullPoolMayPass: a storage pool that is full now need not be so for ever,
// nor is an inventory of a moment ago the last word.
func TestFullPoolMayPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := inMemory(t)
		rows := ledger.NewMemory(nil)
		p, q := r.start(t, rows, 0, breakage{}), r.start(t, rows, 0, breakage{})
		spec := webVMSpec()
		spec.Disks[0].SizeGB = 60
		vm, err := engine.WaitUntilDone(t.Context(), p.engine.VMs.Steps(newVMRef, spec))
		if err != nil {
			t.Fatal(err)
		}
		second := spec
		second.Name = "web-2"
		other := engine.Ref{Key: "default/web-2"}
		if _, err := q.engine.VMs.Reconcile(t.Context(), other, second); !isShort(err) || engine.IsTerminal(err) {
			t.Errorf("want InsufficientResources for now, got %v", err)
		}
		time.Sleep(2 * time.Second)
		if err := p.delete(engine.Ref{Key: vmKey, Name: "web-1", SystemID: vm.SystemID}); err != nil {
			t.Fatal(err)
		}
		if _, err := q.engine.VMs.Reconcile(t.Context(), other, second); err != nil {
			t.Errorf("the pool has room again, and the answer is %v", err)
		}
	})
}

// TestAdoptedWhileInterrupted: a sync adopts the newborn inside its compose, and
// the caller gives up before the compose has failed. The VM is marked all the
// same, so that a delete still finds it when it has been commissioned.
func TestAdoptedWhileInterrupted(t *testing.T) {
	inBubble(t, func(t *testing.T, r testMAAS, p process) {
		if err := r.sim.SetRandomFaults(sim.RandomFaults{SyncInCompose: 1}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := engine.WaitUntilDone(ctx, p.engine.VMs.Steps(newVMRef, webVMSpec())); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("want the deadline, got %v", err)
		}
		time.Sleep(time.Minute)
		if err := p.delete(newVMRef); err != nil {
			t.Error(err)
		}
		r.wantNone(t)
	})
}

// TestDeleteOfABrokenVMThatStarts: LXD says "off" of a VM that it is starting,
// and refuses to delete it, which MAAS does not tell.
func TestDeleteOfABrokenVMThatStarts(t *testing.T) {
	inBubble(t, func(t *testing.T, r testMAAS, p process) {
		ref := p.stepVMUntil(t, engine.StatusDeploying)
		r.editWebVM(t, sim.MachineEdit{StatusName: ptr("Broken")})
		if err := p.delete(ref); err != nil {
			t.Error(err)
		}
		r.wantNone(t)
	})
}

// TestNoStrangerIsAdopted: MAAS adopts what it finds in LXD, without any mark.
// That we asked for a VM of that name and never heard of it proves nothing.
func TestNoStrangerIsAdopted(t *testing.T) {
	inBubble(t, func(t *testing.T, r testMAAS, p process) {
		rows := ledger.NewMemory(nil)
		reserveDead(t, r, rows, webVMSpec())
		if err := r.sim.AddInstance(sim.Instance{Host: "lxd1", Name: "web-1", Cores: 2, MemoryMiB: 2048}); err != nil {
			t.Fatal(err)
		}
		if err := r.sim.RefreshHost("lxd1"); err != nil {
			t.Fatal(err)
		}
		q := r.start(t, rows, 0, breakage{})
		if _, err := q.create(newVMRef); !errors.Is(err, engine.ErrConflict) {
			t.Errorf("want a conflict, got %v", err)
		}
		if err := q.delete(newVMRef); err != nil {
			t.Error(err)
		}
		if m := r.machine(t, "web-1"); m.Description != "" || len(r.sim.Instances()) != 1 {
			t.Errorf("a stranger was taken over: %+v", m)
		}
	})
}

// TestTwoOwnersOfOneNewborn: two owners, who know nothing of each other, ask for
// one name on one host at the same moment, and a sync adopts what came of it.
// MAAS refuses the name to both. One of them has the VM in the end.
func TestTwoOwnersOfOneNewborn(t *testing.T) {
	cases := map[string]struct {
		reason string
		slow   time.Duration // each change of a machine
	}{
		"Quick": {"The one who looks later sees the mark of the other.", 0},
		"Slow":  {"Both have looked before either has marked it: it is the last one's.", time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r testMAAS, p process) {
				if err := r.sim.SetRandomFaults(sim.RandomFaults{SyncInCompose: 1}); err != nil {
					t.Fatal(err)
				}
				if tc.slow > 0 {
					// The second compose comes when the first one's instance has been adopted.
					r.delay(sim.Fault{Method: http.MethodPost, Path: "vm-hosts/*/", Op: "compose", Nth: 2, Delay: world().Latency.Compose + tc.slow/2})
					r.delay(sim.Fault{Method: http.MethodPut, Path: "machines/*/", Delay: tc.slow})
				}
				winner, errs := r.contest(t, p, r.start(t, ledger.NewMemory(nil), 0, breakage{}))
				if winner == "" {
					t.Fatalf("%s\nwant one of them to have it, got %v", tc.reason, errs)
				}
				if m := r.machine(t, "web-1"); !strings.Contains(m.Description, winner) || len(r.sim.Instances()) != 1 {
					t.Errorf("%s\nwant one VM of %s, got %+v", tc.reason, winner, m)
				}
				if puts := r.sim.Journal().Count("PUT machines/{id}/"); tc.slow > 0 && puts < 3 {
					t.Errorf("%d changes of the machine: both were to mark it, and the winner to finish it", puts)
				}
				if n := len(errs); n != 1 || !errors.Is(errs[0], engine.ErrConflict) || strings.Contains(errs[0].Error(), "delete it there") {
					t.Errorf("%s\nwant a conflict that does not have the winner's instance deleted, got %v", tc.reason, errs)
				}
			})
		})
	}
}

func (r testMAAS) delay(f sim.Fault) {
	f.Kind = sim.FaultDelay
	r.sim.AddFault(f)
}

// contest has two processes make one VM for two owners, and returns whose it is,
// and why it is not the other's.
func (r testMAAS) contest(t *testing.T, both ...process) (winner string, errs []error) {
	var mu sync.Mutex
	var makers sync.WaitGroup
	for n, p := range both {
		key := engine.Key(fmt.Sprintf("owner-%d/web-1", n))
		makers.Go(func() {
			_, err := engine.WaitUntilDone(t.Context(), p.engine.VMs.Steps(engine.Ref{Key: key}, webVMSpec()))
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				winner = string(key)
				return
			}
			errs = append(errs, err)
		})
	}
	makers.Wait()
	return winner, errs
}
