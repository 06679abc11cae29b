package assembly_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/engine"
)

// TestSecondHostOfAMachine registers a project of an LXD whose VM host is another
// owner's already: nothing is registered.
func TestSecondHostOfAMachine(t *testing.T) {
	inHostsOf(t, sharedLXD(), func(t *testing.T, r testMAAS, p process) {
		if err := r.sim.TrustCertificate("a", fleetPair().Certificate); err != nil {
			t.Fatal(err)
		}
		spec := engine.HostSpec{Name: "mine", Address: "https://10.200.0.9:8443", Project: "default", Credentials: fleetPair()}
		if _, err := p.applyHost(engine.Ref{Key: hostKey, Name: "mine"}, spec); err != nil {
			t.Fatal(err)
		}
		before := len(r.records(t))

		spec.Name, spec.Project = "other", "second"
		_, err := p.applyHost(engine.Ref{Key: "team-b/vm-hosts/other", Name: "other"}, spec)
		var bad *engine.SpecError
		if !errors.Is(err, engine.ErrConflict) || !errors.As(err, &bad) || bad.Field.String() != "address" || !strings.Contains(err.Error(), "whose VM host belongs to "+string(hostKey)) {
			t.Errorf("want a refusal that says whose the machine's VM host is, got %v", err)
		}
		if after := len(r.records(t)); after != before {
			t.Errorf("MAAS has %d VM hosts, and had %d before", after, before)
		}
	})
}

// TestVMByMachineOfSeveralHosts names the machine of a host that this program has made
// and beside which others registered further projects.
func TestVMByMachineOfSeveralHosts(t *testing.T) {
	inHostsOf(t, sharedLXD(), func(t *testing.T, r testMAAS, p process) {
		if err := r.sim.TrustCertificate("a", fleetPair().Certificate); err != nil {
			t.Fatal(err)
		}
		hostSpec := engine.HostSpec{Name: "mine", Address: "https://10.200.0.9:8443", Project: "default", Credentials: fleetPair()}
		h, err := p.applyHost(engine.Ref{Key: hostKey, Name: "mine"}, hostSpec)
		if err != nil {
			t.Fatal(err)
		}
		spec := webVMSpec()
		spec.Host = h.Machine.SystemID
		vm, err := p.applyVM(spec)
		if err != nil || vm.HostName != "mine" {
			t.Errorf("want the VM on mine, got it on %q, %v", vm.HostName, err)
		}
	})
}

// TestHostGoesBesideVMs removes a VM host of an LXD whose other VM host has a VM. MAAS
// made the machine's record itself, and would forget that VM with it.
func TestHostGoesBesideVMs(t *testing.T) {
	inHostsOf(t, sharedLXD(), func(t *testing.T, r testMAAS, p process) {
		if err := r.sim.TrustCertificate("a", fleetPair().Certificate); err != nil {
			t.Fatal(err)
		}
		spec := engine.HostSpec{Name: "mine", Address: "https://10.200.0.9:8443", Project: "default", Credentials: fleetPair()}
		ref := engine.Ref{Key: hostKey, Name: "mine"}
		h, err := p.applyHost(ref, spec)
		if err != nil {
			t.Fatal(err)
		}
		other := webVMSpec()
		other.Host = "b"
		vm, err := p.applyVM(other)
		if err != nil {
			t.Fatal(err)
		}
		ref.SystemID = h.Machine.SystemID
		for _, force := range []bool{false, true} {
			ref.Release.Force = force
			if err := p.deleteHost(ref); !errors.Is(err, engine.ErrConflict) || !strings.Contains(err.Error(), "web-1 ("+vm.SystemID+", on b)") {
				t.Errorf("force %t: want a refusal that names web-1, got %v", force, err)
			}
		}
		if now := r.machine(t, "web-1"); now.SystemID != vm.SystemID {
			t.Errorf("web-1 is %s by now, and was %s", now.SystemID, vm.SystemID)
		}
		if err := p.delete(engine.Ref{Key: vmKey, Name: "web-1", SystemID: vm.SystemID}); err != nil {
			t.Fatal(err)
		}
		if err := p.deleteHost(ref); err != nil {
			t.Errorf("without VMs beside it: %v", err)
		}
	})
}
