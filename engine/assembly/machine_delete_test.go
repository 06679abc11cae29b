package assembly_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/maas"
)

// stepUntil steps a create until the machine has a status.
func (p process) stepUntil(t *testing.T, status engine.Status, want engine.MachineSpec) engine.Ref {
	t.Helper()
	ref := newMachineRef
	for range 100 {
		res, err := p.engine.Machines.Reconcile(p.ctx, ref, want)
		if err != nil {
			t.Fatal(err)
		}
		ref.SystemID = res.Object.SystemID
		if m, err := p.engine.Machines.Observe(p.ctx, ref); err == nil && m.Status == status {
			return ref
		}
		time.Sleep(time.Second)
	}
	t.Fatalf("the machine never had the status %d", status)
	return ref
}

func TestMachineDeleteInEveryState(t *testing.T) {
	spec := engine.MachineSpec{Machine: "small", Deploy: noble()}
	until := func(status engine.Status) func(*testing.T, testMAAS, process) engine.Ref {
		return func(t *testing.T, _ testMAAS, p process) engine.Ref { return p.stepUntil(t, status, spec) }
	}
	edit := func(status string) func(*testing.T, testMAAS, process) engine.Ref {
		return func(t *testing.T, r testMAAS, p process) engine.Ref {
			ref := p.stepUntil(t, engine.StatusDeployed, spec)
			r.edit(t, "small", sim.MachineEdit{StatusName: &status})
			return ref
		}
	}
	post := func(op string) func(*testing.T, testMAAS, process) engine.Ref {
		return func(t *testing.T, r testMAAS, p process) engine.Ref {
			ref := p.stepUntil(t, engine.StatusDeployed, spec)
			r.post(t, "machines/"+ref.SystemID+"/", op)
			return ref
		}
	}
	cases := map[string]struct {
		reason  string
		prepare func(*testing.T, testMAAS, process) engine.Ref
		writes  []string // operations, in their order; "": the description is written
	}{
		"Allocated": {"It was left so.", func(t *testing.T, _ testMAAS, p process) engine.Ref {
			return p.stepUntil(t, engine.StatusAllocated, engine.MachineSpec{Machine: "small"})
		}, []string{"release"}},
		"Deploying": {"What is under way is stopped first.", until(engine.StatusDeploying), []string{"abort", "release"}},
		"Deployed":  {"The plain case.", until(engine.StatusDeployed), []string{"release"}},
		"FailedDeployment": {"It never came to be.", func(t *testing.T, r testMAAS, p process) engine.Ref {
			ref := p.stepUntil(t, engine.StatusDeploying, spec)
			if err := r.sim.FailMachine(ref.SystemID, "disk on fire"); err != nil {
				t.Fatal(err)
			}
			return ref
		}, []string{"", "release"}}, // noted first, so that it is chosen last
		"Broken":              {"An operator said so; MAAS took its owner away.", post("mark_broken"), []string{"release"}},
		"RescueMode":          {"MAAS does not release from it.", post("rescue_mode"), []string{"exit_rescue_mode", "release"}},
		"FailedToEnterRescue": {"It is led out as from rescue mode.", edit("Failed to enter rescue mode"), []string{"exit_rescue_mode", "release"}},
		"FailedToExitRescue":  {"Its power is as it should be.", edit("Failed to exit rescue mode"), []string{"exit_rescue_mode", "release"}},
		"Testing":             {"It is stopped first.", edit("Testing"), []string{"abort", "release"}},
		"Releasing":           {"Someone did already.", post("release"), nil},
		"FailedReleasing": {"MAAS failed at it; the marks are gone.", func(t *testing.T, r testMAAS, p process) engine.Ref {
			ref := p.stepUntil(t, engine.StatusDeployed, spec)
			r.post(t, "machines/"+ref.SystemID+"/", "release")
			if err := r.sim.FailMachine(ref.SystemID, "power cable bitten through"); err != nil {
				t.Fatal(err)
			}
			return ref
		}, []string{"release"}},
		"Ready": {"Someone released it.", func(t *testing.T, r testMAAS, p process) engine.Ref {
			ref := p.stepUntil(t, engine.StatusDeployed, spec)
			r.post(t, "machines/"+ref.SystemID+"/", "release")
			time.Sleep(time.Minute)
			return ref
		}, nil},
		"Gone": {"Its record was deleted.", func(t *testing.T, r testMAAS, p process) engine.Ref {
			ref := p.stepUntil(t, engine.StatusDeployed, spec)
			if err := r.sim.DeleteMachine(ref.SystemID); err != nil {
				t.Fatal(err)
			}
			return ref
		}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inMetal(t, func(t *testing.T, r testMAAS, p process) {
				ref := tc.prepare(t, r, p)
				r.sim.ResetJournal()
				for _, which := range []string{"first", "second"} {
					if err := p.release(ref); err != nil {
						t.Errorf("%s\n%s delete: %v", tc.reason, which, err)
					}
				}
				var want []string
				for _, op := range tc.writes {
					if op == "" {
						want = append(want, "PUT machines/{id}/")
						continue
					}
					want = append(want, "POST machines/{id}/ "+op)
				}
				if diff := cmp.Diff(want, r.writes()); diff != "" {
					t.Errorf("%s\nwrites (-want +got):\n%s", tc.reason, diff)
				}
				r.wantNoDeletes(t)
				if name != "Gone" {
					r.wantReady(t, "small")
				}
			})
		})
	}
}

