package assembly_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/maas"
)

// inBubble runs a test in virtual time, with a process that nothing breaks.
func inBubble(t *testing.T, f func(t *testing.T, r testMAAS, p process)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := inMemory(t)
		f(t, r, r.start(t, ledger.NewMemory(nil), 0, breakage{}))
	})
}

// stepVMUntil steps until the VM has a status, and returns what a front end would
// know then.
func (p process) stepVMUntil(t *testing.T, status engine.Status) engine.Ref {
	t.Helper()
	ref := newVMRef
	_, err := engine.WaitUntilDone(p.ctx, func(ctx context.Context) (engine.Result[engine.VM], error) {
		if vm, err := p.engine.VMs.Observe(ctx, ref); err == nil && vm.Status == status {
			return engine.Result[engine.VM]{Done: true}, nil
		}
		res, err := p.engine.VMs.Reconcile(ctx, ref, webVMSpec())
		if res.Object.SystemID != "" {
			ref.SystemID = res.Object.SystemID
		}
		res.After = time.Second // the poller may pass a status by
		return res, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func (r testMAAS) machine(t *testing.T, hostname string) sim.Machine {
	t.Helper()
	for _, m := range r.sim.Machines() {
		if m.Hostname == hostname {
			return m
		}
	}
	t.Fatalf("there is no machine %s", hostname)
	return sim.Machine{}
}

// hostMachine is the system id of the machine that a VM host runs on.
func (r testMAAS) hostMachine(t *testing.T, host string) string {
	t.Helper()
	for _, m := range r.sim.Machines() {
		if slices.Contains(strings.Split(m.HostedHosts, ", "), host) {
			return m.SystemID
		}
	}
	t.Fatalf("no machine has the VM host %s", host)
	return ""
}

func (r testMAAS) editWebVM(t *testing.T, e sim.MachineEdit) {
	t.Helper()
	if err := r.sim.EditMachine(r.machine(t, "web-1").SystemID, e); err != nil {
		t.Fatal(err)
	}
}

func ptr[T any](v T) *T { return &v }

func TestNeverAStranger(t *testing.T) {
	cases := map[string]struct {
		reason      string
		description string
		isOffered   bool // the owner may import it
		says        string
	}{
		"NoMark":      {"A machine without a mark is someone's.", "", true, "did not make it"},
		"OthersMark":  {"A VM with another mark is another owner's.", "maaslxd-0123456789ab team-b/web-1", false, `made for "team-b/web-1"`},
		"OthersInUse": {"Also while it is being made.", "maaslxd-0123456789ab team-b/web-1 (in progress)", false, `made for "team-b/web-1"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r testMAAS, p process) {
				other := engine.VMSpec{Name: "web-1", Host: "lxd1", Cores: 1, MemoryMiB: 1024, Disks: []engine.Disk{{Name: "root", SizeGB: 4}}}
				if _, err := engine.WaitUntilDone(t.Context(), p.engine.VMs.Steps(engine.Ref{Key: "team-b/web-1"}, other)); err != nil {
					t.Fatal(err)
				}
				r.editWebVM(t, sim.MachineEdit{Description: &tc.description})
				before := r.machine(t, "web-1")

				q := r.start(t, ledger.NewMemory(nil), 0, breakage{})
				_, err := q.create(newVMRef)
				var spec *engine.SpecError
				if !errors.Is(err, engine.ErrConflict) || !errors.As(err, &spec) || spec.Field.String() != "name" ||
					!strings.Contains(err.Error(), before.SystemID) || !strings.Contains(err.Error(), tc.says) || slices.Contains(spec.Ways, engine.WayImport.ForMachine(before.SystemID)) != tc.isOffered {
					t.Errorf("%s\nwant a conflict about the name that tells the system id and whose it is, got %v", tc.reason, err)
				}
				if err := q.delete(newVMRef); err != nil {
					t.Errorf("%s\na delete of what we never had: %v", tc.reason, err)
				}
				after := r.machine(t, "web-1")
				if after.Description != before.Description || after.Status != before.Status || len(r.sim.Instances()) != 1 {
					t.Errorf("%s\nit was touched: %+v, before %+v", tc.reason, after, before)
				}
			})
		})
	}
}

func TestFinishedVMIsNotTakenTwice(t *testing.T) {
	inBubble(t, func(t *testing.T, r testMAAS, p process) {
		if _, err := p.create(newVMRef); err != nil {
			t.Fatal(err)
		}
		_, err := r.start(t, ledger.NewMemory(nil), 0, breakage{}).create(newVMRef)
		if !errors.Is(err, engine.ErrConflict) {
			t.Errorf("another state took a finished VM: %v", err)
		}
		r.wantOne(t)
	})
}

// TestTwoOwnersOneName lets two owners want one name at the same moment. The
// winner's VM carries only its birth mark for a while, which the loser must
// respect, too.
func TestTwoOwnersOneName(t *testing.T) {
	inBubble(t, func(t *testing.T, r testMAAS, p process) {
		r.sim.AddFault(sim.Fault{Method: "PUT", Path: "machines/*/", Kind: sim.FaultDelay, Delay: 3 * time.Second})
		q := r.start(t, ledger.NewMemory(nil), 0, breakage{})
		refs := []engine.Ref{newVMRef, {Key: "other/web-1", Name: "web-1"}}
		errs := make([]error, 2)
		var wg sync.WaitGroup
		for i, run := range []process{p, q} {
			wg.Go(func() { _, errs[i] = run.create(refs[i]) })
		}
		wg.Wait()
		lost := slices.IndexFunc(errs, func(err error) bool { return err != nil })
		if lost < 0 || errs[1-lost] != nil || !errors.Is(errs[lost], engine.ErrConflict) {
			t.Errorf("want one winner and one conflict, got %v", errs)
		}
		r.wantOne(t)
	})
}

// TestNewbornAdoptedBySync syncs the host inside a compose: MAAS adopts the
// newborn and the compose fails, although its VM is there.
func TestNewbornAdoptedBySync(t *testing.T) {
	inBubble(t, func(t *testing.T, r testMAAS, p process) {
		operator, err := maas.New(maas.Config{URL: r.url, APIKey: r.sim.APIKey(), Transport: r.sim.RoundTripper()})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			r.waitUntilInLXD()
			if err := operator.Hosts.SyncHost(t.Context(), engine.VMHost{ID: 1}, ""); err != nil {
				t.Error(err)
			}
		}()
		vm, err := p.create(newVMRef)
		if err != nil {
			t.Fatal(err)
		}
		if !vm.Ours {
			t.Error("the adopted VM did not get our mark")
		}
		r.wantOne(t)
		failed := slices.ContainsFunc(r.sim.Journal().Calls, func(c sim.Call) bool {
			return c.Route == "POST vm-hosts/{id}/ compose" && c.Status == 400
		})
		if !failed {
			t.Error("the compose did not fail, so this test shows nothing")
		}
	})
}

func TestDeleteInEveryState(t *testing.T) {
	edit := func(status string) func(*testing.T, testMAAS, process) engine.Ref {
		return func(t *testing.T, r testMAAS, p process) engine.Ref {
			ref := p.stepVMUntil(t, engine.StatusDeployed)
			r.editWebVM(t, sim.MachineEdit{StatusName: &status})
			return ref
		}
	}
	until := func(status engine.Status) func(*testing.T, testMAAS, process) engine.Ref {
		return func(t *testing.T, _ testMAAS, p process) engine.Ref { return p.stepVMUntil(t, status) }
	}
	fail := func(status engine.Status) func(*testing.T, testMAAS, process) engine.Ref {
		return func(t *testing.T, r testMAAS, p process) engine.Ref {
			ref := p.stepVMUntil(t, status)
			if err := r.sim.FailMachine(ref.SystemID, "disk on fire"); err != nil {
				t.Fatal(err)
			}
			return ref
		}
	}
	cases := map[string]struct {
		prepare func(*testing.T, testMAAS, process) engine.Ref
		first   string // what has to be asked of MAAS before anything else
	}{
		"Commissioning":       {until(engine.StatusCommissioning), "abort"},
		"Testing":             {edit("Testing"), "abort"},
		"Deploying":           {until(engine.StatusDeploying), "abort"},
		"Deployed":            {until(engine.StatusDeployed), "release"},
		"Allocated":           {edit("Allocated"), "release"},
		"FailedCommissioning": {fail(engine.StatusCommissioning), "power_off"},
		"FailedDeployment":    {fail(engine.StatusDeploying), "power_off"},
		"New":                 {edit("New"), "power_off"},
		"Ready":               {edit("Ready"), "power_off"},
		"Broken":              {edit("Broken"), "power_off"},
		"RescueMode":          {edit("Rescue mode"), "power_off"},
		"FailedReleasing":     {edit("Releasing failed"), "power_off"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r testMAAS, p process) {
				ref := tc.prepare(t, r, p)
				r.sim.ResetJournal()
				if err := p.delete(ref); err != nil {
					t.Errorf("delete: %v", err)
				}
				r.wantNone(t)
				if got := r.firstWrite(); got != "POST machines/{id}/ "+tc.first {
					t.Errorf("the first thing asked of MAAS was %q, want %s", got, tc.first)
				}
				if err := p.delete(ref); err != nil {
					t.Errorf("a second delete: %v", err)
				}
			})
		})
	}
}

// firstWrite is the route of the first call that changes anything.
func (r testMAAS) firstWrite() string {
	for _, c := range r.sim.Journal().Calls {
		if !strings.HasPrefix(c.Route, "GET ") {
			return c.Route
		}
	}
	return ""
}

// TestDeleteWhileLXDIsAway wants the VM kept, for MAAS would report success and
// leave the instance behind.
func TestDeleteWhileLXDIsAway(t *testing.T) {
	inBubble(t, func(t *testing.T, r testMAAS, p process) {
		ref := p.stepVMUntil(t, engine.StatusDeployed)
		if err := r.sim.SetLXDCondition("lxd1", sim.ConditionUnreachable); err != nil {
			t.Fatal(err)
		}
		err := p.delete(ref)
		var failure *engine.Error
		if !errors.As(err, &failure) || failure.Type != engine.HostUnavailable || failure.Hint == "" {
			t.Errorf("want HostUnavailable with a hint, got %v", err)
		}
		if len(r.sim.Instances()) != 1 {
			t.Error("the instance is gone")
		}
		r.machine(t, "web-1")
		if err := r.sim.SetLXDCondition("lxd1", sim.ConditionOK); err != nil {
			t.Fatal(err)
		}
		if err := p.delete(ref); err != nil {
			t.Errorf("delete once LXD is back: %v", err)
		}
		r.wantNone(t)
	})
}

func TestDeleteOfAVanishedInstance(t *testing.T) {
	inBubble(t, func(t *testing.T, r testMAAS, p process) {
		ref := p.stepVMUntil(t, engine.StatusDeployed)
		i := r.sim.Instances()[0]
		if err := r.sim.RemoveInstance(i.Host, i.Project, i.Name); err != nil {
			t.Fatal(err)
		}
		if err := p.delete(ref); err != nil {
			t.Errorf("delete: %v", err)
		}
		r.wantNone(t)
	})
}

func TestLockedVMIsNotDeleted(t *testing.T) {
	inBubble(t, func(t *testing.T, r testMAAS, p process) {
		vm, err := p.create(newVMRef)
		if err != nil {
			t.Fatal(err)
		}
		r.editWebVM(t, sim.MachineEdit{Locked: ptr(true)})
		if err := p.delete(engine.Ref{Key: vmKey, Name: "web-1", SystemID: vm.SystemID}); !errors.Is(err, engine.ErrConflict) || !strings.Contains(err.Error(), "locked") {
			t.Errorf("want a conflict that says locked, got %v", err)
		}
		r.wantOne(t)
	})
}

// TestWhatRanIsLeftAlone wants nothing released, redeployed or commissioned
// whatever state a finished VM is found in, and even if somebody has removed
// its mark.
func TestWhatRanIsLeftAlone(t *testing.T) {
	states := []string{
		"Broken", "Rescue mode", "Testing", "Failed deployment", "Failed testing", "New", "Ready", "Allocated", "Deploying", "Releasing", "Deployed",
	}
	for _, status := range states {
		for _, description := range []string{"", "edited by hand"} {
			t.Run(status+"/"+description, func(t *testing.T) {
				inBubble(t, func(t *testing.T, r testMAAS, p process) {
					vm, err := p.create(newVMRef)
					if err != nil {
						t.Fatal(err)
					}
					if description != "" {
						r.editWebVM(t, sim.MachineEdit{Description: &description})
					}
					r.editWebVM(t, sim.MachineEdit{StatusName: &status})
					r.sim.ResetJournal()
					ref := engine.Ref{Key: vmKey, Name: "web-1", SystemID: vm.SystemID, Finished: true}
					res, err := p.engine.VMs.Reconcile(t.Context(), ref, webVMSpec())
					if err != nil || !res.Done || res.Object.StatusName != status {
						t.Errorf("want it reported as %s, got %+v, %v", status, res, err)
					}
					for _, c := range r.sim.Journal().Calls {
						marking := description != "" && c.Route == "PUT machines/{id}/"
						if !strings.HasPrefix(c.Route, "GET ") && !marking {
							t.Errorf("%s was sent", c.Route)
						}
					}
				})
			})
		}
	}
}

// TestReleasedVM is installed again only if the caller says that it is wanted.
func TestReleasedVM(t *testing.T) {
	inBubble(t, func(t *testing.T, r testMAAS, p process) {
		vm, err := p.create(newVMRef)
		if err != nil {
			t.Fatal(err)
		}
		r.editWebVM(t, sim.MachineEdit{StatusName: ptr("Ready")})
		ref := engine.Ref{Key: vmKey, Name: "web-1", SystemID: vm.SystemID}
		if vm, err = p.create(ref); err != nil || vm.StatusName != "Deployed" || !vm.Finished {
			t.Errorf("got %s, finished %t, %v; want it deployed", vm.StatusName, vm.Finished, err)
		}
	})
}

func TestAllocatedToSomeoneElse(t *testing.T) {
	inBubble(t, func(t *testing.T, r testMAAS, p process) {
		spec := webVMSpec()
		spec.Deploy = nil
		vm, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(newVMRef, spec))
		if err != nil {
			t.Fatal(err)
		}
		other, err := maas.New(maas.Config{URL: r.url, APIKey: r.sim.UserAPIKey(), Transport: r.sim.RoundTripper()})
		if err != nil {
			t.Fatal(err)
		}
		if err := other.Machines.Deploy(t.Context(), vm.SystemID, engine.Deployment{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second) // until the power action is over
		if err := other.Machines.Abort(t.Context(), vm.SystemID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		before := r.machine(t, "web-1")
		if before.StatusName != "Allocated" || before.Owner == "" {
			t.Fatalf("the scene is not set: %+v", before)
		}
		_, err = p.create(engine.Ref{Key: vmKey, Name: "web-1", SystemID: vm.SystemID})
		var refusal *engine.Refusal
		if !errors.As(err, &refusal) || !strings.Contains(err.Error(), before.Owner) || refusal.Hint == "" {
			t.Errorf("want a refusal that names %s, got %v", before.Owner, err)
		}
		if after := r.machine(t, "web-1"); after.StatusName != "Allocated" {
			t.Errorf("it is %s now", after.StatusName)
		}
	})
}

// TestResumeOfAnotherSpec wants an error where a run that was cut off began a
// VM which is not the one that is wanted now.
func TestResumeOfAnotherSpec(t *testing.T) {
	cases := map[string]func(*engine.VMSpec){
		"vm_host":    func(s *engine.VMSpec) { s.Host = "lxd2" },
		"cores":      func(s *engine.VMSpec) { s.Cores = 3 },
		"memory_mib": func(s *engine.VMSpec) { s.MemoryMiB = 3072 },
		"disks":      func(s *engine.VMSpec) { s.Disks = append(s.Disks, engine.Disk{Name: "data", SizeGB: 1}) },
		"interfaces": func(s *engine.VMSpec) {
			s.Interfaces = []engine.Interface{{Name: "a", Subnet: "lan"}, {Name: "b", Subnet: "lan"}}
		},
		"deploy":       func(s *engine.VMSpec) { s.Deploy = nil },
		"deploy.image": func(s *engine.VMSpec) { s.Deploy = &engine.Deployment{Image: "ubuntu/jammy"} },
	}
	for field, change := range cases {
		t.Run(field, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r testMAAS, p process) {
				p.stepVMUntil(t, engine.StatusDeploying)
				spec := webVMSpec()
				change(&spec)
				q := r.start(t, ledger.NewMemory(nil), 0, breakage{})
				_, err := engine.WaitUntilDone(q.ctx, q.engine.VMs.Steps(newVMRef, spec))
				var bad *engine.SpecError
				if !errors.As(err, &bad) || bad.Field.String() != field || bad.Hint == "" {
					t.Errorf("want an error about %s with a hint, got %v", field, err)
				}
				if _, err := q.create(newVMRef); err != nil {
					t.Errorf("with the former spec: %v", err)
				}
				r.wantOne(t)
			})
		})
	}
}

// TestNameTakenInLXD wants an end, with a hint, where MAAS answers 503 for ever
// because only LXD knows an instance of that name. Each compose leaves the volumes
// of the data disks, so that there is one.
func TestNameTakenInLXD(t *testing.T) {
	inBubble(t, func(t *testing.T, r testMAAS, p process) {
		if err := r.sim.AddInstance(sim.Instance{Host: "lxd1", Name: "web-1", Cores: 1, MemoryMiB: 1024}); err != nil {
			t.Fatal(err)
		}
		_, err := p.create(newVMRef)
		var failure *engine.Error
		if !errors.As(err, &failure) || failure.Type != engine.VMCreationFailed || !strings.Contains(failure.Hint, "lxd1 holds an instance web-1") {
			t.Errorf("want VMCreationFailed with a hint at the instance, got %v", err)
		}
		if n := r.countComposes(); n != 1 {
			t.Errorf("%d composes, want one", n)
		}
		if n := len(r.sim.Instances()); n != 1 {
			t.Errorf("%d instances, want the foreign one", n)
		}
	})
}

// waitUntilInLXD waits until a compose is half done: LXD has made the instance, and
// MAAS has not saved it yet.
func (r testMAAS) waitUntilInLXD() {
	for len(r.sim.Instances()) == 0 {
		time.Sleep(5 * time.Millisecond)
	}
	time.Sleep(world().Latency.Compose * 6 / 10) // the first half is LXD's
}

// TestInterruptedCompose wants the system id of a VM whose compose was under
// way when the caller gave up.
func TestInterruptedCompose(t *testing.T) {
	inBubble(t, func(t *testing.T, r testMAAS, p process) {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			r.waitUntilInLXD()
			cancel()
		}()
		vm, err := engine.WaitUntilDone(ctx, p.engine.VMs.Steps(newVMRef, webVMSpec()))
		if !errors.Is(err, context.Canceled) || vm.SystemID == "" {
			t.Errorf("got %q, %v; want the id and that it was cancelled", vm.SystemID, err)
		}
		if _, err := p.create(engine.Ref{Key: vmKey, Name: "web-1", SystemID: vm.SystemID}); err != nil {
			t.Error(err)
		}
		r.wantOne(t)
	})
}

func TestChangesInPlace(t *testing.T) {
	inBubble(t, func(t *testing.T, r testMAAS, p process) {
		vm, err := p.create(newVMRef)
		if err != nil {
			t.Fatal(err)
		}
		spec := webVMSpec()
		spec.Name, spec.Zone, spec.Tags, spec.RemovedTags = "web-2", "default", []string{"db"}, []string{"web"}
		res, err := p.engine.VMs.Reconcile(t.Context(), engine.Ref{Key: "default/web-2", Name: "web-2", SystemID: vm.SystemID}, spec)
		if err != nil || !res.Done {
			t.Fatalf("got %+v, %v; want it done in one step", res, err)
		}
		m := r.machine(t, "web-2")
		if m.Zone != "default" || !slices.Contains(m.Tags, "db") || slices.Contains(m.Tags, "web") || m.StatusName != "Deployed" {
			t.Errorf("got %+v", m)
		}
		if strings.Contains(m.Description, "default/web-1") || !strings.Contains(m.Description, "default/web-2") || !strings.Contains(m.Description, "LXD calls it web-1") {
			t.Errorf("the mark did not follow the name: %q", m.Description)
		}
	})
}

// TestRenamedByOthers renames a VM that somebody else renamed in MAAS. Its instance has the name that it
// was made with, not the one in between.
func TestRenamedByOthers(t *testing.T) {
	inBubble(t, func(t *testing.T, r testMAAS, p process) {
		vm, err := p.create(newVMRef)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.sim.EditMachine(vm.SystemID, sim.MachineEdit{Hostname: new("foo")}); err != nil {
			t.Fatal(err)
		}
		spec := webVMSpec()
		spec.Name = "web-2"
		if _, err := engine.WaitUntilDone(t.Context(), p.engine.VMs.Steps(engine.Ref{Key: "default/web-2", Name: "web-2", SystemID: vm.SystemID, Finished: true}, spec)); err != nil {
			t.Fatal(err)
		}
		if m := r.machine(t, "web-2"); !strings.Contains(m.Description, "LXD calls it web-1") {
			t.Errorf("the description is %q", m.Description)
		}
	})
}

func TestFixedAddress(t *testing.T) {
	inBubble(t, func(t *testing.T, r testMAAS, p process) {
		spec := webVMSpec()
		spec.Interfaces = []engine.Interface{{Name: "eth0", Subnet: "lan", IP: netip.MustParseAddr("10.77.0.42")}}
		vm, err := engine.WaitUntilDone(t.Context(), p.engine.VMs.Steps(newVMRef, spec))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(vm.IPAddresses, []string{"10.77.0.42"}) {
			t.Errorf("got the addresses %v", vm.IPAddresses)
		}
		second := spec
		second.Name = "web-2"
		_, err = engine.WaitUntilDone(t.Context(), p.engine.VMs.Steps(engine.Ref{Key: "default/web-2"}, second))
		var bad *engine.SpecError
		if !errors.As(err, &bad) || bad.Field.String() != "interfaces.eth0.ip" {
			t.Errorf("want an error about the taken address, got %v", err)
		}
	})
}

// TestFailedTransitions wants MAAS's own words when a VM does not come to be.
func TestFailedTransitions(t *testing.T) {
	cases := map[engine.Status]struct {
		want  engine.ErrorType
		words string
	}{
		engine.StatusCommissioning: {engine.VMCreationFailed, "Failed commissioning"},
		engine.StatusDeploying:     {engine.VMDeploymentFailed, "disk on fire"},
	}
	for status, tc := range cases {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			inBubble(t, func(t *testing.T, r testMAAS, p process) {
				ref := p.stepVMUntil(t, status)
				if err := r.sim.FailMachine(ref.SystemID, "disk on fire"); err != nil {
					t.Fatal(err)
				}
				vm, err := p.create(ref)
				var failure *engine.Error
				if !errors.As(err, &failure) || failure.Type != tc.want || !strings.Contains(err.Error(), tc.words) || failure.Host != "lxd1" {
					t.Errorf("want %s on lxd1 with MAAS's words, got %v", tc.want, err)
				}
				if vm.SystemID != ref.SystemID {
					t.Errorf("the VM that failed is not returned: %+v", vm)
				}
			})
		})
	}
}

// TestCallsPerVM counts what a VM costs beyond the reads that all share.
func TestCallsPerVM(t *testing.T) {
	const vms = 8 // as many as the host has cores
	inBubble(t, func(t *testing.T, r testMAAS, p process) {
		each := func(f func(i int, ref engine.Ref) error) {
			t.Helper()
			var wg sync.WaitGroup
			for i := range vms {
				name := fmt.Sprintf("web-%d", i)
				wg.Go(func() {
					if err := f(i, engine.Ref{Key: engine.Key("default/" + name), Name: name}); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
		}
		ids := make([]string, vms)
		each(func(i int, ref engine.Ref) error {
			spec := webVMSpec()
			spec.Name, spec.Tags, spec.Cores, spec.MemoryMiB = ref.Name, nil, 1, 1024
			vm, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(ref, spec))
			ids[i] = vm.SystemID
			return err
		})
		created := r.costOf(t, "creating")
		if created.writes > 5*vms || created.reads > 2*vms {
			t.Errorf("creating %d VMs took %d writes and %d reads, want at most 5 writes each and shared reads", vms, created.writes, created.reads)
		}
		r.sim.ResetJournal()
		each(func(i int, ref engine.Ref) error {
			ref.SystemID = ids[i]
			return p.delete(ref)
		})
		deleted := r.costOf(t, "deleting")
		if deleted.writes+deleted.powers > 3*vms || deleted.reads > 2*vms {
			t.Errorf("deleting %d VMs took %+v, want at most 3 calls each and shared reads", vms, deleted)
		}
	})
}

// callCost is what the journal says of a run: calls that change, questions to the
// power driver, and reads.
type callCost struct{ writes, powers, reads int }

func (r testMAAS) costOf(t *testing.T, doing string) (c callCost) {
	t.Helper()
	journal := r.sim.Journal()
	for _, route := range journal.Routes {
		switch {
		case strings.HasSuffix(route.Route, " query_power_state"):
			c.powers += route.Calls
		case strings.HasPrefix(route.Route, "GET "):
			c.reads += route.Calls
		default:
			c.writes += route.Calls
		}
	}
	t.Logf("%s: %d writes, %d power queries, %d reads with %d machine objects", doing, c.writes, c.powers, c.reads, journal.MachineObjects)
	return c
}
