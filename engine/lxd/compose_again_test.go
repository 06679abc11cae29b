package lxd

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/canonical/lxd/shared/api"
	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
)

// TestComposeAgain finds an instance of its own that MAAS does not know.
func TestComposeAgain(t *testing.T) {
	t.Parallel()
	whole := []string{"instance web1 on h1", "machine web1"}
	run := func(t *testing.T, w *composeWorld, running bool) { t.Helper(); w.setRunning(t, running) }
	cases := map[string]struct {
		reason string
		before func(*testing.T, *composeWorld, *engine.Composition)
		want   string
		whole  []string
	}{
		"Same": {"It is enlisted again.", func(*testing.T, *composeWorld, *engine.Composition) {}, "", whole},
		"Larger": {"It never ran: it is made anew.", func(_ *testing.T, _ *composeWorld, c *engine.Composition) {
			c.Cores, c.Disks[1].SizeGB = 4, 9
		}, "", whole},
		"Ran": {"Its disks may hold something.", func(t *testing.T, w *composeWorld, _ *engine.Composition) {
			run(t, w, true)
			run(t, w, false)
		}, "ErrConflict", whole[:1]},
		"RanLarger": {"What ran is not thrown away.", func(t *testing.T, w *composeWorld, c *engine.Composition) {
			run(t, w, true)
			run(t, w, false)
			c.Cores = 4
		}, "ErrConflict", whole[:1]},
		"Runs": {"MAAS commissions nothing that runs.", func(t *testing.T, w *composeWorld, _ *engine.Composition) {
			run(t, w, true)
		}, "ErrConflict", whole[:1]},
		"Others": {"It was made for another key.", func(_ *testing.T, _ *composeWorld, c *engine.Composition) {
			c.Marker, c.Key = "maaslxd-else", "else/web1"
		}, "ErrConflict", whole[:1]},
		"OthersRootAlone": {"Its mark tells, too, where no volume of it is in the way.", func(_ *testing.T, _ *composeWorld, c *engine.Composition) {
			c.Marker, c.Key, c.Disks = "maaslxd-else", "else/web1", c.Disks[:1]
		}, "ErrConflict", whole[:1]},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			id := w.composeVM(w.composer, newComposition("web1"))
			if err := w.sim.DeleteMachine(id); err != nil {
				t.Fatal(err)
			}
			comp := newComposition("web1")
			tc.before(t, w, &comp)
			_, err := w.newComposer().Compose(t.Context(), engine.VMHost{MachineID: "host01"}, comp)
			if errorKinds(err) != tc.want {
				t.Errorf("%s\ngot  %s: %v\nwant %s", tc.reason, errorKinds(err), err, tc.want)
			}
			if diff := cmp.Diff(tc.whole, w.listObjects()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			w.wantVolumes(t, "web1-disk1")
		})
	}
}

