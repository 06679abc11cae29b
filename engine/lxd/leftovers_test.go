package lxd

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/canonical/lxd/shared/api"
	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
)

// copyInstance copies an instance as `lxc copy` does: everything but volatile keys, with
// its volumes.
func (w *composeWorld) copyInstance(t *testing.T, from, to int, name string) {
	t.Helper()
	var have api.Instance
	w.withSession(t, from, func(s *session) error {
		_, err := s.get(s.projectPath("instances", "web1"), &have)
		return err
	})
	post := api.InstancesPost{Name: name, Type: api.InstanceTypeVM, Source: api.InstanceSource{Type: "none"}, InstancePut: have.Writable()}
	for key := range post.Config {
		if strings.HasPrefix(key, "volatile.") {
			delete(post.Config, key)
		}
	}
	for device := range post.Devices {
		if strings.HasPrefix(device, "disk") {
			delete(post.Devices, device)
		}
	}
	w.withSession(t, to, func(s *session) error { return s.send(http.MethodPost, s.projectPath("instances"), post, "") })
}

// cutOffCompose makes the VM web1 on the first host, but only in LXD: MAAS has no machine
// of it.
func (w *composeWorld) cutOffCompose(t *testing.T) {
	t.Helper()
	w.sim.AddFault(sim.Fault{Path: "machines/", Method: "POST", Kind: sim.FaultReset, When: sim.FaultBeforeEffect, Times: 1})
	if _, err := w.newComposer().Compose(t.Context(), engine.VMHost{MachineID: "host01"}, newComposition("web1")); !errors.Is(err, engine.ErrUnclear) {
		t.Fatalf("it was not cut off: %v", err)
	}
	w.sim.ClearFaults()
}

// TestRemoveLeftovers removes what was certainly begun and never ran, and nothing else.
func TestRemoveLeftovers(t *testing.T) {
	t.Parallel()
	cutOff := func(t *testing.T, w *composeWorld) { w.cutOffCompose(t) }
	started := func(t *testing.T, w *composeWorld) { w.cutOffCompose(t); w.setRunning(t, true) }
	stopped := func(t *testing.T, w *composeWorld) { started(t, w); w.setRunning(t, false) }
	cases := map[string]struct {
		reason string
		before func(*testing.T, *composeWorld)
		change func(*engine.Leftovers)
		want   string
		says   []string
		left   []string
		volume bool
	}{
		"Nothing": {reason: "Nothing was begun.", before: func(*testing.T, *composeWorld) {}},
		"CutOff":  {reason: "MAAS never had its machine.", before: cutOff},
		"Volume": {reason: "The instance never came to be.", before: func(t *testing.T, w *composeWorld) {
			w.cutOffCompose(t)
			w.withSession(t, 0, func(s *session) error { return s.send(http.MethodDelete, s.projectPath("instances", "web1"), nil, "") })
		}},
		"Young": {"Another run may still be making the instance.", cutOff, func(r *engine.Leftovers) { r.BegunBefore = r.BegunBefore.Add(-time.Hour) }, "ErrBusy",
			[]string{"web1", "h1"}, []string{"instance web1 on h1"}, true},
		"OtherKey": {"It is somebody else's.", cutOff, func(r *engine.Leftovers) { r.Marker = "maaslxd-web2" }, "",
			nil, []string{"instance web1 on h1"}, true},
		"Enlisted": {"MAAS has a machine of it.", func(t *testing.T, w *composeWorld) { w.composeVM(w.composer, newComposition("web1")) }, nil, "",
			nil, []string{"instance web1 on h1", "machine web1"}, true},
		"Runs": {"It is the VM.", started, nil, "ErrConflict",
			[]string{"web1 of project maas on host h1", "runs", "lxc delete web1 --project maas", "unset web1 user.maaslxd.marker"}, []string{"instance web1 on h1"}, true},
		"Ran": {"Its disks may hold something.", stopped, nil, "ErrConflict",
			[]string{"web1 of project maas on host h1", "has run"}, []string{"instance web1 on h1"}, true},
		"Copy": {"A copy is somebody's, and never ran, either.", func(t *testing.T, w *composeWorld) {
			w.cutOffCompose(t)
			w.copyInstance(t, 0, 1, "web1")
		}, nil, "", nil, []string{"instance web1 on h2"}, false},
		"CopySameHost": {"So it is where it has another name.", func(t *testing.T, w *composeWorld) {
			w.cutOffCompose(t)
			w.copyInstance(t, 0, 0, "backup")
		}, nil, "", nil, []string{"instance backup on h1"}, false},
		"Silent": {"Nobody else can know what it holds.", func(t *testing.T, w *composeWorld) {
			w.cutOffCompose(t)
			w.setUnreachable(t, "h1")
		}, nil, "ErrUnavailable, HostUnavailable",
			[]string{"web1", "host h1", "remove the tag maaslxd-host from machine host01"}, []string{"instance web1 on h1"}, true},
		"OtherSilent": {reason: "Nothing was begun there.", before: func(t *testing.T, w *composeWorld) {
			w.cutOffCompose(t)
			w.setUnreachable(t, "h2")
		}},
		"NoHost": {"It will not come back, and the tag is off.", func(t *testing.T, w *composeWorld) {
			w.cutOffCompose(t)
			w.setUnreachable(t, "h1")
			w.servers = w.servers[1:]
		}, nil, "", nil, []string{"instance web1 on h1"}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 2)
			tc.before(t, w)
			r := engine.Leftovers{
				Key: "test/web1", Marker: "maaslxd-web1", Name: "web1", HostKeys: []string{"host01"}, Pools: []string{"default", "fast"}, BegunBefore: time.Now(),
			}
			if tc.change != nil {
				tc.change(&r)
			}
			err := w.newComposer().RemoveLeftovers(t.Context(), r)
			if errorKinds(err) != tc.want {
				t.Errorf("%s\ngot  %s: %v\nwant %s", tc.reason, errorKinds(err), err, tc.want)
			}
			for _, word := range tc.says {
				if err == nil || !strings.Contains(shownText(err), word) {
					t.Errorf("%q is not in %v", word, err)
				}
			}
			if diff := cmp.Diff(tc.left, w.listObjects()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			var volumes []string
			if tc.volume {
				volumes = []string{"web1-disk1"}
			}
			w.setUnreachable(t)
			if name != "NoHost" { // whose volumes nobody can list
				w.wantVolumes(t, volumes...)
			}
		})
	}
}

