package assembly_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// reinstallableVM is a VM with a fixed address and annotations that notes an installation.
func reinstallableVM(installation string, edits ...func(*engine.VMSpec)) engine.VMSpec {
	_, spec := fixedAddressVM("web-1", "10.77.0.20")
	spec.Deploy, spec.Installation = noble(), installation
	spec.Annotations = map[string]string{"team": "blue"}
	for _, edit := range edits {
		edit(&spec)
	}
	return spec
}

// makeReinstallable makes the VM whose installation is to be another one.
func (p process) makeReinstallable(t *testing.T) engine.VM {
	t.Helper()
	vm, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(newVMRef, reinstallableVM("")))
	if err != nil {
		t.Fatal(err)
	}
	return vm
}

// applyReinstall brings the VM to a spec that may want another installation.
func (p process) applyReinstall(systemID string, spec engine.VMSpec) (engine.VM, error) {
	return engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(engine.Ref{Key: newVMRef.Key, SystemID: systemID}, spec))
}

// wantSameVM checks that a VM is Deployed and finished, with the id, MAC address and fixed
// address that it was made with.
func (r testMAAS) wantSameVM(t *testing.T, reason string, p process, made engine.VM, installation string) {
	t.Helper()
	vm, err := p.engine.VMs.Observe(t.Context(), engine.Ref{Key: newVMRef.Key, SystemID: made.SystemID})
	if err != nil {
		t.Fatalf("%s\n%v", reason, err)
	}
	if vm.StatusName != "Deployed" || !vm.Finished || engine.InstallationIn(vm.Description) != installation {
		t.Errorf("%s\nit is %s, finished %v, with the description %q; want the installation %q", reason, vm.StatusName, vm.Finished, vm.Description, installation)
	}
	if diff := cmp.Diff(made.Interfaces, vm.Interfaces); diff != "" {
		t.Errorf("%s\ninterfaces (-made +now):\n%s", reason, diff)
	}
	if diff := cmp.Diff(map[string]string{"team": "blue"}, vm.OwnerData); diff != "" {
		t.Errorf("%s\nannotations (-want +got):\n%s", reason, diff)
	}
}

