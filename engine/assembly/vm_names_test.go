package assembly_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// namedVM is a VM as Terraform makes it, which waits for its name.
func namedVM(name string) engine.VMSpec {
	spec := smallVM(name, engine.Placement{})
	spec.AwaitName = true
	return spec
}

// namedStory is a VM in a state: how it is known, and how it is to be called next.
type namedStory struct{ was, id, becomes string }

func (l namedStory) ref() engine.Ref {
	ref := engine.Ref{Key: engine.Key("o/" + l.was), Name: l.was, SystemID: l.id, Finished: true}
	if l.becomes != "" && l.becomes != l.was {
		ref.NewKey = engine.Key("o/" + l.becomes)
	}
	return ref
}

// changeAll does what Terraform does in one apply: all at once.
func changeAll(p process, lives []namedStory) []error { return changeBy(p, lives, len(lives)) }

// changeBy changes some at once, in their order, as Terraform does with -parallelism.
func changeBy(p process, lives []namedStory, parallelism int) []error {
	errs := make([]error, len(lives))
	next := make(chan int)
	var changing sync.WaitGroup
	for range parallelism {
		changing.Go(func() {
			for n := range next {
				errs[n] = p.change(lives[n])
			}
		})
	}
	for n := range lives {
		next <- n
	}
	close(next)
	changing.Wait()
	return errs
}

// change creates, deletes or renames one VM.
func (p process) change(l namedStory) error {
	ref, want := l.ref(), namedVM(l.becomes)
	switch {
	case l.becomes == "":
		return p.delete(ref)
	case l.id == "":
		ref = engine.Ref{Key: engine.Key("o/" + l.becomes), Name: l.becomes}
	}
	vm, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(ref, want))
	if err == nil && vm.FQDN != l.becomes+"."+vm.Domain {
		return fmt.Errorf("the VM %s has the FQDN %q", l.becomes, vm.FQDN)
	}
	return err
}

// TestNamesChange renames, deletes and makes VMs side by side, so that each waits
// for the name of another.
func TestNamesChange(t *testing.T) {
	cases := map[string]struct {
		reason string
		change map[string]string // from name to name; "": deleted
		create []string
	}{
		"Reuse":  {"A former name is free for a new VM.", map[string]string{"blue": "blue-old"}, []string{"blue"}},
		"Swap":   {"Two wait for each other.", map[string]string{"fa": "fb", "fb": "fa"}, nil},
		"Circle": {"Three do.", map[string]string{"fa": "fb", "fb": "fc", "fc": "fa"}, nil},
		"Shift":  {"The first line of a list goes.", map[string]string{"sa": "sb", "sb": "sc", "sc": ""}, nil},
		"Grow":   {"A line comes before the others.", map[string]string{"sb": "sa", "sc": "sb"}, []string{"sc"}},
		"Again":  {"The same name at another address of the configuration.", map[string]string{"web": ""}, []string{"web"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := fleetOf(t, 1, 4, "az1") // whose LXD keeps the former names
				rows := ledger.NewMemory(nil)
				p := r.start(t, rows, 0, breakage{})
				var lives []namedStory
				for was, becomes := range tc.change {
					vm, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(engine.Ref{Key: engine.Key("o/" + was), Name: was}, namedVM(was)))
					if err != nil {
						t.Fatal(err)
					}
					lives = append(lives, namedStory{was, vm.SystemID, becomes})
				}
				for _, created := range tc.create {
					lives = append(lives, namedStory{becomes: created})
				}
				began := time.Now()
				for n, err := range changeAll(p, lives) {
					if err != nil {
						t.Errorf("%s\n%+v: %v", tc.reason, lives[n], err)
					}
				}
				if took := time.Since(began); took > 2*time.Minute {
					t.Errorf("%s\nIt took %v", tc.reason, took)
				}
				wantNames(t, r, rows, lives)
			})
		})
	}
}

// TestNameOfAReleasedVM makes a VM by the name of one that is being released. The create looks at
// it every second, and the delete must hear of each change all the same.
func TestNameOfAReleasedVM(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := world()
		m.Latency.Release = 3 * time.Second
		r := inMemoryOf(t, m)
		rows := ledger.NewMemory(nil)
		p := r.start(t, rows, 0, breakage{})
		spec := namedVM("web")
		spec.Deploy = &engine.Deployment{Image: "ubuntu/noble"}
		vm, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(engine.Ref{Key: "o/web", Name: "web"}, spec))
		if err != nil {
			t.Fatal(err)
		}
		lives := []namedStory{{"web", vm.SystemID, ""}, {becomes: "web"}}
		began, errs := time.Now(), make([]error, len(lives))
		var deleted time.Duration
		var changing sync.WaitGroup
		for n, l := range lives {
			changing.Go(func() {
				if errs[n] = p.change(l); l.becomes == "" {
					deleted = time.Since(began)
				}
			})
		}
		changing.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		if deleted > 10*time.Second {
			t.Errorf("the delete took %v beside the create", deleted)
		}
	})
}