// TestComposeElsewhere removes what an earlier attempt left on another host, unless MAAS
// knows it.
func TestComposeElsewhere(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		leave  func(*testing.T, *composeWorld)
		want   []string
		err    string
	}{
		"Left": {"Nobody knows it any more.", func(t *testing.T, w *composeWorld) {
			if err := w.sim.DeleteMachine(w.composeVM(w.composer, newComposition("web1"))); err != nil {
				t.Fatal(err)
			}
		}, []string{"instance web1 on h2", "machine web1"}, ""},
		"Ran": {"It ran: a second one would have its name.", func(t *testing.T, w *composeWorld) {
			if err := w.sim.DeleteMachine(w.composeVM(w.composer, newComposition("web1"))); err != nil {
				t.Fatal(err)
			}
			w.setRunning(t, true)
			w.setRunning(t, false)
		}, []string{"instance web1 on h1"}, "ErrConflict"},
		"Enlisted": {"MAAS has it under another name.", func(t *testing.T, w *composeWorld) {
			id, name := w.composeVM(w.composer, newComposition("web1")), "renamed"
			if err := w.maas.Machines.Update(t.Context(), id, engine.MachineUpdate{Hostname: &name}); err != nil {
				t.Fatal(err)
			}
		}, []string{"instance web1 on h1", "instance web1 on h2", "machine renamed", "machine web1"}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 2)
			tc.leave(t, w)
			_, err := w.newComposer().Compose(t.Context(), engine.VMHost{MachineID: "host02"}, newComposition("web1"))
			if errorKinds(err) != tc.err || err != nil && !strings.Contains(shownText(err), "web1 of project maas on host h1") {
				t.Errorf("%s\ngot  %s: %v\nwant %s", tc.reason, errorKinds(err), err, tc.err)
			}
			if diff := cmp.Diff(tc.want, w.listObjects()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestVMOnEachLXDVersion makes, resizes and removes a VM on several versions of LXD. Newer ones
// answer with operations where older ones answer at once.
func TestVMOnEachLXDVersion(t *testing.T) {
	t.Parallel()
	for version, boot := range map[string]string{"5.0.2": "security.secureboot", "5.21.3": "security.secureboot", "6.6": "security.secureboot", "6.8": "boot.mode"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1, func(m *sim.Model) { m.Hosts[0].LXDVersion = version })
			comp := newComposition("web1")
			id := w.composeVM(w.composer, comp)
			s, done, err := w.composer.openSession(t.Context(), w.servers[0], w.composer.Timeout)
			if err != nil {
				t.Fatal(err)
			}
			defer done()
			var made api.Instance
			if _, err := s.get(s.projectPath("instances", "web1"), &made); err != nil || made.Config[boot] == "" {
				t.Errorf("made with %v, %v", made.Config, err)
			}
			comp.Disks[1].SizeGB = 50
			if err := w.composer.Resize(t.Context(), engine.VMHost{MachineID: "host01"}, id, comp); err != nil {
				t.Error(err)
			}
			var volume api.StorageVolume
			if _, err := s.get(s.projectPath("storage-pools", "fast", "volumes", "custom", "web1-disk1"), &volume); err != nil || volume.Config["size"] != "50000000000" {
				t.Errorf("grown to %v, %v", volume.Config, err)
			}
			if err := w.composer.Decompose(t.Context(), id); err != nil {
				t.Error(err)
			}
			w.wantVolumes(t)
		})
	}
}

// TestResizeRunning: on a running VM, only a number of cores can change.
func TestResizeRunning(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*engine.Composition)
		want   string
		says   string
	}{
		"Nothing": {"There is nothing to do.", func(*engine.Composition) {}, "", ""},
		"Cores":   {"They are plugged in.", func(c *engine.Composition) { c.Cores = 3 }, "", ""},
		"Pinned":  {"Pinning is another thing.", func(c *engine.Composition) { c.PinnedCores = []int{0, 1, 2} }, "ErrConflict", "limits.cpu from 2 to 0,1,2"},
		"Memory":  {"LXD cannot raise it beyond what the VM began with.", func(c *engine.Composition) { c.MemoryMiB = 4096 }, "ErrConflict", "limits.memory"},
		"Disk":    {"Its disks are open.", func(c *engine.Composition) { c.Disks[0].SizeGB = 20 }, "ErrConflict", "disk root from 8 to 20 GB"},
		"NoPool": {"A disk that comes is of a pool that there is.", func(c *engine.Composition) {
			c.Disks = append(c.Disks, engine.Disk{Name: "more", SizeGB: 1, Pool: "nope"})
		}, "ErrInvalid, SpecError disks.more.pool", "nope"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			comp := newComposition("web1")
			id := w.composeVM(w.composer, comp)
			w.setRunning(t, true)
			tc.change(&comp)
			err := w.composer.Resize(t.Context(), engine.VMHost{MachineID: "host01"}, id, comp)
			if errorKinds(err) != tc.want || err != nil && !strings.Contains(shownText(err), tc.says) {
				t.Errorf("%s\ngot  %s: %v\nwant %s", tc.reason, errorKinds(err), err, tc.want)
			}
		})
	}
}

// TestRemoveUnproven: an instance is identified by its MACs or its mark, never by its name
// alone.
func TestRemoveUnproven(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.composeVM(w.composer, newComposition("web1"))
	s, done, err := w.composer.openSession(t.Context(), w.servers[0], w.composer.Timeout)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	for _, marks := range [][]string{nil, {""}, {"maaslxd-web2"}} {
		if err := s.removeInstance("web1", nil, marks...); errorKinds(err) != "ErrConflict" || len(w.sim.Instances()) != 1 {
			t.Errorf("by the marks %q: %v, %d instances are left", marks, err, len(w.sim.Instances()))
		}
	}
	if err := s.removeInstance("web1", nil, "(finished)", "maaslxd-web1"); err != nil || len(w.sim.Instances()) != 0 {
		t.Errorf("by its mark: %v, %d instances are left", err, len(w.sim.Instances()))
	}
}

