package assembly_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// TestHostOfMetal goes the whole way and back, twice: the bridge goes with the
// release, and the NIC has its link again.
func TestHostOfMetal(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		for life := 1; life <= 2; life++ {
			h, err := p.applyHost(newHostRef, metalHost())
			if err != nil {
				t.Fatal(err)
			}
			if h.Machine.Hostname != "m1" || h.VMHost.Name != "m1" || h.VMHost.Version != "5.21.3" || h.VMHost.Cores.Total != 8 || !h.Ours || !h.Finished {
				t.Errorf("got %+v", h)
			}
			got := r.wantRecord(t, "m1")
			if got.Zone.Name != "az1" || got.Pool.Name != "fleet" || got.CPU != 4 || got.Memory != 1.5 || got.defaultPool() != "fast" || !slices.Contains(got.Tags, "blue") {
				t.Errorf("it was not set as wanted: %+v", got)
			}
			m := r.machine(t, "m1")
			want := map[string]string{
				"maaslxd-key": string(hostKey), "maaslxd-state": "finished", "maaslxd-vm-host": strconv.Itoa(got.ID),
				"maaslxd-project": "fleet", "maaslxd-address": "https://" + m.IPAddresses[0] + ":8443",
				"maaslxd-zone": "az1", "maaslxd-pool": "fleet", "maaslxd-tags": "blue,pod-console-logging", "maaslxd-name": "m1",
				"maaslxd-cpu-overcommit": "4", "maaslxd-memory-overcommit": "1.5", "maaslxd-storage-pool": "fast",
				"maaslxd-fingerprint": fleetPair().Fingerprint(), serverData: r.serverFingerprint(t, "m1"),
			}
			if diff := cmp.Diff(want, m.OwnerData); diff != "" {
				t.Errorf("owner data (-want +got):\n%s", diff)
			}
			if err := p.deleteHost(engine.Ref{Key: hostKey, SystemID: m.SystemID, Finished: true}); err != nil {
				t.Fatal(err)
			}
			r.wantNoRecord(t)
			r.wantReady(t, "m1")
		}
		for route, n := range map[string]int{
			"POST nodes/{id}/interfaces/ create_bridge": 2, "POST nodes/{id}/interfaces/{nic}/ link_subnet": 0,
			"POST vm-hosts/": 2, "DELETE vm-hosts/{id}/": 2, "POST machines/{id}/ deploy": 2,
		} {
			if got := r.sim.Journal().Count(route); got != n {
				t.Errorf("%s: %d times, want %d", route, got, n)
			}
		}
		r.wantNoProject(t)
		r.wantNoDeletes(t)
	})
}

// TestHostOfServer registers an LXD that runs already, and forgets it.
func TestHostOfServer(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		h, err := p.applyHost(newHostRef, serverHost())
		if err != nil || h.VMHost.Name != "hv9" || h.Machine.SystemID == "" || !h.Ours || !h.Finished {
			t.Fatalf("got %+v, %v", h, err)
		}
		r.wantRecord(t, h.Machine.Hostname)
		if err := p.deleteHost(engine.Ref{Key: hostKey, SystemID: h.Machine.SystemID, Finished: true}); err != nil {
			t.Error(err)
		}
		r.wantNoRecord(t)
		for _, m := range r.sim.Machines() {
			if m.SystemID == h.Machine.SystemID {
				t.Errorf("the machine that MAAS made for it is left: %+v", m)
			}
		}
	})
}