// TestNamesShift renames more VMs than Terraform changes at once, so that those which
// wait hold the slots of those which they wait for.
func TestNamesShift(t *testing.T) {
	const vms = 25
	ascending := func(n int) int { return n }
	descending := func(n int) int { return vms - 1 - n }
	scattered := func(n int) int { return n * 2 % vms }
	cases := map[string]struct {
		reason      string
		vms         int
		becomes     func(n int) int
		order       func(n int) int // the n-th to be changed
		parallelism int
		runs        int // after which all have their names
	}{
		"Ascending":  {"Each waits for the next, and the last of ten for one that has not begun.", vms, func(n int) int { return n + 1 }, ascending, 10, 1},
		"Descending": {"Each name is free when its turn comes.", vms, func(n int) int { return n + 1 }, descending, 10, 1},
		"Down":       {"The same towards the front.", vms, func(n int) int { return n - 1 }, descending, 10, 1},
		"Scattered":  {"Nobody in the ten slots waits for another one of them.", vms, func(n int) int { return n + 1 }, scattered, 10, 2},
	}
	name := func(n int) string { return fmt.Sprintf("s%02d", n+1) }
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := fleetOf(t, 3, 9, "az1")
				rows := ledger.NewMemory(nil)
				p := r.start(t, rows, 0, breakage{})
				lives := make([]namedStory, tc.vms)
				for n := range lives {
					at := tc.order(n)
					lives[n] = namedStory{was: name(at), becomes: name(tc.becomes(at))}
				}
				for n, l := range lives {
					vm, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(engine.Ref{Key: engine.Key("o/" + l.was), Name: l.was}, namedVM(l.was)))
					if err != nil {
						t.Fatal(err)
					}
					lives[n].id = vm.SystemID
				}
				for run := 1; run <= tc.runs; run++ {
					began := time.Now()
					for n, err := range changeBy(r.start(t, rows, 0, breakage{}), lives, tc.parallelism) {
						switch {
						case err != nil && run == tc.runs:
							t.Errorf("%s\n%+v: %v", tc.reason, lives[n], err)
						case err != nil && !strings.Contains(errorWithHint(err), string(engine.WayRetry)):
							t.Errorf("%s\nthe error of %+v does not tell the way out: %v", tc.reason, lives[n], err)
						}
					}
					t.Logf("run %d took %v", run, time.Since(began))
					if took := time.Since(began); took > 2*time.Minute {
						t.Errorf("%s\nIt took %v", tc.reason, took)
					}
					for n := range lives { // what a refresh notes: the mark tells the key
						vm, err := p.engine.VMs.Observe(t.Context(), engine.Ref{SystemID: lives[n].id})
						if err != nil {
							t.Fatal(err)
						}
						lives[n].was = strings.TrimPrefix(string(vm.MarkedBy()), "o/")
					}
				}
				wantNames(t, r, rows, lives)
			})
		})
	}
}

// TestNameOfAParkedVM makes a VM by the name of one that waits for the name of a third,
// whose delete takes long. The second has a parking name meanwhile, and still the mark
// of the name that it leaves.
func TestNameOfAParkedVM(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := world()
		m.Latency.Release = 3 * time.Minute
		r := inMemoryOf(t, m)
		rows := ledger.NewMemory(nil)
		p := r.start(t, rows, 0, breakage{})
		lives := []namedStory{{was: "blue", becomes: "blue-old"}, {was: "blue-old"}, {becomes: "blue"}}
		for n, l := range lives[:2] {
			spec := namedVM(l.was)
			if l.becomes == "" {
				spec.Deploy = &engine.Deployment{Image: "ubuntu/noble"}
			}
			vm, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(engine.Ref{Key: engine.Key("o/" + l.was), Name: l.was}, spec))
			if err != nil {
				t.Fatal(err)
			}
			lives[n].id = vm.SystemID
		}
		began := time.Now()
		for n, err := range changeAll(p, lives) {
			if err != nil {
				t.Errorf("%+v: %v", lives[n], err)
			}
		}
		if took := time.Since(began); took < m.Latency.Release {
			t.Errorf("it took %v, so that nothing was waited for", took)
		}
		wantNames(t, r, rows, lives)
	})
}

// errorWithHint is what a user reads of an error: the message and the hint.
func errorWithHint(err error) string {
	if spec, ok := errors.AsType[*engine.SpecError](err); ok {
		return fmt.Sprint(spec.Message, " ", spec.Hint, spec.Ways)
	}
	return err.Error()
}

