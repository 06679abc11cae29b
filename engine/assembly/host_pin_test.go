package assembly_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
)

const serverData = "maaslxd-server-fingerprint"

// serverFingerprint is the fingerprint of the certificate that an LXD shows.
func (r testMAAS) serverFingerprint(t *testing.T, lxd string) string {
	t.Helper()
	for _, l := range r.sim.LXDs() {
		if l.Name == lxd {
			return engine.Credentials{Certificate: l.Certificate}.Fingerprint()
		}
	}
	t.Fatalf("there is no LXD %s", lxd)
	return ""
}

// renewCertificate lets an LXD show another certificate, and returns its fingerprint.
func (r testMAAS) renewCertificate(t *testing.T, lxd string) string {
	t.Helper()
	certificate, err := r.sim.RenewCertificate(lxd)
	if err != nil {
		t.Fatal(err)
	}
	return engine.Credentials{Certificate: certificate}.Fingerprint()
}

// wantOther checks that an error names the host and both certificates, and that
// MAAS was told nothing.
func (r testMAAS) wantOther(t *testing.T, err error, names ...string) {
	t.Helper()
	var failure *engine.Error
	if !errors.Is(err, engine.ErrOtherServer) || !errors.As(err, &failure) || failure.Hint == "" || !engine.IsTerminal(err) {
		t.Fatalf("want a terminal error with a hint about another server, got %v", err)
	}
	for _, name := range names {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name %s: %v", name, err)
		}
	}
	if w := r.writes(); len(w) != 0 {
		t.Errorf("%v were sent", w)
	}
}

// TestHostServerIsNoted: the first look notes the certificate of the LXD on its
// machine, however the host came to be, and before MAAS is told of it.
func TestHostServerIsNoted(t *testing.T) {
	cases := map[string]struct {
		reason  string
		spec    func() engine.HostSpec
		lxd     string
		machine string
	}{
		"Deployed": {"Its LXD is new.", metalHost, "m1", "m1"},
		"Adopted":  {"Its LXD is an operator's.", adoptedHost, "run", "run"},
		"Server":   {"Its machine is known once MAAS has seen it.", serverHost, "known-lxd", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inHosts(t, func(t *testing.T, r testMAAS, p process) {
				r.deployByOperator(t)
				h, ref := p.makeHost(t, tc.spec())
				want := r.serverFingerprint(t, tc.lxd)
				if h.ServerFingerprint != want {
					t.Errorf("%s\nthe host says %q, want %s", tc.reason, h.ServerFingerprint, want)
				}
				if tc.machine != "" && r.machine(t, tc.machine).OwnerData[serverData] != want {
					t.Errorf("%s\nowner data: %v", tc.reason, r.machine(t, tc.machine).OwnerData)
				}
				seen, err := p.engine.Hosts.Observe(t.Context(), ref)
				if err != nil || seen.ServerFingerprint != want {
					t.Errorf("%s\nobserved %q, %v", tc.reason, seen.ServerFingerprint, err)
				}
				fleet, err := p.engine.Fleet(t.Context())
				for _, f := range fleet.Hosts {
					if f.ID == h.VMHost.ID && f.ServerFingerprint != want || f.Name == "lxd1" && f.ServerFingerprint != "" {
						t.Errorf("%s\nthe fleet says %+v", tc.reason, f)
					}
				}
				if err != nil || len(fleet.Hosts) != 2 {
					t.Errorf("the fleet is %+v, %v", fleet.Hosts, err)
				}
			})
		})
	}
}

// TestHostServerIsNotedFirst: a run that dies with the registration leaves the
// note, which the next one holds the LXD to.
func TestHostServerIsNotedFirst(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		for len(r.records(t)) == 0 {
			if _, err := p.engine.Hosts.Reconcile(p.ctx, newHostRef, metalHost()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		before := r.machine(t, "m1").OwnerData[serverData]
		if before == "" || before != r.serverFingerprint(t, "m1") {
			t.Fatalf("registered with %q noted", before)
		}
		after := r.renewCertificate(t, "m1")
		time.Sleep(time.Minute) // MAAS's inventory is there
		r.sim.ResetJournal()
		h, err := r.start(t, newRows(), 0, breakage{}).applyHost(newHostRef, metalHost())
		r.wantOther(t, err, before, after, "m1")
		if h.Finished {
			t.Error("it is finished all the same")
		}
	})
}

