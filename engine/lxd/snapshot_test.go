package lxd

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/canonical/lxd/shared/api"
	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/operate"
)

// newSnapshotter returns the Snapshots of another process, for the VM web1 on the first
// host.
func (w *composeWorld) newSnapshotter() operate.Snapshotter {
	return operate.Snapshotter{
		Hosts: func(context.Context) ([]engine.VMHost, error) {
			return []engine.VMHost{{HostKey: "h1", MachineID: "host01"}}, nil
		},
		Machines: w.maas.Machines, Metal: w.maas.Machines, Rows: ledger.NewMemory(nil), LXD: NewSnapshots(w.newComposer()), Key: "test/", Now: time.Now,
		LXDOf: func(context.Context, engine.Machine) (engine.LXDPlace, error) {
			s := w.servers[0]
			return engine.LXDPlace{Host: s.Name, MachineID: s.MachineID, Endpoint: s.Endpoint, Fingerprint: s.Fingerprint}, nil
		},
	}
}

// takeSnapshot takes the snapshot s1, and returns which data disks were reported.
func (w *composeWorld) takeSnapshot(ctx context.Context, m engine.Machine, replace bool) (told []string, err error) {
	err = w.newSnapshotter().TakeSnapshot(ctx, m, operate.SnapshotSpec{Name: "s1", Replace: replace}, func(disks []string) { told = disks })
	return told, err
}

func (w *composeWorld) restoreSnapshot(ctx context.Context, systemID string) error {
	m, err := w.maas.Machines.Machine(ctx, systemID)
	if err != nil {
		return err
	}
	return w.newSnapshotter().RestoreSnapshot(ctx, m, "s1", true, func([]string) {})
}

// readInstance returns the instance as LXD shows it, with the names of its snapshots.
func (w *composeWorld) readInstance(t *testing.T, name string) (found api.Instance, snapshots []string) {
	t.Helper()
	s, done, err := w.composer.openSession(t.Context(), w.servers[0], w.composer.Timeout)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if _, err := s.get(s.projectPath("instances", name), &found); err != nil {
		t.Fatal(err)
	}
	if _, err := s.get(s.projectPath("instances", name, "snapshots"), &snapshots); err != nil {
		t.Fatal(err)
	}
	for n, u := range snapshots {
		snapshots[n] = nameInURL(u)
	}
	return found, snapshots
}

// patchConfig changes options of the instance, as an administrator does.
func (w *composeWorld) patchConfig(t *testing.T, name string, config map[string]string) {
	t.Helper()
	s, done, err := w.composer.openSession(t.Context(), w.servers[0], w.composer.Timeout)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if err := s.send(http.MethodPatch, s.projectPath("instances", name), map[string]any{"config": config}, ""); err != nil {
		t.Fatal(err)
	}
}

// restrictSnapshots forbids snapshots in the project maas of the first LXD.
func (w *composeWorld) restrictSnapshots(t *testing.T) {
	t.Helper()
	s, done, err := w.composer.openSession(t.Context(), w.servers[0], w.composer.Timeout)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	var p api.Project
	_, err = s.get("/1.0/projects/maas", &p)
	if err == nil {
		p.Config["restricted"] = "true"
		err = s.send(http.MethodPut, "/1.0/projects/maas", p.Writable(), "")
	}
	if err != nil {
		t.Fatal(err)
	}
}

// deployVM makes the VM web1, which then runs.
func (w *composeWorld) deployVM(t *testing.T) engine.Machine {
	t.Helper()
	ref, _ := w.createRunningVM(t, func(*engine.VMSpec) {})
	m, err := w.maas.Machines.Machine(t.Context(), ref.SystemID)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestSnapshots takes a snapshot of a running VM. It restores it after the options, size
// and marks were changed. The marks stay, and MAAS and LXD agree that the VM runs.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	m := w.deployVM(t)
	told, err := w.takeSnapshot(t.Context(), m, false)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"fast/web1-disk1"}, told); diff != "" {
		t.Errorf("data disks (-want +got):\n%s", diff)
	}
	if _, err := w.takeSnapshot(t.Context(), m, false); errorKinds(err) != "ErrConflict, SpecError name" {
		t.Errorf("a second one of the name: %v", err)
	}
	if _, err := w.takeSnapshot(t.Context(), m, true); err != nil {
		t.Errorf("replaced: %v", err)
	}
	w.patchConfig(t, "web1", map[string]string{markerConfig: "later", "user.maaslxd.new": "x", "user.team": "shop", "limits.cpu": "4"})
	if err := w.restoreSnapshot(t.Context(), m.SystemID); err != nil {
		t.Fatal(err)
	}
	i, snapshots := w.readInstance(t, "web1")
	got := []string{i.Config[markerConfig], i.Config["user.maaslxd.new"], i.Config["user.team"], i.Config["limits.cpu"], i.Status}
	if diff := cmp.Diff([]string{"later", "x", "", "2", "Running"}, got); diff != "" {
		t.Errorf("the instance (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"s1"}, snapshots); diff != "" {
		t.Errorf("snapshots (-want +got):\n%s", diff)
	}
	if _, after := w.onlyInstance(t); after.PowerState != "on" || after.OwnerData[engine.RestartData] != "" {
		t.Errorf("MAAS says %s, and notes %q", after.PowerState, after.OwnerData[engine.RestartData])
	}
}

