package assembly_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
)

// vmOn makes a VM on a host.
func (p process) vmOn(t *testing.T, name, host string) engine.VM {
	t.Helper()
	vm, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(engine.Ref{Key: engine.Key("default/" + name), Name: name}, engine.VMSpec{
		Name: name, Host: host, Cores: 1, MemoryMiB: 1024, Disks: []engine.Disk{{Name: "root", SizeGB: 4}},
	}))
	if err != nil {
		t.Fatal(err)
	}
	return vm
}

// TestHostWithVMsIsKept: the error lists whose VMs are there; once they are
// gone the host goes, too.
func TestHostWithVMsIsKept(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		h, ref := p.makeHost(t, metalHost())
		ours := p.vmOn(t, "web-1", "m1")
		foreign := strings.Split(strings.SplitAfter(r.call(t, "POST", "vm-hosts/"+itoa(h.VMHost.ID)+"/?op=compose", url.Values{"hostname": {"theirs"}, "skip_commissioning": {"true"}}), `"system_id":`)[1], `"`)[1]
		time.Sleep(time.Minute)
		r.sim.ResetJournal()
		err := p.deleteHost(ref)
		var refusal *engine.Refusal
		if !errors.As(err, &refusal) || refusal.Hint == "" {
			t.Fatalf("want a refusal with a hint, got %v", err)
		}
		for _, word := range []string{"web-1", ours.SystemID, "default/web-1", "theirs", foreign} {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%q does not say %s", err, word)
			}
		}
		if w := r.writes(); len(w) != 0 || len(r.sim.Instances()) != 2 {
			t.Errorf("%v were sent, %d instances are left", w, len(r.sim.Instances()))
		}
		if err := p.delete(engine.Ref{Key: "default/web-1", Name: "web-1", SystemID: ours.SystemID}); err != nil {
			t.Fatal(err)
		}
		if err := p.deleteHost(ref); err == nil || strings.Contains(err.Error(), "web-1") || !strings.Contains(err.Error(), "theirs") {
			t.Errorf("want theirs alone in the error, got %v", err)
		}
		r.call(t, "DELETE", "machines/"+foreign+"/", nil)
		if err := p.deleteHost(ref); err != nil {
			t.Error(err)
		}
		r.wantNoRecord(t)
		r.wantReady(t, "m1")
	})
}

// registerOtherProject registers a second project of an LXD, as an operator would.
func (r testMAAS) registerOtherProject(t *testing.T, address string) {
	t.Helper()
	pair := operatorPair()
	r.call(t, "POST", "vm-hosts/", url.Values{
		"type": {"lxd"}, "name": {"theirs"}, "power_address": {address}, "project": {"theirs"},
		"certificate": {pair.Certificate}, "key": {pair.Key},
	})
	time.Sleep(time.Minute)
}

// TestHostShared: MAAS has another VM host on the machine, of another project.
func TestHostShared(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		h, ref := p.makeHost(t, metalHost())
		if err := r.sim.TrustCertificate("m1", operatorPair().Certificate); err != nil {
			t.Fatal(err)
		}
		r.registerOtherProject(t, "https://"+h.Machine.IPAddresses[0]+":8443")
		r.sim.ResetJournal()
		err := p.deleteHost(ref)
		var refusal *engine.Refusal
		if !errors.As(err, &refusal) || !strings.Contains(err.Error(), "theirs") || refusal.Hint == "" {
			t.Errorf("want a refusal that names the other VM host, got %v", err)
		}
		if m := r.machine(t, "m1"); m.StatusName != "Deployed" || r.sim.Journal().Count("POST machines/{id}/ release") != 0 {
			t.Errorf("it is %s", m.StatusName)
		}
		for _, rec := range r.records(t) {
			if rec.Name == "theirs" {
				r.call(t, "DELETE", "vm-hosts/"+itoa(rec.ID)+"/", nil)
			}
		}
		time.Sleep(time.Minute)
		if err := p.deleteHost(ref); err != nil {
			t.Error(err)
		}
		r.wantReady(t, "m1")
	})
}

// TestVMOnASharedMachine: of two VM hosts on one machine, the VM goes to the one
// that suits, and each can be named.
func TestVMOnASharedMachine(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		h, _ := p.makeHost(t, metalHost())
		if err := r.sim.TrustCertificate("m1", operatorPair().Certificate); err != nil {
			t.Fatal(err)
		}
		r.registerOtherProject(t, "https://"+h.Machine.IPAddresses[0]+":8443")
		spec := webVMSpec()
		spec.Host, spec.Deploy = "", nil
		spec.Disks[0].Pool = "fast"
		spec.Placement.Tags = []string{"blue"}
		vm, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(newVMRef, spec))
		if err != nil || vm.HostID != h.VMHost.ID {
			t.Errorf("want it on %s, got %s, %v", h.VMHost.Name, vm.HostName, err)
		}
		for _, host := range []string{h.VMHost.Name, "theirs"} {
			if vm := p.vmOn(t, "on-"+host, host); vm.HostName != host {
				t.Errorf("the VM for %s is on %s", host, vm.HostName)
			}
		}
	})
}

