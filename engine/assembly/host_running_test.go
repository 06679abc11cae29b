package assembly_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/engine"
)

// TestHostProbing: where nobody asks LXD servers, one that runs already is not
// registered unseen; an engine that does ask goes on with the same machine.
func TestHostProbing(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, _ process) {
		r.deployByOperator(t)
		asks := r.probe
		r.probe = nil
		p := r.start(t, newRows(), 0, breakage{})
		var refusal *engine.Refusal
		if _, err := p.applyHost(newHostRef, adoptedHost()); !errors.As(err, &refusal) || !strings.Contains(err.Error(), "cannot check whether") {
			t.Errorf("want a refusal, for nobody has looked, got %v", err)
		}
		h, err := engine.WaitUntilDone(p.ctx, p.engine.WithProbe(asks).Hosts.Steps(newHostRef, adoptedHost()))
		if err != nil || !h.Registered {
			t.Fatalf("got %+v, %v", h, err)
		}
		r.wantRecord(t, "run")
		if seen, err := p.engine.Hosts.Observe(t.Context(), engine.Ref{Key: hostKey, SystemID: h.Machine.SystemID}); err != nil || !seen.Registered {
			t.Errorf("seen as %+v, %v", seen, err)
		}
	})
}

// TestHostAdoptedUntrusted: what is missing on a machine that somebody else set up
// is said as such, and waited for.
func TestHostAdoptedUntrusted(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, _ process) {
		r.deployByOperator(t)
		r.probe = untrustedProbe{}
		ref := engine.Ref{Key: hostKey, SystemID: r.machine(t, "run").SystemID}
		res, err := r.start(t, newRows(), 0, breakage{}).engine.Hosts.Reconcile(t.Context(), ref, adoptedHost())
		if err != nil || res.Done || res.Reason != "WaitingForLXD" || !strings.Contains(res.Message, "does not trust the client certificate "+fleetPair().Fingerprint()) {
			t.Errorf("want it waited for, and said why, got %+v, %v", res, err)
		}
		r.wantNoRecord(t)
	})
}

// TestHostRegisteredByOthers: a VM host in the same project is found, and is known
// as not ours.
func TestHostRegisteredByOthers(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		h, ref := p.makeHost(t, metalHost())
		r.call(t, "DELETE", "vm-hosts/"+itoa(h.VMHost.ID)+"/", nil)
		pair := fleetPair()
		r.call(t, "POST", "vm-hosts/", map[string][]string{
			"type": {"lxd"}, "name": {"theirs"}, "power_address": {h.Address}, "project": {"fleet"},
			"certificate": {pair.Certificate}, "key": {pair.Key},
		})
		r.sim.Settle()
		seen, err := r.start(t, newRows(), 0, breakage{}).engine.Hosts.Observe(t.Context(), ref)
		if err != nil || seen.VMHost.Name != "theirs" || seen.Registered {
			t.Errorf("seen as %+v, %v", seen, err)
		}
	})
}