// TestResizeKeeps: a resize changes only the size of an imported VM, and no settings that
// its spec does not name.
func TestResizeKeeps(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	comp := newComposition("web1")
	comp.PinnedCores, comp.Cores, comp.HugePages = []int{0, 2, 5}, 0, true
	id := w.composeVM(w.composer, comp)
	comp.PinnedCores, comp.Cores, comp.HugePages, comp.MemoryMiB = nil, 3, false, 4096
	if err := w.composer.Resize(t.Context(), engine.VMHost{MachineID: "host01"}, id, comp); err != nil {
		t.Fatal(err)
	}
	s, done, err := w.composer.openSession(t.Context(), w.servers[0], w.composer.Timeout)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	var got api.Instance
	if _, err := s.get(s.projectPath("instances", "web1"), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"limits.cpu": "0,2,5", "limits.memory": "4096MiB", "limits.memory.hugepages": "true"}
	for name, value := range want {
		if got.Config[name] != value {
			t.Errorf("%s is %q, want %q", name, got.Config[name], value)
		}
	}
}

// TestCompleteUnreachable: MAAS's sizes are as of the last commissioning, so they are not
// taken for the present ones.
func TestCompleteUnreachable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	id := w.composeVM(w.composer, newComposition("web1"))
	m, err := w.maas.Machines.Machine(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	m.Cores, m.MemoryMiB, m.Disks = 1, 1024, []engine.MachineDisk{{Name: "sda", SizeGB: 4}, {Name: "sdb", SizeGB: 5}}
	if got := w.newComposer().CompleteMachine(t.Context(), m); got.Cores != 2 || got.MemoryMiB != 2048 || got.Disks[0].SizeGB != 8 || got.HostName != "h1" {
		t.Errorf("LXD tells its size, got %+v", got)
	}
	if err := w.sim.SetLXDCondition("h1", sim.ConditionUnreachable); err != nil {
		t.Fatal(err)
	}
	for host, c := range map[string]*Composer{"h1": w.composer, "": w.newComposer()} { // who has made it knows where
		if got := c.CompleteMachine(t.Context(), m); got.Cores != 0 || got.MemoryMiB != 0 || len(got.Disks) != 0 || got.HostName != host {
			t.Errorf("nobody tells its size, got %+v, want it on host %q", got, host)
		}
	}
	w.servers = nil
	if got := w.newComposer().CompleteMachine(t.Context(), m); got.Cores != 1 || len(got.Disks) != 2 {
		t.Errorf("it is on none of the hosts, got %+v", got)
	}
}

