package assembly_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// hookedTransport does something before the first call of a kind is sent.
type hookedTransport struct {
	http.RoundTripper
	once *sync.Once
	on   func(*http.Request) bool
	do   func()
}

func (h hookedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if h.on(r) {
		h.once.Do(h.do)
	}
	return h.RoundTripper.RoundTrip(r)
}

// lateVM is a VM on the host that metalHost makes.
func lateVM() engine.VMSpec {
	return engine.VMSpec{Name: "late", Host: "m1", Cores: 1, MemoryMiB: 1024, Disks: []engine.Disk{{Name: "root", SizeGB: 4}}}
}

// TestComposeBesideHostChange: one process removes or changes a host, and another
// one with the same ledger makes a VM on it at that moment. The VM that was made
// stays, and none is made on a host that is about to go.
func TestComposeBesideHostChange(t *testing.T) {
	cases := map[string]struct {
		reason string
		method string
		change func(p process, ref engine.Ref) error
		made   bool // the VM, in the end
	}{
		"Remove": {
			reason: "The VM would go with the host.", method: http.MethodDelete,
			change: func(p process, ref engine.Ref) error { return p.deleteHost(ref) },
		},
		"Update": {
			reason: "MAAS would take the newborn for another's instance.", method: http.MethodPut, made: true,
			change: func(p process, ref engine.Ref) error {
				want := metalHost()
				want.MemoryOvercommit = 2
				_, err := p.applyHost(ref, want)
				return err
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := hostRegion(t, inMemoryOf(t, hostWorld()))
				rows := ledger.NewMemory(nil)
				t.Cleanup(func() { rows.Close() })
				other := r.start(t, rows, 0, breakage{})
				var vm engine.VM
				var vmErr error
				var creating sync.WaitGroup
				mine := r
				armed := false
				mine.transport = func() http.RoundTripper {
					return hookedTransport{r.sim.RoundTripper(), new(sync.Once), func(q *http.Request) bool {
						return armed && q.Method == tc.method && strings.Contains(q.URL.Path, "vm-hosts/")
					}, func() {
						creating.Go(func() {
							vm, vmErr = engine.WaitUntilDone(other.ctx, other.engine.VMs.Steps(engine.Ref{Key: "default/late", Name: "late"}, lateVM()))
						})
						time.Sleep(10 * time.Second) // the call is on its way for long
						for _, i := range r.sim.Instances() {
							if i.Name == "late" {
								t.Errorf("%s It was made meanwhile", tc.reason)
							}
						}
					}}
				}
				p := mine.start(t, rows, 0, breakage{})
				_, ref := p.makeHost(t, metalHost())
				armed = true
				if err := tc.change(p, ref); err != nil {
					t.Errorf("the change of the host: %v", err)
				}
				creating.Wait()
				if tc.made != (vmErr == nil) {
					t.Fatalf("%s\nmade is %v: %v", tc.reason, vmErr == nil, vmErr)
				}
				if tc.made {
					if _, err := other.engine.VMs.Observe(t.Context(), engine.Ref{Key: "default/late", SystemID: vm.SystemID}); err != nil {
						t.Errorf("%s\nIt is gone: %v", tc.reason, err)
					}
				} else if left := r.sim.Instances(); len(left) > 0 {
					t.Errorf("%s\nleft: %+v", tc.reason, left)
				}
			})
		})
	}
}

// hostInMemory is a region with a host that a process has made, and its ledger.
func hostInMemory(t *testing.T) (testMAAS, *ledger.Ledger, process, engine.Ref) {
	t.Helper()
	r := hostRegion(t, inMemoryOf(t, hostWorld()))
	rows := ledger.NewMemory(nil)
	t.Cleanup(func() { rows.Close() })
	p := r.start(t, rows, 0, breakage{})
	_, ref := p.makeHost(t, metalHost())
	return r, rows, p, ref
}

// TestHostChangeWaitsForCompose: a host on which another process composes is
// neither removed nor changed.
func TestHostChangeWaitsForCompose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, rows, p, ref := hostInMemory(t)
		tag, err := rows.CurrentTag(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		// The other process has begun its compose, and has not got an answer.
		_, _, err = rows.Place(t.Context(), engine.Reservation{
			Key: "default/late", Name: "late", Need: engine.Need{Cores: 1, MemoryMiB: 1024}, Inventory: tag,
			Candidates: []engine.Candidate{{HostKey: ref.SystemID, Free: engine.Need{Cores: 8, MemoryMiB: 32768}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		res, err := p.engine.Hosts.Delete(t.Context(), ref)
		if !errors.Is(err, engine.ErrBusy) || res.Done || !strings.Contains(err.Error(), "late") {
			t.Errorf("want the delete to wait for late, got %+v, %v", res, err)
		}
		r.wantRecord(t, "m1")
	})
}

// TestHostOpensAgain: what a run that died has closed opens by itself, and a host
// that was removed and made anew takes VMs at once.
func TestHostOpensAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, rows, p, ref := hostInMemory(t)
		err := rows.CloseHost(t.Context(), engine.HostCloseRequest{HostKey: ref.SystemID, Holder: "a run that died", Lease: time.Minute, Window: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		create := func() (engine.VM, error) {
			return engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(engine.Ref{Key: "default/late", Name: "late"}, lateVM()))
		}
		began := time.Now()
		vm, err := create()
		if took := time.Since(began); err != nil || took < 50*time.Second || took > 2*time.Minute {
			t.Errorf("want a VM once the close is over, got %v after %v", err, took)
		}
		if err := p.delete(engine.Ref{Key: "default/late", Name: "late", SystemID: vm.SystemID}); err != nil {
			t.Fatal(err)
		}
		if err := p.deleteHost(ref); err != nil {
			t.Fatal(err)
		}
		p.makeHost(t, metalHost())
		began = time.Now()
		_, err = create()
		if took := time.Since(began); err != nil || took > 40*time.Second {
			t.Errorf("want a VM on the host that was made anew, got %v after %v", err, took)
		}
	})
}

