package operate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/operate"
)

// fakeLXD is an LXD with the snapshots of one VM. Each call fails as often as fail says,
// before or after its effect.
type fakeLXD struct {
	*fakeMachines
	list     engine.SnapshotList
	fail     map[string][]error // by call, one after the other
	after    bool               // the effect comes all the same
	taken    []engine.SnapshotRequest
	restored []string
	notes    []string
	row      engine.Row
}

func (f *fakeLXD) call(name string, effect func()) error {
	f.calls = append(f.calls, name)
	if failures := f.fail[name]; len(failures) > 0 {
		f.fail[name] = failures[1:]
		if f.after {
			effect()
		}
		return failures[0]
	}
	effect()
	return nil
}

func (f *fakeLXD) Snapshots(context.Context, engine.LXDPlace, engine.Machine) (engine.SnapshotList, error) {
	return f.list, nil
}

func (f *fakeLXD) TakeSnapshot(_ context.Context, _ engine.LXDPlace, _ engine.Machine, want engine.SnapshotRequest) error {
	return f.call("take", func() {
		f.taken = append(f.taken, want)
		f.list.Snapshots = append(f.list.Snapshots, engine.Snapshot{Name: want.Name})
	})
}

func (f *fakeLXD) DeleteSnapshot(_ context.Context, _ engine.LXDPlace, _ engine.Machine, name string) error {
	return f.call("delete", func() {
		f.list.Snapshots = slices.DeleteFunc(f.list.Snapshots, func(s engine.Snapshot) bool { return s.Name == name })
	})
}

func (f *fakeLXD) RestoreSnapshot(_ context.Context, _ engine.LXDPlace, _ engine.Machine, name string, _ map[string]string) error {
	if f.power == "on" {
		return fmt.Errorf("it runs: %w", engine.ErrBusy)
	}
	return f.call("restore", func() { f.restored = append(f.restored, name) })
}

func (f *fakeLXD) Annotate(_ context.Context, _ string, data map[string]string) error {
	f.notes = append(f.notes, data[engine.RestartData])
	return nil
}

func (f *fakeLXD) Row(context.Context, engine.Key) (engine.Row, error) {
	if f.row.Key == "" {
		return f.row, engine.ErrNotFound
	}
	return f.row, nil
}

// snapshotter is of the owner "o".
func (f *fakeLXD) snapshotter() operate.Snapshotter {
	return operate.Snapshotter{
		Hosts: func(context.Context) ([]engine.VMHost, error) {
			return []engine.VMHost{{HostKey: "h1", MachineID: "host01"}}, nil
		},
		Machines: f, Metal: f, Rows: f, LXD: f, Key: "o/", Now: time.Now,
		LXDOf: func(context.Context, engine.Machine) (engine.LXDPlace, error) {
			return engine.LXDPlace{Host: "h1"}, nil
		},
	}
}

// web is a VM of the owner "o" that is Deployed.
func web() engine.Machine {
	return engine.Machine{
		SystemID: "4y3h7n", Hostname: "web", Status: engine.StatusDeployed, StatusName: "Deployed", PowerState: "on",
		Description: engine.DescriptionWithMark("", "o/web", true),
	}
}

// wantText compares an error with a text in it; empty: no error.
func wantText(t *testing.T, reason string, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("%s\nwant %q, got %v", reason, want, err)
	}
}

