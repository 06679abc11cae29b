package lxd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
)

// TestVMsLife makes a VM, finds it from another process, and removes it.
func TestVMsLife(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	ctx := t.Context()
	begun := 0
	comp := newComposition("web1")
	comp.BeforeSend = func(_ context.Context) error { begun++; return nil }
	id := w.composeVM(w.composer, comp)
	if diff := cmp.Diff([]string{"instance web1 on h1", "machine web1"}, w.listObjects()); diff != "" || begun != 1 {
		t.Errorf("begun %d times; there is (-want +got):\n%s", begun, diff)
	}
	m, err := w.maas.Machines.Machine(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	if m.Status != engine.StatusNew || m.Description != comp.Description || m.Zone != "az1" || len(m.Interfaces) != 1 {
		t.Errorf("the machine is %+v", m)
	}
	other := w.newComposer()
	host, err := other.HostOf(ctx, m)
	if diff := cmp.Diff(engine.VMHost{Name: "h1", MachineID: "host01", HostKey: "host01", Zone: "az1", Pool: "default", Tags: []string{"b", "a"}, Project: "maas"}, host); diff != "" || err != nil {
		t.Errorf("its host, from another process: %v (-want +got):\n%s", err, diff)
	}
	for range 2 { // an absent one is no error
		if err := other.Decompose(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string(nil), w.listObjects()); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	w.wantVolumes(t) // none: the data disks went, too
}

// TestCalls counts the calls for a VM, besides the shared inventory.
func TestCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	ctx := t.Context()
	counted := func(what string, do func() error, want ...string) {
		t.Helper()
		w.sim.ResetJournal()
		if err := do(); err != nil {
			t.Fatal(err)
		}
		var got []string
		j := w.sim.Journal()
		for _, c := range slices.Concat(j.LXD.Calls, j.Calls) {
			got = append(got, c.Route)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	hosts := func() error { _, err := w.composer.Hosts(ctx); return err }
	counted("an inventory", hosts, "GET 1.0", "GET 1.0/resources", "GET 1.0/projects", "GET 1.0/networks", "GET 1.0/profiles",
		"GET 1.0/storage-pools", "GET 1.0/storage-pools/{name}/resources", "GET 1.0/storage-pools/{name}/resources", "GET 1.0/instances", "GET 1.0/instances")
	counted("the same again", hosts)
	small := newComposition("web1")
	small.Disks = small.Disks[:1]
	var id string
	counted("a VM", func() (err error) {
		id, err = w.composer.Compose(ctx, engine.VMHost{MachineID: "host01"}, small)
		return err
	}, "POST 1.0/instances", "GET 1.0/operations/{id}/wait", "POST machines/")
	counted("its end", func() error { return w.composer.Decompose(ctx, id) },
		"GET 1.0/instances/{name}", "DELETE 1.0/instances/{name}", "GET 1.0/operations/{id}/wait", "GET machines/", "DELETE machines/{id}/")
}

// fault is one way to break a call.
type fault struct {
	path, method string
	nth          int
	kind, when   string
}

func (f fault) name() string {
	return fmt.Sprintf("%s %s %d %s %s", f.method, f.path, f.nth, f.when, f.kind)
}

func (f fault) inject(s *sim.Sim) {
	s.AddFault(sim.Fault{Path: f.path, Method: f.method, Nth: f.nth, Times: 1, Kind: f.kind, When: f.when, Status: 500})
}

// faults breaks each of the first calls to either side, before and after its effect.
func faults(lxdCalls int, maas ...fault) []fault {
	var all []fault
	for _, how := range []fault{
		{kind: sim.FaultStatus, when: sim.FaultBeforeEffect}, {kind: sim.FaultReset, when: sim.FaultBeforeEffect},
		{kind: sim.FaultReset, when: sim.FaultAfterEffect}, {kind: sim.FaultLostReply, when: sim.FaultAfterEffect},
	} {
		for n := range lxdCalls {
			all = append(all, fault{path: "lxd/*/**", nth: n + 1, kind: how.kind, when: how.when})
		}
		for _, f := range maas {
			all = append(all, fault{path: f.path, method: f.method, nth: 1, kind: how.kind, when: how.when})
		}
	}
	return all
}

// TestComposeFailEverywhere breaks each call of a compose once. If the error is not
// ErrUnclear, nothing is left behind. In every case another process then makes exactly one
// VM.
func TestComposeFailEverywhere(t *testing.T) {
	t.Parallel()
	whole := []string{"instance web1 on h1", "machine web1"}
	for _, f := range faults(4, fault{path: "machines/", method: "POST"}) {
		t.Run(f.name(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			if _, err := w.composer.Hosts(t.Context()); err != nil {
				t.Fatal(err)
			}
			f.inject(w.sim)
			_, err := w.composer.Compose(t.Context(), engine.VMHost{MachineID: "host01"}, newComposition("web1"))
			switch got := w.listObjects(); {
			case err == nil:
				if diff := cmp.Diff(whole, got); diff != "" {
					t.Errorf("made, but (-want +got):\n%s", diff)
				}
				return
			case !errors.Is(err, engine.ErrUnclear) && len(got) != 0:
				t.Errorf("left %v with the clear error %v", got, err)
			}
			w.sim.ClearFaults()
			w.composeVM(w.newComposer(), newComposition("web1"))
			if diff := cmp.Diff(whole, w.listObjects()); diff != "" {
				t.Errorf("after %v, another try made (-want +got):\n%s", err, diff)
			}
			w.wantVolumes(t, "web1-disk1")
		})
	}
}

// TestDecomposeFailEverywhere breaks each call of a removal once. Then another process
// finishes the removal.
func TestDecomposeFailEverywhere(t *testing.T) {
	t.Parallel()
	for _, f := range faults(6, fault{path: "machines/*/", method: "DELETE"}) {
		t.Run(f.name(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			id := w.composeVM(w.composer, newComposition("web1"))
			f.inject(w.sim)
			err := w.composer.Decompose(t.Context(), id)
			w.sim.ClearFaults()
			if err != nil {
				if again := w.newComposer().Decompose(t.Context(), id); again != nil {
					t.Fatalf("after %v: %v", err, again)
				}
			}
			if diff := cmp.Diff([]string(nil), w.listObjects()); diff != "" {
				t.Errorf("after %v, left (-want +got):\n%s", err, diff)
			}
			w.wantVolumes(t)
		})
	}
}

// wantVolumes checks which custom volumes exist.
func (w *composeWorld) wantVolumes(t *testing.T, want ...string) {
	t.Helper()
	s, done, err := w.composer.openSession(t.Context(), w.servers[0], shortTimeout*20)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	var names []string
	for _, pool := range []string{"default", "fast"} {
		var urls []string
		if _, err := s.get(s.projectPath("storage-pools", pool, "volumes", "custom"), &urls); err != nil {
			t.Fatal(err)
		}
		for _, u := range urls {
			names = append(names, nameInURL(u))
		}
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("volumes (-want +got):\n%s", diff)
	}
}

// afterCall runs a function after a certain call to an LXD.
func (w *composeWorld) afterCall(ctx context.Context, route string, do func()) {
	for w.sim.Journal().LXD.Count(route) == 0 {
		select {
		case <-ctx.Done():
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	do()
}

// TestComposeHangs gives up an LXD that never answers within the deadline. Then it is
// unclear whether the VM was made, and another attempt finds out.
func TestComposeHangs(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		path   string
		slow   time.Duration // the deadline of a change
		gives  bool          // the caller gives up once LXD hangs
	}{
		"Create": {"The deadline of a change.", "lxd/*/1.0/instances", 5 * time.Second, false},
		"Wait":   {"The same, for an operation.", "lxd/*/1.0/operations/*/wait", 5 * time.Second, false},
		"Caller": {"The caller gives up.", "lxd/*/1.0/instances", time.Hour, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			c := w.newComposer(func(c *ComposerConfig) { c.ChangeTimeout = tc.slow })
			if _, err := c.Hosts(t.Context()); err != nil {
				t.Fatal(err)
			}
			comp := newComposition("web1")
			comp.Disks = comp.Disks[:1]
			w.sim.AddFault(sim.Fault{Path: tc.path, Kind: sim.FaultHang})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tc.gives {
				go w.afterCall(ctx, "POST 1.0/instances", cancel)
			}
			_, err := c.Compose(ctx, engine.VMHost{MachineID: "host01"}, comp)
			if !errors.Is(err, engine.ErrUnclear) || !strings.Contains(shownText(err), "did not say what became") {
				t.Errorf("%s: got %v", tc.reason, err)
			}
			w.sim.ClearFaults()
			w.composeVM(w.newComposer(), comp)
			if diff := cmp.Diff([]string{"instance web1 on h1", "machine web1"}, w.listObjects()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestComposeNotBegun sends nothing if the row now belongs to another run.
func TestComposeNotBegun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	comp := newComposition("web1")
	comp.BeforeSend = func(context.Context) error { return engine.ErrBusy }
	if _, err := w.composer.Compose(t.Context(), engine.VMHost{MachineID: "host01"}, comp); !errors.Is(err, engine.ErrBusy) {
		t.Errorf("got %v", err)
	}
	if got := w.listObjects(); len(got) > 0 {
		t.Errorf("made %v", got)
	}
}

// slowEnlister is a MAAS in which an enlistment never ends.
type slowEnlister struct {
	engine.Enlister
	failure error // that the end of the ctx is told as; nil: as nothing else
}

func (e slowEnlister) Enlist(ctx context.Context, _ engine.Enlistment) (string, error) {
	<-ctx.Done()
	return "", errors.Join(e.failure, ctx.Err())
}

// TestComposeEnds: MAAS cannot delay a compose longer than the engine waits for it.
func TestComposeEnds(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		failure error
		want    string
		whole   []string
	}{
		"Sent":   {"It may come to be enlisted yet.", engine.ErrUnclear, "ErrUnclear", []string{"instance web1 on h1"}},
		"Unsent": {"Nobody will ask for it.", nil, "", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			c := w.newComposer(func(c *ComposerConfig) {
				c.ChangeTimeout, c.Enlister = 10*time.Second, slowEnlister{w.maas.Enlister, tc.failure}
			})
			ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
			defer cancel()
			_, err := c.Compose(ctx, engine.VMHost{MachineID: "host01"}, newComposition("web1"))
			if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil || errorKinds(err) != tc.want {
				t.Errorf("%s\ngot  %s: %v\nwant %s, before the caller's own end", tc.reason, errorKinds(err), err, tc.want)
			}
			if diff := cmp.Diff(tc.whole, w.listObjects()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