// TestReinstall wants another installation of a VM in each state in which it can be.
func TestReinstall(t *testing.T) {
	const release, deploy = "POST machines/{id}/ release", "POST machines/{id}/ deploy"
	status := func(name string) *sim.MachineEdit { return &sim.MachineEdit{StatusName: &name} }
	other := func(s *engine.VMSpec) {
		s.Deploy.Image, s.Deploy.UserData = "ubuntu/jammy", []byte("#cloud-config\n{}\n")
	}
	cases := map[string]struct {
		reason            string
		before            *sim.MachineEdit
		released          bool // by hand
		unmarked          bool // its mark says that it is not finished
		had               string
		want              engine.VMSpec
		releases, deploys int
		err               string
	}{
		"Deployed":    {reason: "It is released and deployed again.", want: reinstallableVM("b"), releases: 1, deploys: 1},
		"OtherImage":  {reason: "The new installation may be another one.", want: reinstallableVM("b", other), releases: 1, deploys: 1},
		"Again":       {reason: "Each word installs once more.", had: "b", want: reinstallableVM("c"), releases: 1, deploys: 1},
		"Same":        {reason: "What is noted is there.", had: "b", want: reinstallableVM("b")},
		"NoWish":      {reason: "No word leaves the one that is there.", had: "b", want: reinstallableVM("")},
		"Released":    {reason: "A run was cut off after the release: the next one deploys.", released: true, want: reinstallableVM("b"), deploys: 1},
		"Failed":      {reason: "A deployment that failed is released, and tried again.", before: status("Failed deployment"), want: reinstallableVM("b"), releases: 1, deploys: 1},
		"Broken":      {reason: "What somebody marked as broken is left alone.", before: status("Broken"), want: reinstallableVM("b"), err: "cannot be deployed again while it is Broken"},
		"Rescue":      {reason: "Somebody looks into it.", before: status("Rescue mode"), want: reinstallableVM("b"), err: "cannot be deployed again while it is Rescue mode"},
		"Locked":      {reason: "A lock of somebody else keeps it.", before: &sim.MachineEdit{Locked: new(true)}, want: reinstallableVM("b"), err: "locked in MAAS"},
		"OurLock":     {reason: "So does one that the spec wants.", before: &sim.MachineEdit{Locked: new(true)}, want: reinstallableVM("b", func(s *engine.VMSpec) { s.Locked = new(true) }), err: "cannot redeploy web-1: it is locked in MAAS"},
		"Unlocked":    {reason: "A spec that takes the lock off means it.", before: &sim.MachineEdit{Locked: new(true)}, want: reinstallableVM("b", func(s *engine.VMSpec) { s.Locked = new(false) }), releases: 1, deploys: 1},
		"VMHost":      {reason: "Its VMs would be lost.", before: &sim.MachineEdit{Tags: &[]string{engine.HostTag}}, want: reinstallableVM("b"), err: "is a VM host"},
		"BecomesHost": {reason: "Its LXD is being registered.", before: &sim.MachineEdit{OwnerData: &map[string]string{engine.FingerprintData: "ab"}}, want: reinstallableVM("b"), err: "is a VM host"},
		"NotReleased": {reason: "A release that failed is asked for again.", before: status("Releasing failed"), want: reinstallableVM("b"), releases: 1, deploys: 1},
		"NotErased":   {reason: "So is one that failed at the disks.", before: status("Failed disk erasing"), want: reinstallableVM("b"), releases: 1, deploys: 1},
		"MarkedSince": {reason: "A change in place has marked what failed as finished.", had: "b", before: status("Failed deployment"), want: reinstallableVM("b"), releases: 1, deploys: 1},
		"SameFailed":  {reason: "A run was cut off, and what it wanted failed since.", had: "b", before: status("Failed deployment"), unmarked: true, want: reinstallableVM("b"), releases: 1, deploys: 1},
		"NoSuchImage": {reason: "An image that MAAS lacks costs no installation.", want: reinstallableVM("b", func(s *engine.VMSpec) { s.Deploy.Image = "ubuntu/mars" }), err: "mars"},
		"NoDeploy":    {reason: "There is nothing to deploy.", want: reinstallableVM("b", func(s *engine.VMSpec) { s.Deploy, s.Annotations = nil, nil }), err: "redeploy_triggers"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inAddresses(t, func(t *testing.T, r testMAAS, p process) {
				made := p.makeReinstallable(t)
				if tc.had != "" {
					if _, err := p.applyReinstall(made.SystemID, reinstallableVM(tc.had)); err != nil {
						t.Fatal(err)
					}
				}
				if tc.before != nil {
					r.editWebVM(t, *tc.before)
				}
				if tc.unmarked {
					description := strings.TrimSuffix(r.machine(t, "web-1").Description, "\n") + " (in progress)"
					r.editWebVM(t, sim.MachineEdit{Description: &description})
				}
				if tc.released {
					r.call(t, "POST", "machines/"+made.SystemID+"/?op=release", nil)
				}
				r.sim.ResetJournal()
				p = r.start(t, ledger.NewMemory(nil), 0, breakage{})
				_, err := p.applyReinstall(made.SystemID, tc.want)
				if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
					t.Errorf("%s\nwant an error with %q, got %v", tc.reason, tc.err, err)
				}
				if got := r.sim.Journal().Count(release); got != tc.releases {
					t.Errorf("%s\nit was released %d times, want %d", tc.reason, got, tc.releases)
				}
				if got := r.sim.Journal().Count(deploy); got != tc.deploys {
					t.Errorf("%s\nit was deployed %d times, want %d", tc.reason, got, tc.deploys)
				}
				switch want := tc.want.Installation; {
				case tc.err != "":
				case want == "":
					r.wantSameVM(t, tc.reason, p, made, tc.had)
				default:
					r.wantSameVM(t, tc.reason, p, made, want)
				}
			})
		})
	}
}

// TestReinstallAgainstEachOther: two runs that want different installations end. One of them
// has its own, and the other one says so.
func TestReinstallAgainstEachOther(t *testing.T) {
	inAddresses(t, func(t *testing.T, r testMAAS, p process) {
		made := p.makeReinstallable(t)
		r.sim.ResetJournal()
		done := make(chan error)
		for _, word := range []string{"b", "c"} {
			q := r.start(t, ledger.NewMemory(nil), 0, breakage{})
			go func() {
				_, err := q.applyReinstall(made.SystemID, reinstallableVM(word))
				done <- err
			}()
		}
		first, second := <-done, <-done
		if n := r.sim.Journal().Count("POST machines/{id}/ release"); n > 2 {
			t.Errorf("it was released %d times", n)
		}
		if first != nil && second != nil {
			t.Errorf("want one of them to end well, got %v and %v", first, second)
		}
		for _, err := range []error{first, second} {
			if err != nil && !strings.Contains(err.Error(), "another run redeployed web-1 meanwhile") {
				t.Errorf("want an error that tells of the other run, got %v", err)
			}
		}
	})
}