func TestTakeSnapshot(t *testing.T) {
	t.Parallel()
	old := []engine.Snapshot{{Name: "s1", CreatedAt: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}}
	lost := func(n int) []error { return slices.Repeat([]error{engine.ErrUnclear}, n) }
	cases := map[string]struct {
		reason, failure string
		have            []engine.Snapshot
		wish            operate.SnapshotSpec
		fail            map[string][]error
		after           bool
		change          func(*engine.Machine, *fakeLXD)
		calls           []string
	}{
		"New":         {reason: "The VM has no snapshot yet.", calls: []string{"take"}},
		"There":       {reason: "It may hold what somebody needs.", have: old, failure: "web has a snapshot s1 already, of 2026-03-01T00:00:00Z"},
		"Replace":     {reason: "The old one goes first.", have: old, wish: operate.SnapshotSpec{Replace: true}, calls: []string{"delete", "take"}},
		"LostAfter":   {reason: "It is found, and not taken for another one.", fail: map[string][]error{"take": lost(1)}, after: true, calls: []string{"take"}},
		"LostBefore":  {reason: "It is not there, and so is taken.", fail: map[string][]error{"take": lost(2)}, calls: []string{"take", "take", "take"}},
		"ReplaceLost": {reason: "The new one is not deleted.", have: old, wish: operate.SnapshotSpec{Replace: true}, fail: map[string][]error{"take": lost(1)}, after: true, calls: []string{"delete", "take"}},
		"DeleteLost":  {reason: "The old one is not taken for the new one.", have: old, wish: operate.SnapshotSpec{Replace: true}, fail: map[string][]error{"delete": lost(1)}, calls: []string{"delete", "delete", "take"}},
		"DeletedLost": {reason: "It is gone already.", have: old, wish: operate.SnapshotSpec{Replace: true}, fail: map[string][]error{"delete": lost(1)}, after: true, calls: []string{"delete", "take"}},
		"Refused":     {reason: "LXD says no.", fail: map[string][]error{"take": {&engine.Refusal{Message: "no"}}}, calls: []string{"take"}, failure: "no"},
		"Locked":      {reason: "A snapshot changes nothing.", change: func(m *engine.Machine, _ *fakeLXD) { m.Locked = true }, calls: []string{"take"}},
		"OtherOwner":  {reason: "It is another configuration's.", change: func(m *engine.Machine, _ *fakeLXD) { m.Description = engine.DescriptionWithMark("", "p/web", true) }, failure: "it is marked as made for p/web, not for owner o"},
		"NoMark":      {reason: "Nobody knows whose it is.", change: func(m *engine.Machine, _ *fakeLXD) { m.Description = "" }, failure: "it is not marked as a VM of owner o"},
		"InProgress":  {reason: "An apply makes it.", change: func(m *engine.Machine, _ *fakeLXD) { m.Description = engine.DescriptionWithMark("", "o/web", false) }, failure: "it is not finished yet"},
		"Commissioned": {reason: "MAAS works on it.", change: func(m *engine.Machine, _ *fakeLXD) {
			m.Status, m.StatusName = engine.StatusCommissioning, "Commissioning"
		}, failure: "it is Commissioning"},
		"Leaving": {reason: "A destroy deletes it.", change: func(_ *engine.Machine, f *fakeLXD) { f.row = engine.Row{State: engine.RowLeaving}; f.row.Key = "o/web" }, failure: "it is being deleted"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &fakeLXD{fakeMachines: &fakeMachines{power: "on"}, fail: tc.fail, after: tc.after}
				f.list.Snapshots = slices.Clone(tc.have)
				m := web()
				if tc.change != nil {
					tc.change(&m, f)
				}
				tc.wish.Name = "s1"
				err := f.snapshotter().TakeSnapshot(t.Context(), m, tc.wish, func([]string) {})
				wantText(t, tc.reason, err, tc.failure)
				if diff := cmp.Diff(tc.calls, f.calls); diff != "" {
					t.Errorf("%s\ncalls (-want +got):\n%s", tc.reason, diff)
				}
			})
		})
	}
}

