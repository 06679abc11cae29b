package assembly_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/maas"
)

// TestMachineTwoProcesses lets two processes want a machine for one key at the
// same moment, each delayed a little differently.
func TestMachineTwoProcesses(t *testing.T) {
	for delay := range 12 {
		t.Run(fmt.Sprint(delay), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := metalWorld()
				m.Machines = nil
				for i := range 6 {
					m.Machines = append(m.Machines, sim.MachineModel{Hostname: fmt.Sprintf("m%d", i), Cores: 4, MemoryMiB: 8192, DiskGB: 100})
				}
				m.Latency.Call = 100 * time.Millisecond
				r := inMemoryOf(t, m)
				var wg sync.WaitGroup
				specs := []engine.MachineSpec{{Machine: "m3", Deploy: noble()}, {Machine: "m1", Deploy: noble()}}
				errs := make([]error, len(specs))
				for i, spec := range specs {
					p := r.start(t, ledger.NewMemory(nil), 0, breakage{})
					wg.Go(func() {
						time.Sleep(time.Duration(i*delay) * 50 * time.Millisecond)
						_, errs[i] = p.applyMachine(newMachineRef, spec)
					})
				}
				wg.Wait()
				time.Sleep(time.Minute)
				if got := r.acquired(); len(got) != 1 || errs[0] != nil && errs[1] != nil {
					t.Errorf("want one machine of m1 and m3, got %v, %v", got, errs)
				}
				for _, err := range errs {
					if err != nil && !errors.Is(err, engine.ErrConflict) {
						t.Errorf("want a conflict for the slower one, got %v", err)
					}
				}
			})
		})
	}
}

// TestMachineTwoKeys: as many keys as machines, all at once.
func TestMachineTwoKeys(t *testing.T) {
	inMetal(t, func(t *testing.T, r testMAAS, p process) {
		names := make([]string, 4)
		var wg sync.WaitGroup
		for i := range names {
			q := r.start(t, ledger.NewMemory(nil), 0, breakage{})
			wg.Go(func() {
				got, err := q.applyMachine(engine.Ref{Key: engine.Key(fmt.Sprint("default/db-", i))}, engine.MachineSpec{Deploy: noble()})
				if err != nil {
					t.Error(err)
				}
				names[i] = got.Hostname
			})
		}
		wg.Wait()
		slices.Sort(names)
		if diff := cmp.Diff([]string{"half", "pooled", "small", "tagged"}, names); diff != "" {
			t.Errorf("machines (-want +got):\n%s", diff)
		}
	})
}

// TestMachineSurplus: a process died between allocating a second machine and
// giving it back.
func TestMachineSurplus(t *testing.T) {
	two := func(t *testing.T, r testMAAS, p process) engine.BareMetal {
		t.Helper()
		m, err := p.applyMachine(newMachineRef, engine.MachineSpec{Machine: "pooled"})
		if err != nil {
			t.Fatal(err)
		}
		other, err := maas.New(maas.Config{URL: r.url, APIKey: r.sim.APIKey(), Transport: r.sim.RoundTripper()})
		if err != nil {
			t.Fatal(err)
		}
		listed := r.agent(t)
		if err := other.Machines.Allocate(t.Context(), r.machine(t, "small").SystemID, listed); err != nil {
			t.Fatal(err)
		}
		return m
	}
	t.Run("Create", func(t *testing.T) {
		inMetal(t, func(t *testing.T, r testMAAS, p process) {
			two(t, r, p)
			r.edit(t, "pooled", sim.MachineEdit{OwnerData: &map[string]string{}})
			got, err := r.start(t, ledger.NewMemory(nil), 0, breakage{}).applyMachine(newMachineRef, engine.MachineSpec{Deploy: noble()})
			if err != nil {
				t.Error(err)
			}
			time.Sleep(time.Minute)
			if diff := cmp.Diff([]string{got.Hostname}, r.acquired()); diff != "" {
				t.Errorf("acquired (-want +got):\n%s", diff)
			}
		})
	})
	for _, known := range []bool{true, false} {
		t.Run(fmt.Sprint("Delete", known), func(t *testing.T) {
			inMetal(t, func(t *testing.T, r testMAAS, p process) {
				ref := newMachineRef
				if m := two(t, r, p); known {
					ref.SystemID = m.SystemID
				}
				if err := p.release(ref); err != nil {
					t.Error(err)
				}
				r.wantReady(t, "pooled")
				r.wantReady(t, "small")
			})
		})
	}
}

// agent is the word that Allocate has left for metalKey.
func (r testMAAS) agent(t *testing.T) string {
	t.Helper()
	for _, c := range r.sim.Journal().Calls {
		if strings.HasSuffix(c.Route, " allocate") {
			return c.Form["agent_name"][0]
		}
	}
	t.Fatal("nothing was allocated")
	return ""
}