// TestHostAdopted: the machine was deployed by an operator, and stays so.
func TestHostAdopted(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		r.deployByOperator(t)
		h, err := p.applyHost(newHostRef, adoptedHost())
		if err != nil || h.Machine.Hostname != "run" || !h.Finished {
			t.Fatalf("got %+v, %v", h, err)
		}
		r.wantRecord(t, "run")
		if err := p.deleteHost(engine.Ref{Key: hostKey, SystemID: h.Machine.SystemID, Finished: true}); err != nil {
			t.Error(err)
		}
		r.wantNoRecord(t)
		if m := r.machine(t, "run"); m.StatusName != "Deployed" || m.Owner == "" || len(m.OwnerData) != 0 || r.sim.Journal().Count("POST machines/{id}/ release") != 0 {
			t.Errorf("it is %s of %q with %v", m.StatusName, m.Owner, m.OwnerData)
		}
		if n := len(r.sim.LXDs()); n != 3 {
			t.Errorf("%d LXDs are left", n)
		}
	})
}

// TestHostFinishedElsewhere: another state must import what is there.
func TestHostFinishedElsewhere(t *testing.T) {
	for name, spec := range map[string]func() engine.HostSpec{"Metal": metalHost, "Server": serverHost, "Adopted": adoptedHost} {
		t.Run(name, func(t *testing.T) {
			inHosts(t, func(t *testing.T, r testMAAS, p process) {
				r.deployByOperator(t)
				h, err := p.applyHost(newHostRef, spec())
				if err != nil {
					t.Fatal(err)
				}
				_, err = r.start(t, ledger.NewMemory(nil), 0, breakage{}).applyHost(newHostRef, spec())
				var bad *engine.SpecError
				way := engine.WayImportLost
				if name == "Server" { // it is found by its address, whoever registered it
					way = engine.WayImport
				}
				if !errors.Is(err, engine.ErrConflict) || !errors.As(err, &bad) || !slices.Contains(bad.Ways, way.ForMachine(h.Machine.SystemID)) {
					t.Errorf("want a conflict with an import hint, got %v", err)
				}
				r.wantRecord(t, h.Machine.Hostname)
			})
		})
	}
}

// TestHostTwoEngines lets two processes make the host of one key at once.
func TestHostTwoEngines(t *testing.T) {
	for name, spec := range map[string]func() engine.HostSpec{"Metal": metalHost, "Server": serverHost, "Adopted": adoptedHost} {
		for _, late := range []time.Duration{0, 300 * time.Millisecond, 3 * time.Second} {
			t.Run(name+late.String(), func(t *testing.T) {
				inHosts(t, func(t *testing.T, r testMAAS, p process) {
					r.deployByOperator(t)
					errs := make([]error, 2)
					var wg sync.WaitGroup
					for i, run := range []process{p, r.start(t, ledger.NewMemory(nil), 0, breakage{})} {
						wg.Go(func() {
							time.Sleep(time.Duration(i) * late)
							_, errs[i] = run.applyHost(newHostRef, spec())
						})
					}
					wg.Wait()
					if errs[0] != nil && errs[1] != nil {
						t.Errorf("want one that gets there, got %v", errs)
					}
					for _, err := range errs {
						if err != nil && !errors.Is(err, engine.ErrConflict) {
							t.Errorf("want a conflict for the slower one, got %v", err)
						}
					}
					if list := r.records(t); len(list) != 1 {
						t.Errorf("want one VM host, got %+v", list)
					}
				})
			})
		}
	}
}

// TestHostTwoKeys lets two keys want one LXD server at once: one gets it.
func TestHostTwoKeys(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		errs := make([]error, 2)
		var wg sync.WaitGroup
		for i, key := range []engine.Key{hostKey, "other/hv"} {
			q := r.start(t, ledger.NewMemory(nil), 0, breakage{})
			wg.Go(func() { _, errs[i] = q.applyHost(engine.Ref{Key: key}, serverHost()) })
		}
		wg.Wait()
		lost := slices.IndexFunc(errs, func(err error) bool { return err != nil })
		if lost < 0 || errs[1-lost] != nil || !errors.Is(errs[lost], engine.ErrConflict) {
			t.Errorf("want one that gets it and one conflict, got %v", errs)
		}
		if list := r.records(t); len(list) != 1 {
			t.Errorf("want one VM host, got %+v", list)
		}
	})
}