// TestHostServerUnseen: where MAAS alone reaches LXDs, there is nothing to note,
// and nothing that could be demanded.
func TestHostServerUnseen(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, _ process) {
		r.probe = nil
		p := r.start(t, newRows(), 0, breakage{})
		spec := metalHost()
		spec.ServerFingerprint = strings.Repeat("ab", 32)
		var bad *engine.SpecError
		if _, err := p.applyHost(newHostRef, spec); !errors.As(err, &bad) || bad.Field.String() != "server_fingerprint" || bad.Hint == "" || len(r.writes()) != 0 {
			t.Errorf("want it refused before anything is done, got %v and %v", err, r.writes())
		}
		if h, _ := p.makeHost(t, metalHost()); h.ServerFingerprint != "" {
			t.Errorf("noted %s, which nobody has seen", h.ServerFingerprint)
		}
	})
}

// TestHostServerDemanded: nothing is believed where the certificate is told
// beforehand.
func TestHostServerDemanded(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		spec := serverHost()
		spec.ServerFingerprint = strings.Repeat("ab", 32)
		_, err := p.applyHost(newHostRef, spec)
		r.wantOther(t, err, spec.ServerFingerprint, r.serverFingerprint(t, "known-lxd"), "hv9")
		r.wantNoRecord(t)
		for _, wrong := range []string{"AB" + spec.ServerFingerprint[2:], "ab:cd", spec.ServerFingerprint + "a"} {
			spec.ServerFingerprint = wrong
			var bad *engine.SpecError
			if _, err := p.applyHost(newHostRef, spec); !errors.As(err, &bad) || bad.Field.String() != "server_fingerprint" {
				t.Errorf("%q: want it refused, got %v", wrong, err)
			}
		}
		spec.ServerFingerprint = r.serverFingerprint(t, "known-lxd")
		if h, _ := p.makeHost(t, spec); h.ServerFingerprint != spec.ServerFingerprint {
			t.Errorf("noted %q", h.ServerFingerprint)
		}
	})
}

// TestHostServerChanged: an LXD that shows another certificate is used for
// nothing, until the new one is accepted.
func TestHostServerChanged(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		h, ref := p.makeHost(t, metalHost())
		before := h.ServerFingerprint
		after := r.renewCertificate(t, "m1")
		r.sim.ResetJournal()
		spec := metalHost()
		spec.Zone = "az2"
		_, err := p.applyHost(ref, spec)
		r.wantOther(t, err, before, after, "m1")
		ref.Release.Credentials = fleetPair()
		r.wantOther(t, p.deleteHost(ref), before, after, "m1")
		spec.ServerFingerprint = after
		if h, err = p.applyHost(ref, spec); err != nil || h.ServerFingerprint != after || h.VMHost.Zone != "az2" {
			t.Fatalf("accepted, it is %+v, %v", h, err)
		}
		spec.ServerFingerprint = "" // it is noted now
		r.sim.ResetJournal()
		if _, err := p.applyHost(ref, spec); err != nil || len(r.writes()) != 0 {
			t.Errorf("got %v, and %v were sent", err, r.writes())
		}
		if err := p.deleteHost(ref); err != nil {
			t.Error(err)
		}
		r.wantReady(t, "m1")
	})
}

// TestHostServerForced: who gives the host back by force need not see it.
func TestHostServerForced(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		_, ref := p.makeHost(t, metalHost())
		r.renewCertificate(t, "m1")
		ref.Release = engine.Release{Force: true, Credentials: fleetPair()}
		if err := p.deleteHost(ref); err != nil {
			t.Error(err)
		}
		r.wantReady(t, "m1")
	})
}

// TestHostServerForgotten: MAAS was made to forget the VM host. It is not
// registered again while something else answers.
func TestHostServerForgotten(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		h, ref := p.makeHost(t, metalHost())
		r.call(t, "DELETE", "vm-hosts/"+itoa(r.records(t)[0].ID)+"/", nil)
		after := r.renewCertificate(t, "m1")
		time.Sleep(time.Minute)
		r.sim.ResetJournal()
		_, err := p.applyHost(ref, metalHost())
		r.wantOther(t, err, h.ServerFingerprint, after, "m1")
		r.wantNoRecord(t)
	})
}