// wantNames checks that each VM that is left has its name, the mark of that name,
// and one row by it.
func wantNames(t *testing.T, r testMAAS, rows engine.Ledger, lives []namedStory) {
	t.Helper()
	want := 0
	for _, l := range lives {
		if l.becomes == "" {
			continue
		}
		want++
		m := r.machine(t, l.becomes)
		if l.id != "" && m.SystemID != l.id {
			t.Errorf("%s is %s, want %s", l.becomes, m.SystemID, l.id)
		}
		if !strings.HasSuffix(strings.TrimSpace(m.Description), " o/"+l.becomes) {
			t.Errorf("%s says %q", l.becomes, m.Description)
		}
		if row, err := rows.Row(t.Context(), engine.Key("o/"+l.becomes)); err != nil || row.SystemID != m.SystemID {
			t.Errorf("the row of %s: %+v, %v", l.becomes, row, err)
		}
	}
	if all, err := rows.Rows(t.Context()); err != nil || len(all) != want {
		t.Errorf("%d rows, want %d: %+v, %v", len(all), want, all, err)
	}
	if left := r.sim.Instances(); len(left) != want {
		t.Errorf("%d instances, want %d: %+v", len(left), want, left)
	}
}

// TestNameOfAStranger: nobody waits for a name that will not be free.
func TestNameOfAStranger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleetOf(t, 2, 4, "az1")
		p := r.start(t, ledger.NewMemory(nil), 0, breakage{})
		if _, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(engine.Ref{Key: "other/web", Name: "web"}, namedVM("web"))); err != nil {
			t.Fatal(err)
		}
		vm, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(engine.Ref{Key: "o/db", Name: "db"}, namedVM("db")))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		errs := changeAll(p, []namedStory{{"db", vm.SystemID, "web"}, {becomes: "web"}})
		for n, err := range errs {
			var spec *engine.SpecError
			if !errors.As(err, &spec) || spec.Field.String() != "name" || !strings.Contains(err.Error(), r.machine(t, "web").SystemID) {
				t.Errorf("%d: want an error of the name that tells whose it is, got %v", n, err)
			}
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("it took %v", took)
		}
		if m := r.machine(t, "db"); !strings.HasSuffix(m.Description, " o/db") {
			t.Errorf("the mark changed without the name: %q", m.Description)
		}
	})
}

// TestNameOfAFinishedVM: a VM of this owner that nobody renames keeps its name.
func TestNameOfAFinishedVM(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleetOf(t, 2, 4, "az1")
		p := r.start(t, ledger.NewMemory(nil), 0, breakage{})
		create := func() error {
			_, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(engine.Ref{Key: "o/web", Name: "web"}, namedVM("web")))
			return err
		}
		if err := create(); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := create(); !errors.Is(err, engine.ErrConflict) || time.Since(began) > time.Minute {
			t.Errorf("want a conflict within a minute, got %v after %v", err, time.Since(began))
		}
	})
}

// TestRenameCutOff kills a run at each call of a swap. The next one ends it.
func TestRenameCutOff(t *testing.T) {
	for nth := 1; ; nth++ {
		var struck bool
		t.Run(fmt.Sprint("Call", nth), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := fleetOf(t, 2, 4, "az1")
				rows := ledger.NewMemory(nil)
				p := r.start(t, rows, 0, breakage{})
				var lives []namedStory
				for _, l := range []namedStory{{was: "fa", becomes: "fb"}, {was: "fb", becomes: "fa"}} {
					vm, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(engine.Ref{Key: engine.Key("o/" + l.was), Name: l.was}, namedVM(l.was)))
					if err != nil {
						t.Fatal(err)
					}
					l.id = vm.SystemID
					lives = append(lives, l)
				}
				cut := r.start(t, rows, nth, breakage{deadly: true, breaks: killProcess})
				changeAll(cut, lives)
				struck = cut.breaker.brokenCall() != ""
				for n := range lives { // what a refresh notes: the mark tells the key
					vm, err := p.engine.VMs.Observe(t.Context(), engine.Ref{SystemID: lives[n].id})
					if err != nil {
						t.Fatal(err)
					}
					lives[n].was = strings.TrimPrefix(string(vm.MarkedBy()), "o/")
				}
				again := r.start(t, rows, 0, breakage{})
				for n, err := range changeAll(again, lives) {
					if err != nil {
						t.Errorf("%+v: %v", lives[n], err)
					}
				}
				wantNames(t, r, rows, lives)
			})
		})
		if !struck || t.Failed() {
			return
		}
	}
}