// TestHostSharedServer: an LXD that is only registered may serve others, too.
func TestHostSharedServer(t *testing.T) {
	for name, spec := range map[string]func() engine.HostSpec{"Server": serverHost, "Adopted": adoptedHost} {
		t.Run(name, func(t *testing.T) {
			inHosts(t, func(t *testing.T, r testMAAS, p process) {
				r.deployByOperator(t)
				h, ref := p.makeHost(t, spec())
				address := "10.200.0.9"
				server := "known-lxd"
				if name == "Adopted" {
					server, address = "run", "https://"+h.Machine.IPAddresses[0]+":8443"
				}
				if err := r.sim.TrustCertificate(server, operatorPair().Certificate); err != nil {
					t.Fatal(err)
				}
				r.registerOtherProject(t, address)
				if err := p.deleteHost(ref); err != nil {
					t.Error(err)
				}
				if list := r.records(t); len(list) != 1 || list[0].Name != "theirs" {
					t.Errorf("want the other VM host alone, got %+v", list)
				}
				if r.sim.Journal().Count("POST machines/{id}/ release") != 0 {
					t.Error("it was released")
				}
			})
		})
	}
}

// TestHostDeleteInEveryState wants no VM host left, and the machine Ready and
// un-owned.
func TestHostDeleteInEveryState(t *testing.T) {
	cases := map[string]func(*testing.T, testMAAS, engine.Ref){
		"Deployed": func(*testing.T, testMAAS, engine.Ref) {},
		"Off":      func(t *testing.T, r testMAAS, _ engine.Ref) { r.edit(t, "m1", sim.MachineEdit{PowerState: ptr("off")}) },
		"Broken":   func(t *testing.T, r testMAAS, ref engine.Ref) { r.post(t, "machines/"+ref.SystemID+"/", "mark_broken") },
		"Rescue":   func(t *testing.T, r testMAAS, ref engine.Ref) { r.post(t, "machines/"+ref.SystemID+"/", "rescue_mode") },
		"LXDAway": func(t *testing.T, r testMAAS, _ engine.Ref) {
			if err := r.sim.SetLXDCondition("m1", sim.ConditionUnreachable); err != nil {
				t.Fatal(err)
			}
		},
		"RecordGone": func(t *testing.T, r testMAAS, _ engine.Ref) {
			r.call(t, "DELETE", "vm-hosts/"+itoa(r.records(t)[0].ID)+"/", nil)
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			inHosts(t, func(t *testing.T, r testMAAS, p process) {
				_, ref := p.makeHost(t, metalHost())
				change(t, r, ref)
				for _, which := range []string{"first", "second"} {
					if err := p.deleteHost(ref); err != nil {
						t.Errorf("%s delete: %v", which, err)
					}
				}
				r.wantNoRecord(t)
				r.wantReady(t, "m1")
				r.wantNoDeletes(t)
				for _, c := range r.sim.Journal().Calls {
					if len(c.Query["decompose"]) > 0 {
						t.Errorf("%s was sent with decompose", c.Path)
					}
				}
			})
		})
	}
}

// TestHostOfAnotherKey is neither changed nor deleted.
func TestHostOfAnotherKey(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		_, ref := p.makeHost(t, metalHost())
		ref.Key = "other/hv"
		r.sim.ResetJournal()
		if err := p.deleteHost(ref); !errors.Is(err, engine.ErrConflict) || !strings.Contains(err.Error(), string(hostKey)) {
			t.Errorf("want a refusal that names %s, got %v", hostKey, err)
		}
		if w := r.writes(); len(w) != 0 {
			t.Errorf("%v were sent", w)
		}
		r.wantRecord(t, "m1")
	})
}