// TestTakeSnapshotTells: the data disks are told once, and a snapshot expires in time.
func TestTakeSnapshotTells(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeLXD{fakeMachines: &fakeMachines{power: "on"}, fail: map[string][]error{"take": {engine.ErrUnclear, engine.ErrUnclear}}}
		f.list.DataDisks = []string{"fast/web-disk1"}
		var told [][]string
		err := f.snapshotter().TakeSnapshot(t.Context(), web(), operate.SnapshotSpec{Name: "s1", ExpiresIn: time.Hour}, func(disks []string) { told = append(told, disks) })
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([][]string{{"fast/web-disk1"}}, told); diff != "" {
			t.Errorf("data disks (-want +got):\n%s", diff)
		}
		if left := time.Until(f.taken[0].ExpiresAt); left > time.Hour || left < 59*time.Minute {
			t.Errorf("it expires in %s", left)
		}
	})
}

func TestRestoreSnapshot(t *testing.T) {
	t.Parallel()
	noted := func(m *engine.Machine, _ *fakeLXD) { m.OwnerData = map[string]string{engine.RestartData: "yes"} }
	cases := map[string]struct {
		reason, power, failure string
		mayStop                bool
		fail                   map[string][]error
		after                  bool
		change                 func(*engine.Machine, *fakeLXD)
		calls, notes           []string
		runs                   bool
	}{
		"Off":     {reason: "It stays off.", power: "off", calls: []string{"restore"}},
		"Runs":    {reason: "It is stopped with leave alone.", power: "on", failure: "web runs, and must be stopped", runs: true},
		"Stops":   {reason: "It ran, and runs again.", power: "on", mayStop: true, calls: []string{"off", "restore", "on"}, notes: []string{"yes", ""}, runs: true},
		"CutOff":  {reason: "A run before this one stopped it.", power: "off", change: noted, calls: []string{"restore", "on"}, notes: []string{""}, runs: true},
		"Lost":    {reason: "To restore twice is harmless.", power: "on", mayStop: true, fail: map[string][]error{"restore": {engine.ErrUnclear}}, after: true, calls: []string{"off", "restore", "restore", "on"}, notes: []string{"yes", ""}, runs: true},
		"Refused": {reason: "LXD says no, and the VM runs again.", power: "on", mayStop: true, fail: map[string][]error{"restore": {&engine.Refusal{Message: "no"}}}, calls: []string{"off", "restore", "on"}, notes: []string{"yes"}, failure: "may already be that of the snapshot: no", runs: true},
		"Larger": {reason: "Its host may be full.", power: "off", change: func(_ *engine.Machine, f *fakeLXD) {
			f.list.Snapshots[0].LargerThanNow = "64GiB of memory, and it has 8GiB now"
		}, failure: "64GiB of memory, and it has 8GiB now"},
		"Host":     {reason: "The VMs on it would be lost.", power: "off", change: func(m *engine.Machine, _ *fakeLXD) { m.Tags = []string{engine.HostTag} }, failure: "cannot restore web (4y3h7n): it is a VM host"},
		"Locked":   {reason: "It is protected.", power: "off", change: func(m *engine.Machine, _ *fakeLXD) { m.Locked = true }, failure: "cannot restore web: it is locked in MAAS"},
		"NoSuch":   {reason: "The names are told.", power: "off", change: func(_ *engine.Machine, f *fakeLXD) { f.list.Snapshots[0].Name = "s2" }, failure: "web has no snapshot s1"},
		"NewDisk":  {reason: "LXD would detach it.", power: "off", change: func(_ *engine.Machine, f *fakeLXD) { f.list.Snapshots[0].UnknownVolumes = []string{"fast/web-disk2"} }, failure: "LXD would detach: fast/web-disk2"},
		"OldDisk":  {reason: "LXD could not attach it.", power: "off", change: func(_ *engine.Machine, f *fakeLXD) { f.list.Snapshots[0].MissingVolumes = []string{"fast/web-disk2"} }, failure: "that it no longer has: fast/web-disk2"},
		"OtherMAC": {reason: "MAAS would lose it.", power: "off", change: func(_ *engine.Machine, f *fakeLXD) { f.list.Snapshots[0].OtherMACs = true }, failure: "another MAC"},
		"ReadyRuns": {
			reason: "MAAS turns on what somebody has.", power: "on", mayStop: true, runs: true,
			change: func(m *engine.Machine, _ *fakeLXD) { m.Status, m.StatusName = engine.StatusReady, "Ready" }, failure: "it runs while it is Ready",
		},
		"OtherOwner": {reason: "It is another configuration's.", power: "off", change: func(m *engine.Machine, _ *fakeLXD) { m.Description = engine.DescriptionWithMark("", "p/web", true) }, failure: "marked as made for p/web"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &fakeLXD{fakeMachines: &fakeMachines{power: tc.power}, fail: tc.fail, after: tc.after}
				f.list.Snapshots = []engine.Snapshot{{Name: "s1"}}
				m := web()
				if tc.change != nil {
					tc.change(&m, f)
				}
				err := f.snapshotter().RestoreSnapshot(t.Context(), m, "s1", tc.mayStop, func([]string) {})
				wantText(t, tc.reason, err, tc.failure)
				if diff := cmp.Diff(tc.calls, f.calls); diff != "" {
					t.Errorf("%s\ncalls (-want +got):\n%s", tc.reason, diff)
				}
				if diff := cmp.Diff(tc.notes, f.notes); diff != "" {
					t.Errorf("%s\nnotes (-want +got):\n%s", tc.reason, diff)
				}
				if (f.power == "on") != tc.runs {
					t.Errorf("%s\nafterwards it is %s", tc.reason, f.power)
				}
			})
		})
	}
}

