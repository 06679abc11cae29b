package assembly_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/assembly"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/maas"
)

// TestClockJumps puts the clock forward or back after a compose whose reply was lost:
// the next one is sent when MAAS's time for the first is over, and no earlier.
func TestClockJumps(t *testing.T) {
	for name, jump := range map[string]time.Duration{"Forward": 3 * time.Minute, "Back": -time.Hour, "Stays": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := fleetOf(t, 2, 4, "az1")
				var jumped atomic.Int64
				now := func() time.Time { return time.Now().Add(time.Duration(jumped.Load())).Round(0) }
				rows := ledger.NewMemory(now)
				t.Cleanup(func() { rows.Close() })
				e := r.withClock(t, rows, now)
				ref := engine.Ref{Key: "o/web", Name: "web"}
				r.sim.AddFault(sim.Fault{Method: "POST", Path: "vm-hosts/*/", Op: "compose", Times: 1, Kind: sim.FaultReset, When: sim.FaultBeforeEffect})
				if _, err := e.VMs.Reconcile(t.Context(), ref, smallVM("web", engine.Placement{})); err == nil {
					t.Fatal("the reply was not lost")
				}
				sent := time.Now()
				jumped.Store(int64(jump))
				for r.sim.Journal().Count("POST vm-hosts/{id}/ compose") < 2 && time.Since(sent) < 10*time.Minute {
					_, _ = e.VMs.Reconcile(t.Context(), ref, smallVM("web", engine.Placement{}))
					time.Sleep(time.Second)
				}
				if took := time.Since(sent); took < 130*time.Second || took > 150*time.Second {
					t.Errorf("the second compose came after %v", took)
				}
			})
		})
	}
}

// withClock is an engine on a machine with a clock of its own.
func (r testMAAS) withClock(t *testing.T, rows engine.Ledger, now func() time.Time) *assembly.Engine {
	t.Helper()
	client, err := maas.New(maas.Config{URL: r.url, APIKey: r.sim.APIKey(), Transport: r.sim.RoundTripper(), Interval: r.interval, Ledger: rows})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	e, err := assembly.New(engine.Config{
		Machines: client.Machines, Composer: client.Hosts, Names: client.Names, Catalog: client.Catalog, Metal: client.Machines, Registrar: client.Hosts, Ledger: rows, Now: now,
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestClockOfAnotherMachine loses the reply to a compose of one machine, and goes on from
// another one whose clock is wrong. The ledger's clock counts.
func TestClockOfAnotherMachine(t *testing.T) {
	for name, off := range map[string]time.Duration{"Ahead": time.Hour, "Behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := fleetOf(t, 2, 4, "az1")
				rows := ledger.NewMemory(nil)
				t.Cleanup(func() { rows.Close() })
				ref := engine.Ref{Key: "o/web", Name: "web"}
				r.sim.AddFault(sim.Fault{Method: "POST", Path: "vm-hosts/*/", Op: "compose", Times: 1, Kind: sim.FaultReset, When: sim.FaultBeforeEffect})
				if _, err := r.withClock(t, rows, time.Now).VMs.Reconcile(t.Context(), ref, smallVM("web", engine.Placement{})); err == nil {
					t.Fatal("the reply was not lost")
				}
				sent := time.Now()
				other := r.withClock(t, rows, func() time.Time { return time.Now().Add(off) })
				for r.sim.Journal().Count("POST vm-hosts/{id}/ compose") < 2 && time.Since(sent) < 10*time.Minute {
					_, _ = other.VMs.Reconcile(t.Context(), ref, smallVM("web", engine.Placement{}))
					time.Sleep(time.Second)
				}
				if took := time.Since(sent); took < 130*time.Second || took > 150*time.Second {
					t.Errorf("the other machine's compose came after %v", took)
				}
			})
		})
	}
}
