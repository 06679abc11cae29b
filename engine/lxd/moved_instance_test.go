package lxd

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/canonical/lxd/shared/api"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// moveInstance moves the instance web1 from the first host to the second, as `lxc move`
// does: it keeps its config, and MAAS does not know.
func (w *composeWorld) moveInstance(t *testing.T) {
	t.Helper()
	var moved api.Instance
	w.withSession(t, 0, func(s *session) error {
		_, err := s.get(s.projectPath("instances", "web1"), &moved)
		return errors.Join(err, s.send(http.MethodDelete, s.projectPath("instances", "web1"), nil, ""))
	})
	w.withSession(t, 1, func(s *session) error {
		post := api.InstancesPost{
			InstancePut: moved.Writable(), Name: moved.Name, Type: api.InstanceTypeVM, Source: api.InstanceSource{Type: "none"},
		}
		return s.send(http.MethodPost, s.projectPath("instances"), post, "")
	})
}

// withSession calls a function with the LXD of a host. The test fails if that fails.
func (w *composeWorld) withSession(t *testing.T, host int, do func(*session) error) {
	t.Helper()
	s, done, err := w.composer.openSession(t.Context(), w.servers[host], w.composer.Timeout)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if err := do(s); err != nil {
		t.Fatal(err)
	}
}

// newRootOnlyComposition returns a VM without volumes: such a VM can be moved.
func newRootOnlyComposition(name string) engine.Composition {
	comp := newComposition(name)
	comp.Disks = comp.Disks[:1]
	return comp
}

// setUnreachable makes the LXDs of these hosts unreachable, and the others reachable.
func (w *composeWorld) setUnreachable(t *testing.T, hosts ...string) {
	t.Helper()
	for _, s := range w.servers {
		condition := sim.ConditionOK
		if slices.Contains(hosts, s.Name) {
			condition = sim.ConditionUnreachable
		}
		if err := w.sim.SetLXDCondition(s.Name, condition); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMovedInstance: an instance that is not where it was counts as gone only after every host
// has answered that it does not have it.
func TestMovedInstance(t *testing.T) {
	t.Parallel()
	gone := func(t *testing.T, w *composeWorld) {
		if err := w.sim.RemoveInstance("h1", "maas", "web1"); err != nil {
			t.Fatal(err)
		}
	}
	moved := func(t *testing.T, w *composeWorld) { w.moveInstance(t) }
	there, machine := []string{"instance web1 on h2", "machine web1"}, []string{"machine web1"}
	cases := map[string]struct {
		reason string
		before func(*testing.T, *composeWorld)
		silent []string
		names  []string // in the error; none: there is none
		whole  []string
	}{
		"Gone":        {"All hosts say that they do not have it.", gone, nil, nil, nil},
		"Moved":       {"It is removed where it is.", moved, nil, nil, nil},
		"MovedSilent": {"It runs on where nobody can ask.", moved, []string{"h2"}, []string{"host h2", "maaslxd-host", "host02"}, there},
		"MovedOther":  {"It was found, so the third one does not matter.", moved, []string{"h3"}, nil, nil},
		"GoneSilent":  {"Nobody can know that it is not there.", gone, []string{"h3"}, []string{"host h3", "host03"}, machine},
		"GoneSilents": {"All of them are named.", gone, []string{"h2", "h3"}, []string{"hosts h2, h3", "host02, host03"}, machine},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 3)
			id := w.composeVM(w.composer, newRootOnlyComposition("web1"))
			tc.before(t, w)
			w.setUnreachable(t, tc.silent...)
			err := w.newComposer().Decompose(t.Context(), id)
			want := ""
			if len(tc.names) > 0 {
				want = "ErrUnavailable, HostUnavailable"
			}
			if errorKinds(err) != want || engine.IsTerminal(err) {
				t.Errorf("%s\ngot  %s: %v\nwant %s, not terminal", tc.reason, errorKinds(err), err, want)
			}
			for _, word := range tc.names {
				if err != nil && !strings.Contains(shownText(err), word) {
					t.Errorf("%s: %q is not in %s", tc.reason, word, shownText(err))
				}
			}
			if diff := cmp.Diff(tc.whole, w.listObjects()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			w.setUnreachable(t)
			if err := w.newComposer().Decompose(t.Context(), id); err != nil {
				t.Errorf("when all answer: %v", err)
			}
			if diff := cmp.Diff([]string(nil), w.listObjects()); diff != "" {
				t.Errorf("left when all answer (-want +got):\n%s", diff)
			}
		})
	}
}