// TestRestoreStaysOff: while LXD may be restoring, the VM is not turned on.
func TestRestoreStaysOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeLXD{fakeMachines: &fakeMachines{power: "on"}, fail: map[string][]error{"restore": slices.Repeat([]error{engine.ErrUnclear}, 1000)}}
		f.list.Snapshots = []engine.Snapshot{{Name: "s1"}}
		err := f.snapshotter().RestoreSnapshot(t.Context(), web(), "s1", true, func([]string) {})
		if !errors.Is(err, engine.ErrUnclear) || f.power != "off" {
			t.Errorf("it is %s: %v", f.power, err)
		}
		wantText(t, "The user must know.", err, "the next run, or the same restore again, turns it on")
	})
}

// TestRestoreCutOff: a caller that goes while LXD restores leaves the VM off. LXD would start an
// instance whose root disk it is writing.
func TestRestoreCutOff(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string][]error{
		"Unclear":     slices.Repeat([]error{engine.ErrUnclear}, 1000),
		"ThenBusy":    append([]error{engine.ErrUnclear}, slices.Repeat([]error{engine.ErrBusy}, 1000)...),
		"Unavailable": slices.Repeat([]error{engine.ErrUnavailable}, 1000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				f := &fakeLXD{fakeMachines: &fakeMachines{power: "on"}, fail: map[string][]error{"restore": fail}}
				f.list.Snapshots = []engine.Snapshot{{Name: "s1"}}
				err := f.snapshotter().RestoreSnapshot(ctx, web(), "s1", true, func([]string) {})
				if f.power != "off" {
					t.Errorf("it is %s: %v", f.power, err)
				}
				wantText(t, "The user must know.", err, "the next run, or the same restore again, turns it on")
			})
		})
	}
}

func TestSnapshotNameProblem(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]bool{
		"before-upgrade": false, "2026-03-01T10:00:00": false, "snap0": false, "v1.2_3": false, "größe": false, "..a": false,
		"": true, ".": true, "..": true, "a b": true, "a/b": true, "a?b": true, "a&b": true, "a+b": true, "a\nb": true, "a%2fb": true, strings.Repeat("a", 201): true,
	} {
		if problem := operate.SnapshotNameProblem(name); (problem != "") != bad {
			t.Errorf("%q: %q", name, problem)
		}
	}
}