// TestFormerNameCutOff kills a run at each call of a create by a former name, whose
// instance is on the same host. The next one ends it, with one VM.
func TestFormerNameCutOff(t *testing.T) {
	for nth := 1; ; nth++ {
		var struck bool
		t.Run(fmt.Sprint("Call", nth), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := fleetOf(t, 1, 4, "az1")
				rows := ledger.NewMemory(nil)
				p := r.start(t, rows, 0, breakage{})
				vm, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(engine.Ref{Key: "o/blue", Name: "blue"}, namedVM("blue")))
				if err != nil {
					t.Fatal(err)
				}
				renamed := namedStory{"blue", vm.SystemID, "blue-old"}
				if err := changeAll(p, []namedStory{renamed})[0]; err != nil {
					t.Fatal(err)
				}
				blue := namedStory{becomes: "blue"}
				cut := r.start(t, rows, nth, breakage{deadly: true, breaks: killProcess})
				changeAll(cut, []namedStory{blue})
				struck = cut.breaker.brokenCall() != ""
				if !struck { // it is finished
					wantNames(t, r, rows, []namedStory{renamed, blue})
					return
				}
				again := r.start(t, rows, 0, breakage{})
				err = changeAll(again, []namedStory{blue})[0]
				m := r.machine(t, "blue")
				if _, finished, _ := strings.Cut(m.Description, "(in progress)"); err != nil && finished != "" {
					t.Errorf("%v, %q", err, m.Description)
				}
				wantNames(t, r, rows, []namedStory{renamed, blue})
			})
		})
		if !struck || t.Failed() {
			return
		}
	}
}

// TestNameOfAnotherThatStays: VMs are to have the names of others that keep them. They wait for
// longer than they keep their own names, and have those again in the end.
func TestNameOfAnotherThatStays(t *testing.T) {
	cases := map[string]struct {
		reason  string
		lives   []namedStory
		locked  bool
		timeout time.Duration // of the run
		killed  bool          // an earlier run died when the VMs had temporary names
	}{
		"One":         {reason: "It gives up.", lives: []namedStory{{was: "web", becomes: "db"}}},
		"Together":    {reason: "The first gives up while the second still waits.", lives: []namedStory{{was: "web", becomes: "db"}, {was: "app", becomes: "db"}}},
		"Protected":   {reason: "MAAS's lock is back, too.", lives: []namedStory{{was: "web", becomes: "db"}, {was: "app", becomes: "db"}}, locked: true},
		"Interrupted": {reason: "The user ends the run, or its time is over.", lives: []namedStory{{was: "web", becomes: "db"}, {was: "app", becomes: "db"}}, timeout: 15 * time.Second},
		"Killed":      {reason: "Only the mark tells the next run the former name.", lives: []namedStory{{was: "web", becomes: "db"}}, killed: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := inMemoryOf(t, world())
				rows := ledger.NewMemory(nil)
				p := r.start(t, rows, 0, breakage{})
				make := func(l namedStory) string {
					spec := namedVM(l.was)
					if tc.locked {
						spec.Deploy, spec.Locked = &engine.Deployment{Image: "ubuntu/noble"}, new(true)
					}
					vm, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(engine.Ref{Key: engine.Key("o/" + l.was), Name: l.was}, spec))
					if err != nil {
						t.Fatal(err)
					}
					return vm.SystemID
				}
				make(namedStory{was: "db"})
				for n, l := range tc.lives {
					tc.lives[n].id = make(l)
					if tc.killed {
						parked := engine.MarkerPrefix + tc.lives[n].id
						r.edit(t, l.was, sim.MachineEdit{Hostname: &parked})
					}
				}
				p.renameInVain(t, tc.lives, tc.timeout, tc.locked)
				for _, l := range tc.lives {
					if m, _ := r.sim.Machine(l.id); m.Hostname != l.was || m.Locked != tc.locked || !strings.HasSuffix(m.Description, " o/"+l.was) {
						t.Errorf("%s\n%s is called %s, locked %v, %q", tc.reason, l.was, m.Hostname, m.Locked, m.Description)
					}
				}
			})
		})
	}
}

// renameInVain renames VMs all at once, and wants an error for each.
func (p process) renameInVain(t *testing.T, lives []namedStory, timeout time.Duration, locked bool) {
	t.Helper()
	if timeout > 0 {
		ctx, cancel := context.WithTimeout(p.ctx, timeout)
		defer cancel()
		p.ctx = ctx
	}
	var renaming sync.WaitGroup
	for _, l := range lives {
		renaming.Go(func() {
			spec := namedVM(l.becomes)
			if locked {
				spec.Deploy, spec.Locked = &engine.Deployment{Image: "ubuntu/noble"}, new(true)
			}
			_, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(l.ref(), spec))
			if timeout > 0 && !errors.Is(err, context.DeadlineExceeded) || timeout == 0 && !errors.Is(err, engine.ErrConflict) {
				t.Errorf("want a conflict, or the end of the time, got %v", err)
			}
		})
	}
	renaming.Wait()
}