// TestElsewhereByMark: if the NICs of a machine were deleted in MAAS, its instance is found
// by the mark.
func TestElsewhereByMark(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	w.composeVM(w.composer, newRootOnlyComposition("web1"))
	w.moveInstance(t)
	at := location{server: w.servers[0].withDefaultProject(), instance: "web1"}
	found, ok, err := w.composer.findMovedInstance(t.Context(), at, []string{"maaslxd-web1"})
	if err != nil || !ok || found.server.Name != "h2" {
		t.Errorf("by its mark: %+v, %v, %v", found, ok, err)
	}
	for _, marks := range [][]string{nil, {""}, {"maaslxd-web2"}} {
		if found, ok, err := w.composer.findMovedInstance(t.Context(), at, marks); err != nil || ok {
			t.Errorf("by the marks %q: %+v, %v", marks, found, err)
		}
	}
}

// TestResizeMoved: a VM that was moved by hand is resized only on the host whose room was
// checked.
func TestResizeMoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	comp := newRootOnlyComposition("web1")
	id := w.composeVM(w.composer, comp)
	w.moveInstance(t)
	comp.MemoryMiB = 4096
	resize := func(host string) error {
		return w.composer.Resize(t.Context(), engine.VMHost{Name: host, MachineID: host}, id, comp)
	}
	w.setUnreachable(t, "h2")
	if err := resize("host01"); err == nil || errorKinds(err) != "ErrUnavailable, HostUnavailable" || !strings.Contains(shownText(err), "host h2") {
		t.Errorf("while h2 does not answer: %v", err)
	}
	w.setUnreachable(t)
	if err := resize("host01"); errorKinds(err) != "ErrBusy" || !strings.Contains(err.Error(), "h2") {
		t.Errorf("on the host that it has left: %v", err)
	}
	m, err := w.maas.Machines.Machine(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if host, err := w.composer.HostOf(t.Context(), m); err != nil || host.Name != "h2" {
		t.Errorf("its host is %+v, %v", host, err)
	}
	if err := resize("host02"); err != nil {
		t.Error(err)
	}
	w.withSession(t, 1, func(s *session) error {
		var have api.Instance
		_, err := s.get(s.projectPath("instances", "web1"), &have)
		if have.Config["limits.memory"] != "4096MiB" {
			t.Errorf("its memory is %s", have.Config["limits.memory"])
		}
		return err
	})
	if err := w.sim.RemoveInstance("h2", "maas", "web1"); err != nil {
		t.Fatal(err)
	}
	if err := resize("host02"); errorKinds(err) != "ErrConflict, HostUnavailable" || !strings.Contains(shownText(err), "none of the hosts") {
		t.Errorf("when it is gone: %v", err)
	}
}

// TestSyncMoved: MAAS still asks the host that an instance has left. So the machine stays,
// and the error says what to do.
func TestSyncMoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	id := w.composeVM(w.composer, newRootOnlyComposition("web1"))
	w.moveInstance(t)
	if state, err := w.maas.Machines.QueryPower(t.Context(), id); err != nil || state != powerStateError {
		t.Fatalf("MAAS looks where it is not, and finds it %s, %v", state, err)
	}
	for name, c := range map[string]*Composer{"who has made it": w.composer, "another process": w.newComposer()} {
		m, err := w.maas.Machines.Machine(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Hosts(t.Context()); err != nil {
			t.Fatal(err)
		}
		host, err := c.HostOf(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.SyncHost(t.Context(), host, id); err == nil || errorKinds(err) != "ErrConflict" || !strings.Contains(shownText(err), "web1 on host h2") || !strings.Contains(shownText(err), "lxc move") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if diff := cmp.Diff([]string{"instance web1 on h2", "machine web1"}, w.listObjects()); diff != "" {
		t.Errorf("after the syncs (-want +got):\n%s", diff)
	}
}

// TestEngineMoved: a VM was moved by hand. Its machine stays while the new host does not
// answer, and until someone moves the VM back.
func TestEngineMoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	want := newTwoCoreSpec("web1")
	want.Disks = want.Disks[:1]
	vm, err := engine.WaitUntilDone(t.Context(), w.newEngine(t).VMs.Steps(web1Ref, want))
	if err != nil {
		t.Fatal(err)
	}
	w.moveInstance(t)
	ref := engine.Ref{Key: web1Ref.Key, Name: web1Ref.Name, SystemID: vm.SystemID, Finished: true}
	for _, tc := range []struct {
		silent []string
		says   string
	}{{[]string{"h2"}, "remove the tag maaslxd-host from machine host02"}, {nil, "Move it back (lxc move)"}} {
		w.setUnreachable(t, tc.silent...)
		if _, err := w.newEngine(t).VMs.Delete(t.Context(), ref); err == nil || !strings.Contains(shownText(err), tc.says) {
			t.Errorf("with %v silent: got %v, want it to say %q", tc.silent, err, tc.says)
		}
		if diff := cmp.Diff([]string{"instance web1 on h2", "machine web1"}, w.listObjects()); diff != "" {
			t.Errorf("with %v silent (-want +got):\n%s", tc.silent, diff)
		}
	}
}

// TestEngineResizeMoved: a process that knows the former host of a VM resizes it on its new
// host.
func TestEngineResizeMoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	want := newTwoCoreSpec("web1")
	want.Disks = want.Disks[:1]
	e := w.newEngine(t)
	vm, err := engine.WaitUntilDone(t.Context(), e.VMs.Steps(web1Ref, want))
	if err != nil {
		t.Fatal(err)
	}
	w.moveInstance(t)
	want.Cores = 4
	ref := engine.Ref{Key: web1Ref.Key, Name: web1Ref.Name, SystemID: vm.SystemID, Finished: true}
	if vm, err = engine.WaitUntilDone(t.Context(), e.VMs.Steps(ref, want)); err != nil || vm.Cores != 4 || vm.HostName != "h2" {
		t.Errorf("it has %d cores on %s, %v", vm.Cores, vm.HostName, err)
	}
	if all := w.sim.Instances(); len(all) != 1 || all[0].Host != "h2" || all[0].Cores != 4 {
		t.Errorf("there is %+v", all)
	}
}