// TestComposeCopied: an instance that may be a copy is neither removed nor used, and is
// reported.
func TestComposeCopied(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason   string
		host     int
		copyName string
		want     string
		says     string
		whole    []string
	}{
		"OtherHost": {"The name is free on the chosen host.", 1, "web1", "", "VM host h2 holds an instance web1", []string{"instance web1 on h1", "instance web1 on h2", "machine web1"}},
		"OtherName": {"So it is beside a copy of another name.", 0, "backup", "", "VM host h1 holds an instance backup", []string{"instance backup on h1", "instance web1 on h1", "machine web1"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 2)
			comp := newRootOnlyComposition("web1")
			id := w.composeVM(w.composer, comp)
			w.copyInstance(t, 0, tc.host, tc.copyName)
			copied := w.allMACs()
			if err := w.newComposer().Decompose(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			var told []string
			comp.ReportLeftover = func(what string) { told = append(told, what) }
			w.composeVM(w.newComposer(), comp)
			if diff := cmp.Diff(tc.whole, w.listObjects()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if len(told) != 1 || !strings.Contains(told[0], tc.says) {
				t.Errorf("told %q, want %q", told, tc.says)
			}
			if all := w.allMACs(); len(all) != 2 || slices.Equal(all, copied) || all[0] == all[1] {
				t.Errorf("the copy keeps its MAC, and the new VM has another one: %v, and was %v", all, copied)
			}
		})
	}
}

// allMACs returns the MACs of all instances.
func (w *composeWorld) allMACs() []string {
	var all []string
	for _, i := range w.sim.Instances() {
		all = append(all, i.MACs...)
	}
	slices.Sort(all)
	return all
}

// TestComposeOnCopy: a copy with the VM's name on the chosen host blocks the compose.
func TestComposeOnCopy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	comp := newRootOnlyComposition("web1")
	id, err := w.composer.Compose(t.Context(), engine.VMHost{MachineID: "host02"}, comp)
	if err != nil {
		t.Fatal(err)
	}
	w.copyInstance(t, 1, 0, "web1")
	if err := w.newComposer().Decompose(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	_, err = w.newComposer().Compose(t.Context(), engine.VMHost{MachineID: "host01"}, comp)
	if errorKinds(err) != "ErrConflict" || !strings.Contains(shownText(err), "web1 of project maas on host h1") || !strings.Contains(shownText(err), "copy") {
		t.Errorf("got %s: %v", errorKinds(err), err)
	}
	if diff := cmp.Diff([]string{"instance web1 on h1"}, w.listObjects()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestComposeNotUndone: if a compose failed clearly but could not be undone, its row must
// stay.
func TestComposeNotUndone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.sim.AddFault(sim.Fault{Path: "machines/", Method: "POST", Kind: sim.FaultStatus, Status: 500, When: sim.FaultBeforeEffect})
	w.sim.AddFault(sim.Fault{Path: "lxd/h1/1.0/instances/web1", Method: "DELETE", Kind: sim.FaultStatus, Status: 500, When: sim.FaultBeforeEffect})
	_, err := w.composer.Compose(context.WithoutCancel(t.Context()), engine.VMHost{MachineID: "host01"}, newComposition("web1"))
	if !strings.Contains(errorKinds(err), "ErrUnclear") || !strings.Contains(err.Error(), "web1 is left in the LXD of host h1") {
		t.Errorf("got %s: %v", errorKinds(err), err)
	}
}

// TestRealClear: a real LXD omits from a copy the key that marks the original. So the copy
// stays.
func TestRealClear(t *testing.T) {
	w, l := newRealWorld(t)
	comp := newRootOnlyComposition("part")
	comp.Disks[0].SizeGB = 1 // LXD copies all of it
	w.composeVM(w.composer, comp)
	l.lxc(t, "copy", "part", "whole", "--project", "maas")
	t.Cleanup(func() { l.lxc(t, "delete", "whole", "--project", "maas") })
	remains := engine.Leftovers{Marker: "maaslxd-part", Name: "part", HostKeys: []string{"real01"}, Pools: []string{"local"}, BegunBefore: time.Now()}
	for _, lost := range []bool{false, true} {
		want := []string{"part", "whole"}
		if lost {
			want = want[1:]
			if err := w.sim.DeleteMachine(w.sim.Machines()[0].SystemID); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.newComposer().RemoveLeftovers(t.Context(), remains); err != nil {
			t.Error(err)
		}
		left := l.listLeft(t)
		slices.Sort(left)
		if diff := cmp.Diff(want, left); diff != "" {
			t.Errorf("with its machine lost: %t, there is (-want +got):\n%s", lost, diff)
		}
	}
	w.composeVM(w.newComposer(), comp)
	t.Cleanup(func() { l.lxc(t, "delete", "part", "--project", "maas") })
	left := l.listLeft(t)
	slices.Sort(left)
	if diff := cmp.Diff([]string{"part", "whole"}, left); diff != "" {
		t.Errorf("made again beside its copy, there is (-want +got):\n%s", diff)
	}
}