// TestReinstallOvertaken: what another run has deployed over the installation that was just
// made is left there.
func TestReinstallOvertaken(t *testing.T) {
	inAddresses(t, func(t *testing.T, r testMAAS, p process) {
		made := p.makeReinstallable(t)
		if _, err := p.applyReinstall(made.SystemID, reinstallableVM("b")); err != nil {
			t.Fatal(err)
		}
		if _, err := r.start(t, ledger.NewMemory(nil), 0, breakage{}).applyReinstall(made.SystemID, reinstallableVM("c")); err != nil {
			t.Fatal(err)
		}
		_, err := p.applyReinstall(made.SystemID, reinstallableVM("b"))
		if err == nil || !engine.IsTerminal(err) || !strings.Contains(err.Error(), "another run redeployed web-1 meanwhile") {
			t.Errorf("want an error that tells of the other run, got %v", err)
		}
		r.wantSameVM(t, "The last one stays.", p, made, "c")
	})
}

// TestReinstalledIsNotMoved: a VM that ran is not made elsewhere when it is commissioned while
// something is installed on it anew, and fails. A create of its name does not take it for left.
func TestReinstalledIsNotMoved(t *testing.T) {
	placed := func(s *engine.VMSpec) { s.Host = "" }
	for _, status := range []string{"Failed commissioning", "Failed testing"} {
		t.Run(status, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, rows := inMemoryOf(t, addressWorld()), ledger.NewMemory(nil)
				p := r.start(t, rows, 0, breakage{})
				made, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(newVMRef, reinstallableVM("", placed)))
				if err != nil {
					t.Fatal(err)
				}
				ref := engine.Ref{Key: newVMRef.Key, SystemID: made.SystemID}
				if _, err := p.engine.VMs.Reconcile(t.Context(), ref, reinstallableVM("b", placed)); err != nil { // and is cut off
					t.Fatal(err)
				}
				r.editWebVM(t, sim.MachineEdit{StatusName: &status})
				for _, want := range []string{"", "b"} {
					q := r.start(t, rows, 0, breakage{})
					if _, err := q.applyReinstall(made.SystemID, reinstallableVM(want, placed)); err == nil {
						t.Errorf("want an error with the installation %q", want)
					}
				}
				if _, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(newVMRef, reinstallableVM("", placed))); err == nil || !strings.Contains(err.Error(), "web-1") {
					t.Errorf("want a create to refuse what ran, got %v", err)
				}
				if now := r.machine(t, "web-1"); now.SystemID != made.SystemID {
					t.Errorf("it is %s by now, and was %s", now.SystemID, made.SystemID)
				}
			})
		})
	}
}

// TestReinstallFails: the run that saw the deployment fail leaves the VM, and the next one
// that wants the same installation tries again.
func TestReinstallFails(t *testing.T) {
	inAddresses(t, func(t *testing.T, r testMAAS, p process) {
		made := p.makeReinstallable(t)
		go func() {
			for r.machine(t, "web-1").StatusName != "Deploying" {
				time.Sleep(time.Second)
			}
			if err := r.sim.FailMachine("web-1", "curtin gave up"); err != nil {
				t.Error(err)
			}
		}()
		_, err := p.applyReinstall(made.SystemID, reinstallableVM("b"))
		if err == nil || !engine.IsTerminal(err) || !strings.Contains(err.Error(), "Failed deployment") {
			t.Fatalf("want an error that names the state, got %v", err)
		}
		if _, err := p.applyReinstall(made.SystemID, reinstallableVM("b")); err != nil {
			t.Fatal(err)
		}
		r.wantSameVM(t, "It is deployed in the end.", p, made, "b")
	})
}

// TestReinstallBroken breaks each call. The run that follows ends with the same VM.
func TestReinstallBroken(t *testing.T) {
	for _, with := range append(hangBreakages, survivableBreakages...) {
		t.Run(with.name, func(t *testing.T) {
			for nth, broke := 1, true; broke; nth++ {
				synctest.Test(t, func(t *testing.T) {
					r := inMemoryOf(t, addressWorld())
					rows := ledger.NewMemory(nil)
					made := r.start(t, rows, 0, breakage{}).makeReinstallable(t)
					p := r.start(t, rows, nth, with)
					_, err := p.applyReinstall(made.SystemID, reinstallableVM("b"))
					broke = p.breaker.hit != ""
					q := r.start(t, rows, 0, breakage{})
					if _, err := q.applyReinstall(made.SystemID, reinstallableVM("b")); err != nil {
						t.Errorf("call %d, %s, then %v", nth, p.breaker.hit, err)
					}
					r.wantSameVM(t, p.breaker.hit, q, made, "b")
					if got := len(r.sim.Instances()); got != 1 {
						t.Errorf("call %d, %s, %v: %d instances", nth, p.breaker.hit, err, got)
					}
				})
			}
		})
	}
}