// TestMachineDeleteRescuedAndOn turns a machine off before it is led out of rescue mode again.
// MAAS does not change the power of a formerly Allocated machine, and fails because it is on.
func TestMachineDeleteRescuedAndOn(t *testing.T) {
	inMetal(t, func(t *testing.T, r testMAAS, p process) {
		ref := p.stepUntil(t, engine.StatusAllocated, engine.MachineSpec{Machine: "small"})
		failed, on, off := "Failed to exit rescue mode", "on", "off"
		r.edit(t, "small", sim.MachineEdit{StatusName: &failed, PowerState: &on})
		r.sim.ResetJournal()
		if _, err := p.engine.Machines.Delete(p.ctx, ref); err != nil {
			t.Fatal(err)
		}
		r.edit(t, "small", sim.MachineEdit{PowerState: &off})
		if err := p.release(ref); err != nil {
			t.Fatal(err)
		}
		want := []string{"POST machines/{id}/ power_off", "POST machines/{id}/ exit_rescue_mode", "POST machines/{id}/ release"}
		if diff := cmp.Diff(want, r.writes()); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
		r.wantReady(t, "small")
	})
}

// TestMachineDeleteRescueBound gives up on a machine that MAAS does not lead out of
// rescue mode, after three exits.
func TestMachineDeleteRescueBound(t *testing.T) {
	inMetal(t, func(t *testing.T, r testMAAS, p process) {
		ref := p.stepUntil(t, engine.StatusAllocated, engine.MachineSpec{Machine: "small"})
		failed, off := "Failed to exit rescue mode", "off"
		spoil := func() { r.edit(t, "small", sim.MachineEdit{StatusName: &failed, PowerState: &off}) }
		spoil()
		r.sim.ResetJournal()
		for exit := range 4 {
			_, err := p.engine.Machines.Delete(p.ctx, ref)
			if gaveUp := err != nil; gaveUp != (exit == 3) {
				t.Errorf("exit %d: error %v", exit+1, err)
			}
			spoil()
		}
		if got := r.writes(); len(got) != 3 {
			t.Errorf("writes %q, want three exits", got)
		}
	})
}

// takenByOther allocates the machine for another user of MAAS.
func (r testMAAS) takenByOther(t *testing.T, ref engine.Ref) {
	t.Helper()
	other, err := maas.New(maas.Config{URL: r.url, APIKey: r.sim.UserAPIKey(), Transport: r.sim.RoundTripper()})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Machines.Allocate(t.Context(), ref.SystemID, "someone"); err != nil {
		t.Fatal(err)
	}
}

// TestMachineReleasedAndTaken releases a machine with the key of a user who is no administrator.
// The administrator allocates it at once, and MAAS then hides it from the user.
func TestMachineReleasedAndTaken(t *testing.T) {
	inMetal(t, func(t *testing.T, r testMAAS, _ process) {
		r.apiKey = r.sim.UserAPIKey()
		p := r.start(t, newRows(), 0, breakage{})
		ref := p.stepUntil(t, engine.StatusDeployed, engine.MachineSpec{Machine: "small", Deploy: noble()})
		ref.Finished = true
		if res, err := p.engine.Machines.Delete(p.ctx, ref); err != nil || res.Done {
			t.Fatalf("the first step: done %t, %v", res.Done, err)
		}
		time.Sleep(time.Minute)
		r.call(t, "POST", "machines/?op=allocate", map[string][]string{"system_id": {ref.SystemID}})
		if err := p.release(ref); err != nil {
			t.Error(err)
		}
		if m := r.machine(t, "small"); m.StatusName != "Allocated" || m.Owner != "admin" {
			t.Errorf("small is %s of %q", m.StatusName, m.Owner)
		}
		if err := p.release(ref); !errors.Is(err, engine.ErrHidden) {
			t.Errorf("a delete without a release of ours: %v", err)
		}
	})
}