// TestHostAddressSpellings: MAAS compares addresses as texts; one LXD gets one
// VM host all the same.
func TestHostAddressSpellings(t *testing.T) {
	for _, spelling := range []string{"10.200.0.9", "10.200.0.9:8443", "https://10.200.0.9", "https://10.200.0.9:8443/"} {
		t.Run(strings.ReplaceAll(spelling, "/", "_"), func(t *testing.T) {
			inHosts(t, func(t *testing.T, r testMAAS, p process) {
				if _, err := p.applyHost(newHostRef, serverHost()); err != nil {
					t.Fatal(err)
				}
				spec := serverHost()
				spec.Address = spelling
				_, err := p.applyHost(engine.Ref{Key: "other/hv"}, spec)
				var bad *engine.SpecError
				if !errors.As(err, &bad) || bad.Field.String() != "address" || !strings.Contains(err.Error(), "hv9") {
					t.Errorf("want a conflict that names hv9, got %v", err)
				}
				if n := len(r.records(t)); n != 1 {
					t.Errorf("%d VM hosts", n)
				}
			})
		})
	}
}

// TestHostGone: this MAAS has no VM hosts any more.
func TestHostGone(t *testing.T) {
	for name, spec := range map[string]func() engine.HostSpec{"Metal": metalHost, "Server": serverHost, "Adopted": adoptedHost} {
		t.Run(name, func(t *testing.T) {
			m := hostWorld()
			m.MAASVersion = sim.VersionGone
			inHostsOf(t, m, func(t *testing.T, r testMAAS, p process) {
				_, err := p.applyHost(newHostRef, spec())
				var refusal *engine.Refusal
				if !errors.As(err, &refusal) || !errors.Is(err, engine.ErrGone) || !strings.Contains(err.Error(), "VM hosts") || refusal.Hint == "" {
					t.Errorf("want a refusal with a hint, got %v", err)
				}
				if w := r.writes(); len(w) != 0 {
					t.Errorf("%v were sent", w)
				}
			})
		})
	}
}

// TestHostDeleteOnGone: MAAS was upgraded, and has forgotten its VM hosts. The
// machine can still be given back.
func TestHostDeleteOnGone(t *testing.T) {
	m := hostWorld()
	m.MAASVersion = sim.VersionGone
	inHostsOf(t, m, func(t *testing.T, r testMAAS, p process) {
		got, err := p.applyMachine(newHostRef, engine.MachineSpec{Machine: "m1", Deploy: noble()})
		if err != nil {
			t.Fatal(err)
		}
		for _, ref := range []engine.Ref{{Key: hostKey, SystemID: got.SystemID}, newHostRef} {
			if err := p.deleteHost(ref); err != nil {
				t.Error(err)
			}
		}
		r.wantReady(t, "m1")
	})
}

// TestHostDeleteAfterUpgrade: nobody tells any more what is on the host, so that
// its machine is given back by force only.
func TestHostDeleteAfterUpgrade(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		_, ref := p.makeHost(t, metalHost())
		p.vmOn(t, "web-1", "m1")
		if err := r.sim.Upgrade(); err != nil {
			t.Fatal(err)
		}
		r.sim.ResetJournal()
		later := r.start(t, newRows(), 0, breakage{})
		var refusal *engine.Refusal
		if err := later.deleteHost(ref); !errors.As(err, &refusal) || !slices.Contains(refusal.Ways, engine.WayAskLXD) {
			t.Errorf("want a refusal that leads to the composer, got %v", err)
		}
		if w := r.writes(); len(w) != 0 || len(r.sim.Instances()) != 1 {
			t.Errorf("%v were sent, %d instances are left", w, len(r.sim.Instances()))
		}
		ref.Release.Force = true
		if err := later.deleteHost(ref); err != nil {
			t.Error(err)
		}
		r.wantReady(t, "m1")
	})
}