// TestHostForced: VMs are lost only where that is asked for.
func TestHostForced(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		_, ref := p.makeHost(t, metalHost())
		vm := p.vmOn(t, "web-1", "m1")
		r.sim.ResetJournal()
		var refusal *engine.Refusal
		if err := p.deleteHost(ref); !errors.As(err, &refusal) || !strings.Contains(err.Error(), vm.SystemID) || len(r.writes()) != 0 {
			t.Errorf("without force: %v, and %v were sent", err, r.writes())
		}
		ref.Release.Force = true
		for _, which := range []string{"first", "second"} {
			if err := p.deleteHost(ref); err != nil {
				t.Errorf("%s delete: %v", which, err)
			}
		}
		r.wantNoRecord(t)
		r.wantReady(t, "m1")
		r.wantNoDeletes(t)
	})
}

// TestHostForcedWaitsForCompose: force is about VMs that are there.
func TestHostForcedWaitsForCompose(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		h, ref := p.makeHost(t, metalHost())
		rows := newRows()
		placePendingRow(t, rows, h.VMHost.HostKey)
		ref.Release.Force = true
		if _, err := r.start(t, rows, 0, breakage{}).engine.Hosts.Delete(t.Context(), ref); !errors.Is(err, engine.ErrBusy) {
			t.Errorf("want it busy, got %v", err)
		}
		r.wantRecord(t, "m1")
	})
}

// TestHostAdoptedForgotten: the caller does not know the machine, and only the
// VM host leads to it.
func TestHostAdoptedForgotten(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		r.deployByOperator(t)
		p.makeHost(t, adoptedHost())
		fails := r
		fails.transport = func() http.RoundTripper { return undeletableTransport{r.transport()} }
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		q := fails.start(t, newRows(), 0, breakage{})
		q.ctx = ctx
		if err := q.deleteHost(newHostRef); err == nil || len(r.records(t)) != 1 {
			t.Errorf("want the VM host left where MAAS refuses, got %v", err)
		}
		if err := r.start(t, newRows(), 0, breakage{}).deleteHost(newHostRef); err != nil {
			t.Error(err)
		}
		r.wantNoRecord(t)
		if m := r.machine(t, "run"); m.StatusName != "Deployed" || m.Owner == "" || len(m.OwnerData) != 0 {
			t.Errorf("it is %s of %q with %v", m.StatusName, m.Owner, m.OwnerData)
		}
	})
}

// undeletableTransport is a MAAS that cannot delete now.
type undeletableTransport struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (u undeletableTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodDelete {
		return answer503(r, nil)
	}
	return u.RoundTripper.RoundTrip(r)
}

// TestHostAdoptedStaysAdopted: what someone else installed is not released,
// however the spec is written by then.
func TestHostAdoptedStaysAdopted(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		r.deployByOperator(t)
		h, err := p.applyHost(newHostRef, adoptedHost())
		if err != nil {
			t.Fatal(err)
		}
		ref := engine.Ref{Key: hostKey, SystemID: h.Machine.SystemID, Finished: true}
		later := metalHost()
		later.Machine.Machine = "run"
		if _, err := p.applyHost(ref, later); err != nil {
			t.Fatal(err)
		}
		if err := p.deleteHost(ref); err != nil {
			t.Fatal(err)
		}
		if m := r.machine(t, "run"); m.StatusName != "Deployed" {
			t.Errorf("the machine that someone else installed is %s", m.StatusName)
		}
		r.wantNoRecord(t)
	})
}

// TestHostWithUnknownInstances: what is in the LXD and not in MAAS goes with the
// machine, too.
func TestHostWithUnknownInstances(t *testing.T) {
	cases := map[string]struct {
		reason string
		record bool
	}{
		"Registered": {"MAAS knows the VM host, and not the instance.", true},
		"RecordGone": {"Somebody has removed the VM host from MAAS; the LXD is there.", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inHosts(t, func(t *testing.T, r testMAAS, p process) {
				_, ref := p.makeHost(t, metalHost())
				if !tc.record {
					r.call(t, "DELETE", "vm-hosts/"+itoa(r.records(t)[0].ID)+"/", nil)
				}
				if err := r.sim.AddInstance(sim.Instance{Host: "m1", Project: "fleet", Name: "by-hand", Cores: 1, MemoryMiB: 1024}); err != nil {
					t.Fatal(err)
				}
				ref.Release.Credentials = fleetPair()
				var refusal *engine.Refusal
				if err := p.deleteHost(ref); !errors.As(err, &refusal) || !strings.Contains(err.Error(), "by-hand") {
					t.Errorf("%s\nwant a refusal that names the instance, got %v", tc.reason, err)
				}
				if m := r.machine(t, "m1"); m.StatusName != "Deployed" {
					t.Errorf("%s\nthe machine is %s", tc.reason, m.StatusName)
				}
				ref.Release.Force = true
				if err := p.deleteHost(ref); err != nil {
					t.Error(err)
				}
				r.wantReady(t, "m1")
			})
		})
	}
}