// TestEngineLostReply: the compose of a VM lost its reply, and its host no longer answers.
// In the end the VM is made on another host, and the possible leftover is reported.
func TestEngineLostReply(t *testing.T) {
	t.Parallel()
	w, book := newWorld(t, 2), ledger.NewMemory(nil)
	want := newTwoCoreSpec("web1")
	want.Host = ""
	w.setUnreachable(t, "h2") // so that h1 is chosen
	w.sim.AddFault(sim.Fault{Path: "lxd/h1/1.0/instances", Method: "POST", Kind: sim.FaultLostReply, When: sim.FaultAfterEffect})
	w.sim.AddFault(sim.Fault{Path: "lxd/h1/1.0/operations", Method: "GET", Kind: sim.FaultReset})
	impatient := func(c *engine.Config) { c.ComposeWindow = time.Millisecond }
	if _, err := w.newEngineWith(t, book).VMs.Reconcile(t.Context(), web1Ref, want); err == nil {
		t.Fatal("its reply was not lost")
	}
	w.sim.ClearFaults()
	w.setUnreachable(t, "h1")
	vm, err := engine.WaitUntilDone(t.Context(), w.newEngineWith(t, book, impatient).VMs.Steps(web1Ref, want))
	if err != nil {
		t.Fatal(err)
	}
	if vm.HostName != "h2" || !strings.Contains(vm.Leftover, "VM host h1 may hold an instance web1") {
		t.Errorf("it is on %s, and what is left: %q", vm.HostName, vm.Leftover)
	}
	if diff := cmp.Diff([]string{"instance web1 on h1", "instance web1 on h2", "machine web1"}, w.listObjects()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCompleteSilent counts the calls of a refresh of many VMs whose host does not answer.
// They cost as much as one VM, and no call to MAAS.
func TestCompleteSilent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	now := time.Now()
	dials := 0
	for _, vms := range []int{1, 100} {
		address, dialled := listenAndHangUp(t)
		w.servers[0].Address = address
		c := w.newComposer(func(c *ComposerConfig) { c.Now = func() time.Time { return now } })
		w.sim.ResetJournal()
		var walk errgroup.Group
		walk.SetLimit(10)
		for n := range vms {
			walk.Go(func() error {
				m := engine.Machine{SystemID: fmt.Sprint("vm", n), Cores: 2, Interfaces: []engine.MachineInterface{{MAC: fmt.Sprintf("00:16:3e:00:00:%02x", n)}}}
				if got := c.CompleteMachine(t.Context(), m); got.Cores != 0 {
					return fmt.Errorf("%s has %d cores, and nobody knows that", m.SystemID, got.Cores)
				}
				return nil
			})
		}
		if err := walk.Wait(); err != nil {
			t.Error(err)
		}
		j := w.sim.Journal()
		if got := j.LXD.Count("GET 1.0/resources"); got != 1 || len(j.Calls) != 0 {
			t.Errorf("%d VMs: the other host was asked %d times, MAAS %d times; want 1 and 0", vms, got, len(j.Calls))
		}
		if dials == 0 {
			dials = int(dialled.Load())
		}
		if got := int(dialled.Load()); got == 0 || got != dials {
			t.Errorf("%d VMs: the silent host was dialled %d times, and for one %d times", vms, got, dials)
		}
	}
}

// listenAndHangUp returns an address that ends every connection without an answer, and
// counts them.
func listenAndHangUp(t *testing.T) (address string, dialled *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	dialled = new(atomic.Int64)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			dialled.Add(1)
			conn.Close()
		}
	}()
	return l.Addr().String(), dialled
}
