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

// lxcCopy copies an instance as `lxc copy` does: all but what is volatile, and the
// volumes.
func (w *composeWorld) lxcCopy(t *testing.T, from, to int, name string) {
	t.Helper()
	var have api.Instance
	w.asks(t, from, func(s *session) error {
		_, err := s.get(s.at("instances", "web1"), &have)
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
	w.asks(t, to, func(s *session) error { return s.send(http.MethodPost, s.at("instances"), post, "") })
}

// cutOff makes the VM web1 on the first host, as far as LXD: MAAS has no machine
// of it.
func (w *composeWorld) cutOff(t *testing.T) {
	t.Helper()
	w.sim.AddFault(sim.Fault{Path: "machines/", Method: "POST", Kind: sim.FaultReset, When: sim.Before, Times: 1})
	if _, err := w.newComposer().Compose(t.Context(), engine.VMHost{MachineID: "host01"}, vm("web1")); !errors.Is(err, engine.ErrUnclear) {
		t.Fatalf("it was not cut off: %v", err)
	}
	w.sim.ClearFaults()
}

// TestClear removes what surely was begun and never ran, and nothing else.
func TestClear(t *testing.T) {
	t.Parallel()
	cutOff := func(t *testing.T, w *composeWorld) { w.cutOff(t) }
	started := func(t *testing.T, w *composeWorld) { w.cutOff(t); w.turn(t, true) }
	stopped := func(t *testing.T, w *composeWorld) { started(t, w); w.turn(t, false) }
	cases := map[string]struct {
		reason string
		before func(*testing.T, *composeWorld)
		change func(*engine.Remains)
		want   string
		says   []string
		left   []string
		volume bool
	}{
		"Nothing": {reason: "Nothing was begun.", before: func(*testing.T, *composeWorld) {}},
		"CutOff":  {reason: "MAAS never had its machine.", before: cutOff},
		"Volume": {reason: "The instance never came to be.", before: func(t *testing.T, w *composeWorld) {
			w.cutOff(t)
			w.asks(t, 0, func(s *session) error { return s.send(http.MethodDelete, s.at("instances", "web1"), nil, "") })
		}},
		"Young": {"Somebody may be at it.", cutOff, func(r *engine.Remains) { r.Before = r.Before.Add(-time.Hour) }, "ErrBusy",
			[]string{"web1", "h1"}, []string{"instance web1 on h1"}, true},
		"OtherKey": {"It is somebody else's.", cutOff, func(r *engine.Remains) { r.Marker = "maaslxd-web2" }, "",
			nil, []string{"instance web1 on h1"}, true},
		"Enlisted": {"MAAS has a machine of it.", func(t *testing.T, w *composeWorld) { w.compose(w.composer, vm("web1")) }, nil, "",
			nil, []string{"instance web1 on h1", "machine web1"}, true},
		"Runs": {"It is the VM.", started, nil, "ErrConflict",
			[]string{"web1 of project maas on host h1", "runs", "lxc delete web1 --project maas", "unset web1 user.maaslxd.marker"}, []string{"instance web1 on h1"}, true},
		"Ran": {"Its disks may hold something.", stopped, nil, "ErrConflict",
			[]string{"web1 of project maas on host h1", "has run"}, []string{"instance web1 on h1"}, true},
		"Copy": {"A copy is somebody's, and never ran, either.", func(t *testing.T, w *composeWorld) {
			w.cutOff(t)
			w.lxcCopy(t, 0, 1, "web1")
		}, nil, "", nil, []string{"instance web1 on h2"}, false},
		"CopySameHost": {"So it is where it has another name.", func(t *testing.T, w *composeWorld) {
			w.cutOff(t)
			w.lxcCopy(t, 0, 0, "backup")
		}, nil, "", nil, []string{"instance backup on h1"}, false},
		"Silent": {"Nobody else can know what it holds.", func(t *testing.T, w *composeWorld) {
			w.cutOff(t)
			w.silence(t, "h1")
		}, nil, "ErrUnavailable, HostUnavailable",
			[]string{"web1", "host h1", "take the tag maaslxd-host off machine host01"}, []string{"instance web1 on h1"}, true},
		"OtherSilent": {reason: "Nothing was begun there.", before: func(t *testing.T, w *composeWorld) {
			w.cutOff(t)
			w.silence(t, "h2")
		}},
		"NoHost": {"It will not come back, and the tag is off.", func(t *testing.T, w *composeWorld) {
			w.cutOff(t)
			w.silence(t, "h1")
			w.servers = w.servers[1:]
		}, nil, "", nil, []string{"instance web1 on h1"}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 2)
			tc.before(t, w)
			r := engine.Remains{
				Key: "test/web1", Marker: "maaslxd-web1", Name: "web1", HostKeys: []string{"host01"}, Pools: []string{"default", "fast"}, Before: time.Now(),
			}
			if tc.change != nil {
				tc.change(&r)
			}
			err := w.newComposer().Clear(t.Context(), r)
			if kinds(err) != tc.want {
				t.Errorf("%s\ngot  %s: %v\nwant %s", tc.reason, kinds(err), err, tc.want)
			}
			for _, word := range tc.says {
				if err == nil || !strings.Contains(said(err), word) {
					t.Errorf("%q is not in %v", word, err)
				}
			}
			if diff := cmp.Diff(tc.left, w.whole()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			var volumes []string
			if tc.volume {
				volumes = []string{"web1-disk1"}
			}
			w.silence(t)
			if name != "NoHost" { // whose volumes nobody can list
				w.volumes(t, volumes...)
			}
		})
	}
}

// TestComposeCopied: what may be a copy is neither removed nor gone on with, and
// is told.
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
			comp := rootOnly("web1")
			id := w.compose(w.composer, comp)
			w.lxcCopy(t, 0, tc.host, tc.copyName)
			copied := w.macs()
			if err := w.newComposer().Decompose(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			var told []string
			comp.Left = func(what string) { told = append(told, what) }
			w.compose(w.newComposer(), comp)
			if diff := cmp.Diff(tc.whole, w.whole()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if len(told) != 1 || !strings.Contains(told[0], tc.says) {
				t.Errorf("told %q, want %q", told, tc.says)
			}
			if all := w.macs(); len(all) != 2 || slices.Equal(all, copied) || all[0] == all[1] {
				t.Errorf("the copy keeps its MAC, and the new VM has another one: %v, and was %v", all, copied)
			}
		})
	}
}