// TestHostMadeAnewTakesVMs: a host that was removed, and is registered again, takes
// VMs at once, also by another process with the same ledger.
func TestHostMadeAnewTakesVMs(t *testing.T) {
	cases := map[string]struct {
		reason string
		spec   engine.HostSpec
		known  bool // the LXD is that of a machine which MAAS knows
	}{
		"Metal":        {reason: "The machine is deployed anew.", spec: metalHost()},
		"Server":       {reason: "MAAS makes another machine for it.", spec: serverHost()},
		"KnownMachine": {reason: "The machine stays, and the host is given by its address.", spec: serverHost(), known: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inHosts(t, func(t *testing.T, r testMAAS, _ process) {
				spec := tc.spec
				if tc.known {
					r.deployByOperator(t)
					spec.Address = r.machine(t, "run").IPAddresses[0]
				}
				rows := newRows()
				p := r.start(t, rows, 0, breakage{})
				_, ref := p.makeHost(t, spec)
				if err := p.deleteHost(ref); err != nil {
					t.Fatal(err)
				}
				p = r.start(t, rows, 0, breakage{})
				began := time.Now()
				h, _ := p.makeHost(t, spec)
				if took := time.Since(began); took > time.Minute {
					t.Errorf("%s\nIt took %s to be made anew", tc.reason, took)
				}
				if err := placeOn(t, rows, h.VMHost.HostKey); err != nil {
					t.Errorf("%s\nIt was made anew: %v", tc.reason, err)
				}
			})
		})
	}
}

// refreshReplyLoser loses the replies to refreshes of VM hosts.
type refreshReplyLoser struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (l refreshReplyLoser) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := l.RoundTripper.RoundTrip(r)
	if r.URL.Query().Get("op") == "refresh" && err == nil {
		res.Body.Close()
		return nil, errReset
	}
	return res, err
}

// TestHostStaysClosedUnclear loses the reply to a refresh: MAAS may be at it still, so
// nobody composes on the host until the lease is over.
func TestHostStaysClosedUnclear(t *testing.T) {
	cases := map[string]func(t *testing.T, r testMAAS, p process) (hostKey string, step func() error){
		"VMWithoutInstance": func(t *testing.T, r testMAAS, p process) (string, func() error) {
			h, _ := p.makeHost(t, metalHost())
			ref := p.deployedOn(t, "gone", "m1")
			for _, i := range r.sim.Instances() {
				if err := r.sim.RemoveInstance(i.Host, i.Project, i.Name); err != nil {
					t.Fatal(err)
				}
			}
			return h.VMHost.HostKey, func() error { _, err := p.engine.VMs.Delete(t.Context(), ref); return err }
		},
		"InventoryThatDoesNotCome": func(t *testing.T, r testMAAS, p process) (string, func() error) {
			for len(r.records(t)) == 0 {
				if _, err := p.engine.Hosts.Reconcile(p.ctx, newHostRef, metalHost()); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
			}
			key := fmt.Sprint("/vm-host-", r.records(t)[0].ID)
			return key, func() error { _, err := p.engine.Hosts.Reconcile(p.ctx, newHostRef, metalHost()); return err }
		},
	}
	for name, begin := range cases {
		t.Run(name, func(t *testing.T) {
			inHosts(t, func(t *testing.T, r testMAAS, _ process) {
				if name == "InventoryThatDoesNotCome" {
					r.probe = nil // MAAS registers it blindly
				}
				rows, transport := newRows(), r.transport
				r.transport = func() http.RoundTripper { return refreshReplyLoser{transport()} }
				key, step := begin(t, r, r.start(t, rows, 0, breakage{}))
				r.sim.ResetJournal()
				for r.sim.Journal().Count("POST vm-hosts/{id}/ refresh") == 0 && t.Context().Err() == nil {
					if err := step(); err != nil && !errors.Is(err, engine.ErrUnclear) {
						t.Fatal(err)
					}
					time.Sleep(time.Second)
				}
				if err := placeOn(t, rows, key); !errors.Is(err, engine.ErrBusy) {
					t.Errorf("MAAS may be at the refresh\nwant no compose beside it, got %v", err)
				}
				time.Sleep(2 * time.Minute)
				if err := placeOn(t, rows, key); err != nil {
					t.Errorf("the lease is over: %v", err)
				}
			})
		})
	}
}