// TestHiddenMachineIsNamed names a machine that MAAS hides from the user of the API key.
func TestHiddenMachineIsNamed(t *testing.T) {
	inMetal(t, func(t *testing.T, r testMAAS, _ process) {
		r.apiKey = r.sim.UserAPIKey()
		_, err := r.start(t, newRows(), 0, breakage{}).applyMachine(newMachineRef, engine.MachineSpec{Machine: "nosuch", Deploy: noble()})
		var bad *engine.SpecError
		if !errors.As(err, &bad) || bad.Field.String() != "machine" || !strings.Contains(bad.Message, `"nosuch"`) || !strings.Contains(bad.Hint, "only to administrators") {
			t.Errorf("want an error of the attribute machine, got %v", err)
		}
	})
}

// TestMachineNotReleased wants what is not ours left alone.
func TestMachineNotReleased(t *testing.T) {
	cases := map[string]struct {
		reason  string
		change  func(*testing.T, testMAAS, engine.Ref)
		refused bool // else it is done: nothing of ours is there
		words   string
	}{
		"Locked": {"A lock is a wish.", func(t *testing.T, r testMAAS, _ engine.Ref) {
			r.edit(t, "small", sim.MachineEdit{Locked: ptr(true)})
		}, true, "locked"},
		"OtherKey": {"It says whose it is.", func(t *testing.T, r testMAAS, _ engine.Ref) {
			r.edit(t, "small", sim.MachineEdit{OwnerData: &map[string]string{"maaslxd-key": "team-b/db", "maaslxd-state": "finished"}})
		}, true, "team-b/db"},
		"Redeployed": {"An operator released it and installed something else.", func(t *testing.T, r testMAAS, ref engine.Ref) {
			r.post(t, "machines/"+ref.SystemID+"/", "release")
			time.Sleep(time.Minute)
			r.post(t, "machines/"+ref.SystemID+"/", "deploy")
			time.Sleep(time.Minute)
		}, false, ""},
		"OtherUser": {"Another user of MAAS allocated it since.", func(t *testing.T, r testMAAS, ref engine.Ref) {
			r.post(t, "machines/"+ref.SystemID+"/", "release")
			time.Sleep(time.Minute)
			r.takenByOther(t, ref)
		}, false, ""},
		"OtherUserErasing": {"Another user wants its disks erased, which MAAS failed at.", func(t *testing.T, r testMAAS, ref engine.Ref) {
			r.post(t, "machines/"+ref.SystemID+"/", "release")
			time.Sleep(time.Minute)
			r.takenByOther(t, ref)
			r.edit(t, "small", sim.MachineEdit{StatusName: ptr("Failed disk erasing")})
		}, true, "acquired outside"},
		"OtherUserReleasing": {"Another user's release failed.", func(t *testing.T, r testMAAS, ref engine.Ref) {
			r.post(t, "machines/"+ref.SystemID+"/", "release")
			time.Sleep(time.Minute)
			r.takenByOther(t, ref)
			r.edit(t, "small", sim.MachineEdit{StatusName: ptr("Releasing failed")})
		}, true, "acquired outside"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inMetal(t, func(t *testing.T, r testMAAS, p process) {
				ref := p.stepUntil(t, engine.StatusDeployed, engine.MachineSpec{Machine: "small", Deploy: noble()})
				ref.Finished = true
				tc.change(t, r, ref)
				before := r.machine(t, "small")
				r.sim.ResetJournal()
				err := p.release(ref)
				var refusal *engine.Refusal
				switch {
				case tc.refused && (!errors.As(err, &refusal) || refusal.Hint == "" || !strings.Contains(err.Error(), tc.words)):
					t.Errorf("%s\nwant a refusal that says %s, got %v", tc.reason, tc.words, err)
				case !tc.refused && err != nil:
					t.Errorf("%s\n%v", tc.reason, err)
				}
				if diff := cmp.Diff(before, r.machine(t, "small")); diff != "" || len(r.writes()) != 0 {
					t.Errorf("%s\n%v changed it (-before +after):\n%s", tc.reason, r.writes(), diff)
				}
			})
		})
	}
}

// TestMachineUnmarked: owner data can be removed by hand; the agent name that
// came with the allocation cannot.
func TestMachineUnmarked(t *testing.T) {
	inMetal(t, func(t *testing.T, r testMAAS, p process) {
		ref := p.stepUntil(t, engine.StatusDeployed, engine.MachineSpec{Machine: "small", Deploy: noble()})
		r.edit(t, "small", sim.MachineEdit{OwnerData: &map[string]string{}})
		if err := p.release(ref); err != nil {
			t.Error(err)
		}
		r.wantReady(t, "small")
	})
}