// TestDecomposeRefuses checks what is not deleted: both the instance and the machine stay.
func TestDecomposeRefuses(t *testing.T) {
	t.Parallel()
	whole := []string{"instance web1 on h1", "machine web1"}
	cases := map[string]struct {
		reason string
		before func(*testing.T, *composeWorld)
		want   string
	}{
		"Runs": {"It must be stopped first.", func(t *testing.T, w *composeWorld) {
			w.setRunning(t, true)
		}, "ErrBusy, HostUnavailable"},
		"Unreachable": {"A machine without its instance would be forgotten.", func(t *testing.T, w *composeWorld) {
			if err := w.sim.SetLXDCondition("h1", sim.ConditionUnreachable); err != nil {
				t.Fatal(err)
			}
		}, "ErrUnavailable, HostUnavailable"},
		"NoHost": {"It is none of the hosts.", func(_ *testing.T, w *composeWorld) { w.servers = nil }, "ErrConflict"},
		"Changed": {"Another server answers.", func(t *testing.T, w *composeWorld) {
			if _, err := w.sim.RenewCertificate("h1"); err != nil {
				t.Fatal(err)
			}
		}, "ErrOtherServer, HostUnavailable"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			id := w.composeVM(w.composer, newComposition("web1"))
			tc.before(t, w)
			err := w.newComposer().Decompose(t.Context(), id)
			if errorKinds(err) != tc.want {
				t.Errorf("%s\ngot  %s: %v\nwant %s", tc.reason, errorKinds(err), err, tc.want)
			}
			if diff := cmp.Diff(whole, w.listObjects()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestErrorOfEachStatus checks what each of LXD's answers to a change means.
func TestErrorOfEachStatus(t *testing.T) {
	t.Parallel()
	cases := map[int]struct {
		reason string
		want   string
	}{
		http.StatusBadRequest:          {"A bad value; in places also what is there already.", "ErrInvalid, VMCreationFailed"},
		http.StatusForbidden:           {"The certificate may not use the project.", "ProjectNotFound"},
		http.StatusNotFound:            {"A project, pool, network or profile that is not there.", "ErrNotFound, VMCreationFailed"},
		http.StatusConflict:            {"It is there already.", "ErrConflict, VMCreationFailed"},
		http.StatusPreconditionFailed:  {"Somebody else has just changed it.", "ErrBusy, VMCreationFailed"},
		http.StatusInternalServerError: {"Much that has no status of its own.", "ErrUnavailable, VMCreationFailed"},
		http.StatusNotImplemented:      {"The LXD is too new, or too old.", "ErrInvalid, VMCreationFailed"},
		http.StatusServiceUnavailable:  {"It is starting or stopping.", "ErrUnavailable, HostUnavailable"},
	}
	for status, tc := range cases {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			if _, err := w.composer.Hosts(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.sim.AddFault(sim.Fault{Path: "lxd/h1/1.0/instances", Method: "POST", Kind: sim.FaultStatus, Status: status})
			_, err := w.composer.Compose(t.Context(), engine.VMHost{MachineID: "host01"}, newComposition("web1"))
			if errorKinds(err) != tc.want || !strings.Contains(shownText(err), "\n") {
				t.Errorf("%s\ngot  %s: %v\nwant %s", tc.reason, errorKinds(err), err, tc.want)
			}
			if got := w.listObjects(); len(got) > 0 {
				t.Errorf("left %v", got)
			}
			w.wantVolumes(t)
		})
	}
}

// TestMACs: a VM always has the same MACs on the same host, and no other VM has them.
func TestMACs(t *testing.T) {
	t.Parallel()
	choose := func(marker, machineID string, taken map[string]bool) []string {
		p := plan{host: serverSurvey{Server: Server{MachineID: machineID}}, macs: make([]string, 2), taken: taken}
		p.comp.Marker = marker
		p.post.Devices = map[string]map[string]string{"eth0": {}, "eth1": {}}
		p.chooseMACs()
		return p.macs
	}
	first := choose("maaslxd-a", "m1", nil)
	if diff := cmp.Diff(first, choose("maaslxd-a", "m1", nil)); diff != "" || first[0] == first[1] {
		t.Errorf("twice (-first +second):\n%s", diff)
	}
	for name, other := range map[string][]string{
		"another VM":   choose("maaslxd-b", "m1", nil),
		"another host": choose("maaslxd-a", "m2", nil),
		"one is taken": choose("maaslxd-a", "m1", map[string]bool{first[1]: true}),
	} {
		if haveCommonElement(first, other) {
			t.Errorf("%s: %v and %v", name, first, other)
		}
	}
}

// TestDecomposeMoved finds an instance on another host by its MAC.
func TestDecomposeMoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	comp := newComposition("web1")
	comp.Disks = comp.Disks[:1]
	id := w.composeVM(w.composer, comp)
	m, err := w.maas.Machines.Machine(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.sim.RemoveInstance("h1", "maas", "web1"); err != nil {
		t.Fatal(err)
	}
	if err := w.sim.AddInstance(sim.Instance{Host: "h2", Project: "maas", Name: "web1", MACs: []string{m.Interfaces[0].MAC}}); err != nil {
		t.Fatal(err)
	}
	for _, other := range []struct {
		condition sim.Condition
		want      string
	}{{sim.ConditionUnreachable, "ErrUnavailable, HostUnavailable"}, {sim.ConditionOK, ""}} {
		if err := w.sim.SetLXDCondition("h2", other.condition); err != nil {
			t.Fatal(err)
		}
		if err := w.composer.SyncHost(t.Context(), engine.VMHost{MachineID: "host01"}, ""); errorKinds(err) != other.want {
			t.Errorf("a sync while h2 is %v: %s: %v, want %q", other.condition, errorKinds(err), err, other.want)
		}
	}
	if diff := cmp.Diff([]string{"instance web1 on h2", "machine web1"}, w.listObjects()); diff != "" {
		t.Errorf("after a sync (-want +got):\n%s", diff)
	}
	if err := w.composer.Decompose(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string(nil), w.listObjects()); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

// TestComposeEnlistedMeanwhile: MAAS answers with an error, but another process has
// enlisted the instance by then. So the instance stays.
func TestComposeEnlistedMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.composeVM(w.newComposer(), newComposition("web1"))
	w.sim.AddFault(sim.Fault{Path: "machines/", Method: "POST", Kind: sim.FaultStatus, Status: 500})
	if _, err := w.composer.Compose(t.Context(), engine.VMHost{MachineID: "host01"}, newComposition("web1")); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]string{"instance web1 on h1", "machine web1"}, w.listObjects()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