// TestSnapshotsBroken breaks each call of a snapshot and of a restore, before and after its
// effect. Then it repeats what failed: there is one snapshot, and the VM runs.
func TestSnapshotsBroken(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{sim.FaultReset, sim.FaultLostReply} {
		for _, fault := range []sim.Fault{
			{Method: "GET", Path: "lxd/h1/1.0/instances"}, {Method: "GET", Path: "lxd/h1/1.0/operations"},
			{Method: "GET", Path: "lxd/h1/1.0/instances/*/snapshots"}, {Method: "POST", Path: "lxd/h1/1.0/instances/*/snapshots"},
			{Method: "DELETE", Path: "lxd/h1/1.0/instances/*/snapshots/*"}, {Method: "GET", Path: "lxd/h1/1.0/operations/*/wait"},
			{Method: "PUT", Path: "lxd/h1/1.0/instances/*"}, {Method: "GET", Path: "lxd/h1/1.0/instances/*"},
			{Method: "POST", Path: "machines/*/", Op: "power_off"}, {Method: "POST", Path: "machines/*/", Op: "power_on"},
			{Method: "POST", Path: "machines/*/", Op: "set_workload_annotations"}, {Method: "GET", Path: "machines/*/", Op: "query_power_state"},
		} {
			fault.Kind, fault.Times = kind, 1
			t.Run(strings.ReplaceAll(fmt.Sprint(kind, fault.Method, fault.Path, fault.Op), "/", "_"), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, 1)
				m := w.deployVM(t)
				if _, err := w.takeSnapshot(t.Context(), m, false); err != nil {
					t.Fatal(err)
				}
				w.patchConfig(t, "web1", map[string]string{"user.team": "shop"})
				w.sim.AddFault(fault)
				if _, err := w.takeSnapshot(t.Context(), m, true); err != nil {
					t.Logf("the snapshot failed: %v", err)
					if _, err := w.takeSnapshot(t.Context(), m, true); err != nil {
						t.Fatal(err)
					}
				}
				w.patchConfig(t, "web1", map[string]string{"user.team": "billing", markerConfig: "later"})
				if err := w.restoreSnapshot(t.Context(), m.SystemID); err != nil {
					t.Logf("the restore failed: %v", err)
					if err := w.restoreSnapshot(t.Context(), m.SystemID); err != nil {
						t.Fatal(err)
					}
				}
				i, snapshots := w.readInstance(t, "web1")
				if !slices.Equal(snapshots, []string{"s1"}) || i.Config["user.team"] != "shop" || i.Config[markerConfig] != "later" || i.StatusCode != api.Running {
					t.Errorf("snapshots %v, %s, config %v", snapshots, i.Status, i.Config)
				}
				if _, after := w.onlyInstance(t); after.PowerState != "on" || after.OwnerData[engine.RestartData] != "" {
					t.Errorf("MAAS says %s, and notes %q", after.PowerState, after.OwnerData[engine.RestartData])
				}
			})
		}
	}
}

// TestSnapshotsRefused expects one sentence about what prevents a snapshot.
func TestSnapshotsRefused(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, want string
		change       func(*testing.T, *composeWorld)
	}{
		"NoInstance": {"Somebody deleted it.", "no instance of project maas", func(t *testing.T, w *composeWorld) {
			if err := w.sim.RemoveInstance("h1", "maas", "web1"); err != nil {
				t.Fatal(err)
			}
		}},
		"OtherServer": {"Something else answers there.", "is known by", func(_ *testing.T, w *composeWorld) {
			w.servers[0].Fingerprint = strings.Repeat("0", 64)
		}},
		"Restricted": {"An administrator forbids it.", "is restricted, and does not allow snapshots", func(t *testing.T, w *composeWorld) {
			w.restrictSnapshots(t)
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			m := w.deployVM(t)
			tc.change(t, w)
			if _, err := w.takeSnapshot(t.Context(), m, false); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\nwant %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
}

// TestSnapshotsOfARemovedVM: a removed VM leaves no snapshots and no disks.
func TestSnapshotsOfARemovedVM(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	ref, _ := w.createRunningVM(t, func(*engine.VMSpec) {})
	m, err := w.maas.Machines.Machine(t.Context(), ref.SystemID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.takeSnapshot(t.Context(), m, false); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.WaitUntilDone(t.Context(), func(ctx context.Context) (engine.Result[engine.VM], error) {
		return w.newEngine(t).VMs.Delete(ctx, ref)
	}); err != nil {
		t.Fatal(err)
	}
	if left := w.listObjects(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestLargerBy compares the limits in a snapshot with the present ones.
func TestLargerBy(t *testing.T) {
	t.Parallel()
	limits := func(cpu, memory string) map[string]string {
		return map[string]string{"limits.cpu": cpu, "limits.memory": memory}
	}
	cases := map[string]struct {
		reason    string
		then, now map[string]string
		want      string
	}{
		"Same":      {"Nothing changes.", limits("2", "2048MiB"), limits("2", "2048MiB"), ""},
		"Smaller":   {"The host has more room then.", limits("1", "1GiB"), limits("2", "2048MiB"), ""},
		"SameBytes": {"Both are 2 GiB.", limits("2", "2GiB"), limits("2", "2048MiB"), ""},
		"Memory":    {"Others may have it.", limits("2", "64GiB"), limits("2", "8GiB"), "64GiB of memory"},
		"Cores":     {"So may they the cores.", limits("4", "2GiB"), limits("2", "2GiB"), "4 cores, and it has 2 now"},
		"Pinned":    {"These may be others' own.", limits("0-1", "2GiB"), limits("2", "2GiB"), "the cores 0-1"},
		"Unpinned":  {"A number is of any cores.", limits("2", "2GiB"), limits("0-1", "2GiB"), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := describeLargerLimits(tc.then, tc.now); (got != "") != (tc.want != "") || !strings.Contains(got, tc.want) {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
