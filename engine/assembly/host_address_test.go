package assembly_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
)

// TestHostAddress gives a host's bridge a fixed address, by which MAAS and we
// reach its LXD, and takes it back.
func TestHostAddress(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		spec := metalHost()
		spec.Machine.Interfaces = []engine.FixedAddress{{Name: "eth0", IP: netip.MustParseAddr("10.77.0.42")}}
		h, err := p.applyHost(newHostRef, spec)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(h.Address, "10.77.0.42") || !slices.Contains(h.Machine.IPAddresses, "10.77.0.42") {
			t.Errorf("got the address %s and %v", h.Address, h.Machine.IPAddresses)
		}
		ref := engine.Ref{Key: hostKey, SystemID: h.Machine.SystemID}
		if res, err := p.engine.Hosts.Reconcile(t.Context(), ref, spec); err != nil || !res.Done {
			t.Errorf("again: %+v, %v", res, err)
		}
		if err := p.deleteHost(ref); err != nil {
			t.Fatal(err)
		}
		r.wantReady(t, "m1")
		for name, modes := range r.links(t, "m1") {
			if slices.Contains(modes, "static") {
				t.Errorf("%s still has a fixed address", name)
			}
		}
		if diff := cmp.Diff("", r.machine(t, "m1").Description); diff != "" {
			t.Errorf("description (-want +got):\n%s", diff)
		}
	})
}