// TestHostServerNoteLost: somebody took the note off. The caller's memory counts; a certificate
// that nobody remembers is noted anew.
func TestHostServerNoteLost(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		h, ref := p.makeHost(t, metalHost())
		lose := func() {
			data := r.machine(t, "m1").OwnerData
			delete(data, serverData)
			if err := r.sim.EditMachine(h.Machine.SystemID, sim.MachineEdit{OwnerData: &data}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			r.sim.ResetJournal()
		}
		lose()
		after := r.renewCertificate(t, "m1")
		ref.ServerFingerprint = h.ServerFingerprint
		_, err := p.applyHost(ref, metalHost())
		r.wantOther(t, err, h.ServerFingerprint, after, "m1")
		ref.ServerFingerprint = after
		if h, err = p.applyHost(ref, metalHost()); err != nil || h.ServerFingerprint != after {
			t.Errorf("got %q, %v", h.ServerFingerprint, err)
		}
		lose()
		ref.ServerFingerprint = ""
		if h, err = p.applyHost(ref, metalHost()); err != nil || h.ServerFingerprint != after {
			t.Errorf("got %q, %v", h.ServerFingerprint, err)
		}
	})
}

// TestHostServerRedeployed: a machine that we deploy anew has another LXD, whose
// certificate is its own.
func TestHostServerRedeployed(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		first, ref := p.makeHost(t, metalHost())
		if err := p.deleteHost(ref); err != nil {
			t.Fatal(err)
		}
		if data := r.machine(t, "m1").OwnerData; len(data) != 0 {
			t.Errorf("the release left %v", data)
		}
		second, _ := p.makeHost(t, metalHost())
		if second.ServerFingerprint == "" || second.ServerFingerprint == first.ServerFingerprint {
			t.Errorf("it was %s, and is %s", first.ServerFingerprint, second.ServerFingerprint)
		}
	})
}

// TestHostServerAway: an LXD that is away for a while does not keep its VM host
// from being changed in MAAS, unless a certificate is to be accepted.
func TestHostServerAway(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		h, ref := p.makeHost(t, metalHost())
		r.probe = unreachableProbe{}
		p = r.start(t, newRows(), 0, breakage{})
		spec := metalHost()
		spec.Tags = []string{"green"}
		if got, err := p.applyHost(ref, spec); err != nil || got.ServerFingerprint != h.ServerFingerprint {
			t.Errorf("got %q, %v", got.ServerFingerprint, err)
		}
		spec.ServerFingerprint = strings.Repeat("ab", 32)
		if _, err := p.applyHost(ref, spec); !errors.Is(err, engine.ErrUnavailable) || !strings.Contains(err.Error(), spec.ServerFingerprint) {
			t.Errorf("want it said that nobody saw the certificate, got %v", err)
		}
		if got := r.machine(t, "m1").OwnerData[serverData]; got != h.ServerFingerprint {
			t.Errorf("noted %s, which nobody has seen", got)
		}
	})
}

// unreachableProbe is a probe that reaches nothing.
type unreachableProbe struct{}

// Server implements engine.Probe.
func (unreachableProbe) Server(context.Context, engine.Endpoint, engine.Credentials, string) (engine.LXDServer, error) {
	return engine.LXDServer{}, engine.ErrUnavailable
}

// TestHostKeyNotTrusted: MAAS is not given a key that the LXD does not know.
func TestHostKeyNotTrusted(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		_, ref := p.makeHost(t, metalHost())
		r.sim.ResetJournal()
		next := metalHost()
		next.Credentials = operatorPair()
		_, err := p.applyHost(ref, next)
		var failure *engine.Error
		if !errors.As(err, &failure) || !errors.Is(err, engine.ErrForbidden) || !strings.Contains(failure.Hint, "lxc config trust add") || len(r.writes()) != 0 {
			t.Errorf("want it refused with a way out, got %v, and %v were sent", err, r.writes())
		}
	})
}
