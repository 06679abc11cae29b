package lxd

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// createRunningVM makes a deployed VM, which runs.
func (w *composeWorld) createRunningVM(t *testing.T, change func(*engine.VMSpec)) (engine.Ref, engine.VMSpec) {
	t.Helper()
	want, ref := newSpec(), web1Ref
	want.Host, want.Resize = "h1", true
	change(&want)
	vm, err := engine.WaitUntilDone(t.Context(), w.newEngine(t).VMs.Steps(ref, want))
	if err != nil {
		t.Fatal(err)
	}
	ref.SystemID, ref.Finished = vm.SystemID, true
	return ref, want
}

// onlyInstance returns the only instance, and the machine web1 in MAAS.
func (w *composeWorld) onlyInstance(t *testing.T) (sim.Instance, sim.Machine) {
	t.Helper()
	var found []sim.Machine
	for _, m := range w.sim.Machines() {
		if m.Hostname == "web1" {
			found = append(found, m)
		}
	}
	all := w.sim.Instances()
	if len(all) != 1 || len(found) != 1 {
		t.Fatalf("%d instances, %d machines", len(all), len(found))
	}
	return all[0], found[0]
}

// TestStopToResize resizes running VMs.
func TestStopToResize(t *testing.T) {
	t.Parallel()
	refusal := sim.Fault{Method: "PUT", Path: "lxd/h1/1.0/**", Kind: sim.FaultStatus, Status: http.StatusBadRequest}
	cases := map[string]struct {
		reason string
		made   func(*engine.VMSpec)
		change func(*engine.VMSpec)
		fault  *sim.Fault
		memory int64
		runs   bool
		locked bool
		refuse bool
	}{
		"Allowed":   {"It is stopped, changed and started.", func(*engine.VMSpec) {}, func(s *engine.VMSpec) { s.MayStop = true }, nil, 4096, true, false, false},
		"Forbidden": {"It is left as it is.", func(*engine.VMSpec) {}, func(*engine.VMSpec) {}, nil, 2048, true, false, true},
		"KeptOn":    {"A VM that is to be on is on afterwards.", func(s *engine.VMSpec) { s.Power = "on" }, func(s *engine.VMSpec) { s.MayStop = true }, nil, 4096, true, false, false},
		"TurnedOff": {"One that is to be off is stopped in any case.", func(*engine.VMSpec) {}, func(s *engine.VMSpec) { s.Power = "off" }, nil, 4096, false, false, false},
		"Off":       {"One that is off stays off.", func(s *engine.VMSpec) { s.Power = "off" }, func(s *engine.VMSpec) { s.Power, s.MayStop = "", true }, nil, 4096, false, false, false},
		"Locked":    {"The lock comes back.", func(s *engine.VMSpec) { s.Locked = new(true) }, func(s *engine.VMSpec) { s.MayStop = true }, nil, 4096, true, true, false},
		"Refused":   {"What LXD refuses does not leave the VM off, nor unlocked.", func(s *engine.VMSpec) { s.Locked = new(true) }, func(s *engine.VMSpec) { s.MayStop = true }, &refusal, 2048, true, true, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			ref, want := w.createRunningVM(t, tc.made)
			want.MemoryMiB = 4096
			tc.change(&want)
			if tc.fault != nil {
				w.sim.AddFault(*tc.fault)
			}
			_, err := engine.WaitUntilDone(t.Context(), w.newEngine(t).VMs.Steps(ref, want))
			if tc.refuse != (err != nil) {
				t.Errorf("%s\ngot %v", tc.reason, err)
			}
			deadline := time.Now().Add(10 * time.Second)
			i, m := w.onlyInstance(t)
			for i.Running != tc.runs && time.Now().Before(deadline) { // it is started after the error
				time.Sleep(20 * time.Millisecond)
				i, m = w.onlyInstance(t)
			}
			if i.MemoryMiB != tc.memory || i.Running != tc.runs || m.Locked != tc.locked {
				t.Errorf("%s\n%d MiB, running %v, locked %v; want %d, %v, %v", tc.reason, i.MemoryMiB, i.Running, m.Locked, tc.memory, tc.runs, tc.locked)
			}
			if !tc.refuse && m.OwnerData[engine.RestartData] != "" {
				t.Errorf("%s\nit is noted still that the VM is to be turned on", tc.reason)
			}
		})
	}
}

// TestStopGivenUp: the caller stops waiting while the VM is off, and LXD does not change it. The
// VM runs again, and nothing says any more that it must be turned on.
func TestStopGivenUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	ref, want := w.createRunningVM(t, func(*engine.VMSpec) {})
	want.MemoryMiB, want.MayStop = 4096, true
	w.sim.AddFault(sim.Fault{Method: "PUT", Path: "lxd/h1/1.0/**", Kind: sim.FaultStatus, Status: http.StatusServiceUnavailable})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	wasOff := false
	_, err := engine.WaitUntilDone(ctx, w.newEngine(t).VMs.Steps(ref, want), func(engine.Progress) {
		if i, _ := w.onlyInstance(t); !i.Running {
			wasOff = true
			cancel()
		}
	})
	if err == nil || !wasOff {
		t.Fatalf("it was off %v, and ended with %v", wasOff, err)
	}
	if i, m := w.onlyInstance(t); !i.Running || i.MemoryMiB != 2048 || m.OwnerData[engine.RestartData] != "" {
		t.Errorf("running %v, %d MiB, owner data %v", i.Running, i.MemoryMiB, m.OwnerData)
	}
}

// TestStopCutOff ends the run that stopped a VM, at each of its steps. The next run wants
// the same size, or finds it reached. In the end the VM runs.
func TestStopCutOff(t *testing.T) {
	t.Parallel()
	for steps := 1; steps <= 4; steps++ {
		w := newWorld(t, 1)
		ref, want := w.createRunningVM(t, func(*engine.VMSpec) {})
		want.MemoryMiB, want.MayStop = 4096, true
		first := w.newEngine(t)
		for range steps {
			res, err := first.VMs.Reconcile(t.Context(), ref, want)
			if err != nil && !errors.Is(err, engine.ErrBusy) {
				t.Fatal(err)
			}
			if res.Done {
				break
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			select {
			case <-res.Changed:
			case <-ctx.Done():
			}
			cancel()
		}
		vm, err := w.newEngineWith(t, ledger.NewMemory(nil)).VMs.Observe(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		if i, _ := w.onlyInstance(t); !i.Running && !vm.RestartPending {
			t.Errorf("after %d steps nobody knows that the VM is to be turned on", steps)
		}
		want.Resize = vm.MemoryMiB != want.MemoryMiB
		if _, err := engine.WaitUntilDone(t.Context(), w.newEngine(t).VMs.Steps(ref, want)); err != nil {
			t.Errorf("after %d steps: %v", steps, err)
		}
		if i, m := w.onlyInstance(t); !i.Running || i.MemoryMiB != 4096 || m.OwnerData[engine.RestartData] != "" {
			t.Errorf("after %d steps: running %v, %d MiB, owner data %v", steps, i.Running, i.MemoryMiB, m.OwnerData)
		}
	}
}
