package assembly_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
)

// sharedLXD is one LXD of which MAAS has two VM hosts, of a project each.
func sharedLXD() sim.Model {
	return sim.Model{Hosts: []sim.HostModel{
		{Name: "a", Cores: 16, MemoryMiB: 65536, Address: "https://10.200.0.9:8443", Project: "pa"},
		{Name: "b", Cores: 16, MemoryMiB: 65536, Address: "https://10.200.0.9:8443", Project: "pb"},
	}}
}

// TestHostSharesItsLXD removes one of two VM hosts of an LXD. MAAS deletes the
// record of the machine that both share.
func TestHostSharesItsLXD(t *testing.T) {
	cases := map[string]struct {
		reason string
		remove func(*testing.T, testMAAS, process)
	}{
		"ByUs": {"The other one is restored with the removal.", func(t *testing.T, r testMAAS, p process) {
			if err := r.sim.TrustCertificate("a", fleetPair().Certificate); err != nil {
				t.Fatal(err)
			}
			spec := engine.HostSpec{Name: "mine", Address: "https://10.200.0.9:8443", Project: "default", Credentials: fleetPair()}
			ref := engine.Ref{Key: hostKey, Name: "mine"}
			h, err := p.applyHost(ref, spec)
			if err != nil {
				t.Fatal(err)
			}
			ref.SystemID = h.Machine.SystemID
			if err := p.deleteHost(ref); err != nil {
				t.Fatal(err)
			}
		}},
		"ByHand": {"The next VM restores it.", func(t *testing.T, r testMAAS, _ process) {
			r.call(t, "DELETE", "vm-hosts/1/", nil)
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inHostsOf(t, sharedLXD(), func(t *testing.T, r testMAAS, p process) {
				tc.remove(t, r, p)
				spec := webVMSpec()
				spec.Host = "b"
				r.sim.ResetJournal()
				if found := p.engine.VMs.Check(p.ctx, engine.Ref{Key: "default/web-1", Name: "web-1"}, spec); len(found.Permanent) > 0 {
					t.Errorf("%s A plan of a VM on it is refused: %v", tc.reason, found.Permanent)
				}
				if _, err := p.applyVM(spec); err != nil {
					t.Errorf("%s A VM on it: %v", tc.reason, err)
				}
				want := map[string]int{"ByHand": 1}[name]
				if n := r.sim.Journal().Count("POST vm-hosts/{id}/ refresh"); n != want {
					t.Errorf("%s %d refreshes, want %d", tc.reason, n, want)
				}
			})
		})
	}
}

// TestRestoresWhatIsNamed: MAAS has lost the machine of a VM host, whose maker is
// unknown. Only who names it has it refreshed: MAAS adopts what it finds there.
func TestRestoresWhatIsNamed(t *testing.T) {
	cases := map[string]struct {
		reason    string
		host      string
		others    []sim.HostModel
		condition sim.Condition
		want      string // the host of the VM; empty: none
		refreshes int
	}{
		"Named":  {reason: "The user wants this one.", host: "b", want: "b", refreshes: 1},
		"Placed": {reason: "It is nobody's that we know."},
		"Elsewhere": {
			reason: "It is not needed, and does not answer.", condition: sim.ConditionUnreachable, want: "c",
			others: []sim.HostModel{{Name: "c", Cores: 8, MemoryMiB: 16384}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := sharedLXD()
			m.Hosts = append(m.Hosts, tc.others...)
			inHostsOf(t, m, func(t *testing.T, r testMAAS, p process) {
				r.call(t, "DELETE", "vm-hosts/1/", nil)
				if tc.condition != "" {
					if err := r.sim.SetLXDCondition("b", tc.condition); err != nil {
						t.Fatal(err)
					}
				}
				spec := webVMSpec()
				spec.Host, spec.Deploy = tc.host, nil
				r.sim.ResetJournal()
				began := time.Now()
				vm, err := p.applyVM(spec)
				took := time.Since(began)
				var misfit *engine.Error
				errors.As(err, &misfit)
				switch {
				case tc.want == "" && (misfit == nil || !strings.Contains(misfit.Hint, "b: ") || !strings.Contains(misfit.Hint, "refresh")):
					t.Errorf("%s\nwant a hint that names b, got %v, %+v", tc.reason, err, misfit)
				case tc.want != "" && (err != nil || vm.HostName != tc.want || took > 30*time.Second):
					t.Errorf("%s\nwant it on %s at once, got %q, %v after %s", tc.reason, tc.want, vm.HostName, err, took)
				}
				if n := r.sim.Journal().Count("POST vm-hosts/{id}/ refresh"); n != tc.refreshes {
					t.Errorf("%s\n%d refreshes, want %d", tc.reason, n, tc.refreshes)
				}
			})
		})
	}
}