// TestMachineReleaseFails wants an end, in MAAS's words, where MAAS fails at
// each release.
func TestMachineReleaseFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := metalWorld()
		m.Latency.Release = time.Hour
		r := inMemoryOf(t, m)
		p := r.start(t, ledger.NewMemory(nil), 0, breakage{})
		ref := p.stepUntil(t, engine.StatusDeployed, engine.MachineSpec{Machine: "small", Deploy: noble()})
		go func() {
			for range 100 {
				time.Sleep(5 * time.Second)
				r.sim.FailMachine(ref.SystemID, "power cable bitten through") //nolint:errcheck // nothing may be under way
			}
		}()
		err := p.release(ref)
		var refusal *engine.Refusal
		if !errors.As(err, &refusal) || !strings.Contains(err.Error(), "bitten through") {
			t.Errorf("want a refusal with MAAS's words, got %v", err)
		}
		if n := r.sim.Journal().Count("POST machines/{id}/ release"); n < 2 || n > 4 {
			t.Errorf("%d releases, want a few", n)
		}
		time.Sleep(time.Hour)
	})
}

// TestMachineWhatRanIsLeftAlone wants a finished machine reported, whatever
// state it is in.
func TestMachineWhatRanIsLeftAlone(t *testing.T) {
	states := []string{
		"Broken", "Rescue mode", "Testing", "Failed deployment", "Failed testing", "New", "Ready", "Allocated", "Deploying", "Releasing", "Deployed",
	}
	for _, status := range states {
		for _, marks := range []string{"Marked", "Unmarked"} {
			t.Run(status+marks, func(t *testing.T) {
				inMetal(t, func(t *testing.T, r testMAAS, p process) {
					spec := engine.MachineSpec{Machine: "small", Deploy: noble()}
					ref := p.stepUntil(t, engine.StatusDeployed, spec)
					edit := sim.MachineEdit{StatusName: &status, PowerState: ptr("off")}
					if marks == "Unmarked" {
						edit.OwnerData = &map[string]string{}
					}
					ref.Finished = marks == "Unmarked" // else its own mark says so
					r.edit(t, "small", edit)
					r.sim.ResetJournal()
					res, err := p.engine.Machines.Reconcile(t.Context(), ref, spec)
					if err != nil || !res.Done || res.Object.StatusName != status || res.Object.Ours != (marks == "Marked") {
						t.Errorf("want it reported as %s, got %+v, %v", status, res, err)
					}
					if w := r.writes(); len(w) != 0 {
						t.Errorf("%v were sent", w)
					}
				})
			})
		}
	}
}

// TestMachineFailedDeployment wants MAAS's own words, and the machine left for
// people to look at.
func TestMachineFailedDeployment(t *testing.T) {
	inMetal(t, func(t *testing.T, r testMAAS, p process) {
		spec := engine.MachineSpec{Machine: "small", Deploy: noble()}
		ref := p.stepUntil(t, engine.StatusDeploying, spec)
		if err := r.sim.FailMachine(ref.SystemID, "disk on fire"); err != nil {
			t.Fatal(err)
		}
		got, err := p.applyMachine(ref, spec)
		var refusal *engine.Refusal
		if !errors.As(err, &refusal) || !strings.Contains(err.Error(), "disk on fire") || refusal.Hint == "" || got.SystemID != ref.SystemID {
			t.Errorf("want MAAS's words and the machine, got %v, %+v", err, got.SystemID)
		}
		if m := r.machine(t, "small"); m.StatusName != "Failed deployment" || m.Owner == "" {
			t.Errorf("it is %s of %q", m.StatusName, m.Owner)
		}
	})
}

// TestMachineGone: a machine whose record was deleted is for the caller to
// replace.
func TestMachineGone(t *testing.T) {
	inMetal(t, func(t *testing.T, r testMAAS, p process) {
		spec := engine.MachineSpec{Machine: "small", Deploy: noble()}
		ref := p.stepUntil(t, engine.StatusDeployed, spec)
		if err := r.sim.DeleteMachine(ref.SystemID); err != nil {
			t.Fatal(err)
		}
		if _, err := p.applyMachine(ref, spec); !errors.Is(err, engine.ErrNotFound) || !engine.IsTerminal(err) {
			t.Errorf("want ErrNotFound, and no repetition, got %v", err)
		}
		if _, err := p.engine.Machines.Observe(t.Context(), ref); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("Observe: %v", err)
		}
		if len(r.acquired()) != 0 {
			t.Errorf("%v was taken instead", r.acquired())
		}
	})
}