// macs are the MACs of all instances.
func (w *composeWorld) macs() []string {
	var all []string
	for _, i := range w.sim.Instances() {
		all = append(all, i.MACs...)
	}
	slices.Sort(all)
	return all
}

// TestComposeOnCopy: a copy that has the name on the chosen host is in the way.
func TestComposeOnCopy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	comp := rootOnly("web1")
	id, err := w.composer.Compose(t.Context(), engine.VMHost{MachineID: "host02"}, comp)
	if err != nil {
		t.Fatal(err)
	}
	w.lxcCopy(t, 1, 0, "web1")
	if err := w.newComposer().Decompose(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	_, err = w.newComposer().Compose(t.Context(), engine.VMHost{MachineID: "host01"}, comp)
	if kinds(err) != "ErrConflict" || !strings.Contains(said(err), "web1 of project maas on host h1") || !strings.Contains(said(err), "copy") {
		t.Errorf("got %s: %v", kinds(err), err)
	}
	if diff := cmp.Diff([]string{"instance web1 on h1"}, w.whole()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestComposeNotUndone: a compose that failed clearly, and could not be undone, is
// one that nobody may forget.
func TestComposeNotUndone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.sim.AddFault(sim.Fault{Path: "machines/", Method: "POST", Kind: sim.FaultStatus, Status: 500, When: sim.Before})
	w.sim.AddFault(sim.Fault{Path: "lxd/h1/1.0/instances/web1", Method: "DELETE", Kind: sim.FaultStatus, Status: 500, When: sim.Before})
	_, err := w.composer.Compose(context.WithoutCancel(t.Context()), engine.VMHost{MachineID: "host01"}, vm("web1"))
	if !strings.Contains(kinds(err), "ErrUnclear") || !strings.Contains(err.Error(), "web1 is left in the LXD of host h1") {
		t.Errorf("got %s: %v", kinds(err), err)
	}
}

// TestRealClear: a real LXD leaves out of a copy what tells the instance that was
// made, and so the copy stays.
func TestRealClear(t *testing.T) {
	w, l := onReal(t)
	comp := rootOnly("part")
	comp.Disks[0].SizeGB = 1 // LXD copies all of it
	w.compose(w.composer, comp)
	l.lxc(t, "copy", "part", "whole", "--project", "maas")
	t.Cleanup(func() { l.lxc(t, "delete", "whole", "--project", "maas") })
	remains := engine.Remains{Marker: "maaslxd-part", Name: "part", HostKeys: []string{"real01"}, Pools: []string{"local"}, Before: time.Now()}
	for _, lost := range []bool{false, true} {
		want := []string{"part", "whole"}
		if lost {
			want = want[1:]
			if err := w.sim.DeleteMachine(w.sim.Machines()[0].SystemID); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.newComposer().Clear(t.Context(), remains); err != nil {
			t.Error(err)
		}
		left := l.left(t)
		slices.Sort(left)
		if diff := cmp.Diff(want, left); diff != "" {
			t.Errorf("with its machine lost: %t, there is (-want +got):\n%s", lost, diff)
		}
	}
	w.compose(w.newComposer(), comp)
	t.Cleanup(func() { l.lxc(t, "delete", "part", "--project", "maas") })
	left := l.left(t)
	slices.Sort(left)
	if diff := cmp.Diff([]string{"part", "whole"}, left); diff != "" {
		t.Errorf("made again beside its copy, there is (-want +got):\n%s", diff)
	}
}
