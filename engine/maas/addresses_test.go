package maas

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/maaslxd/maaslxd/engine"
)

func onlySubnet(t *testing.T, w servedMAAS) engine.Subnet {
	t.Helper()
	subnets, err := w.Names.Subnets(t.Context())
	if err != nil || len(subnets) != 1 {
		t.Fatalf("got %v, %v", subnets, err)
	}
	return subnets[0]
}

// TestAddressUse asks for one address of each purpose.
func TestAddressUse(t *testing.T) {
	t.Parallel()
	ip := netip.MustParseAddr
	cases := map[string]struct {
		reason string
		before func(*testing.T, servedMAAS)
		ip     string
		want   engine.AddressUse
		holder string // part of want.Holder
		calls  int
	}{
		"Free":    {reason: "One call tells.", ip: "10.77.0.60", calls: 1},
		"Gateway": {reason: "The router has it; the next one is MAAS's own.", ip: "10.77.0.1", want: engine.AddressUse{Purpose: engine.AddressGateway, NearbyFree: ip("10.77.0.3")}, calls: 2},
		"Dynamic": {
			reason: "MAAS lends it to guests; above the range there is room.", ip: "10.77.0.220",
			want:  engine.AddressUse{Purpose: engine.AddressDynamic, First: ip("10.77.0.200"), Last: ip("10.77.0.250"), NearbyFree: ip("10.77.0.251")},
			calls: 2,
		},
		"Reserved": {
			reason: "Somebody keeps it for something.", ip: "10.77.0.100",
			want:  engine.AddressUse{Purpose: engine.AddressReserved, First: ip("10.77.0.100"), Last: ip("10.77.0.110"), NearbyFree: ip("10.77.0.111")},
			calls: 2,
		},
		"Server": {
			reason: "MAAS itself has it.", ip: "10.77.0.2", holder: "MAAS's own server ",
			want: engine.AddressUse{Purpose: engine.AddressTaken, NearbyFree: ip("10.77.0.3")}, calls: 3,
		},
		"Machine": {
			reason: "A machine has it, which is named.", ip: "10.77.0.60", holder: "machine m1 (",
			before: func(t *testing.T, w servedMAAS) { w.linkAddress(t, "10.77.0.60") },
			want:   engine.AddressUse{Purpose: engine.AddressTaken, NearbyFree: ip("10.77.0.61")}, calls: 3,
		},
		"MachineInRange": {
			reason: "A machine has an address of a reserved range: it is the machine's.", ip: "10.77.0.105", holder: "machine m1 (",
			before: func(t *testing.T, w servedMAAS) { w.linkAddress(t, "10.77.0.105") },
			want:   engine.AddressUse{Purpose: engine.AddressTaken, NearbyFree: ip("10.77.0.111")}, calls: 3,
		},
		"BesideAMachine": {
			reason: "A machine has another address of that reserved range, which makes no difference.", ip: "10.77.0.104",
			before: func(t *testing.T, w servedMAAS) { w.linkAddress(t, "10.77.0.105") },
			want:   engine.AddressUse{Purpose: engine.AddressReserved, First: ip("10.77.0.100"), Last: ip("10.77.0.110"), NearbyFree: ip("10.77.0.111")}, calls: 3,
		},
		"Name": {
			reason: "A name points to it, and reserves it by that.", ip: "10.77.0.60", holder: "the DNS name www.maas",
			before: func(t *testing.T, w servedMAAS) {
				w.callAsOperator(t, http.MethodPost, "dnsresources/", url.Values{"fqdn": {"www.maas"}, "ip_addresses": {"10.77.0.60"}})
			},
			want: engine.AddressUse{Purpose: engine.AddressTaken, NearbyFree: ip("10.77.0.61")}, calls: 3,
		},
		"User": {
			reason: "A user keeps it; nothing above is free.", ip: "10.77.0.254", holder: "the MAAS user admin, who reserved it",
			before: func(t *testing.T, w servedMAAS) {
				for _, text := range []string{"10.77.0.254", "10.77.0.253"} {
					w.callAsOperator(t, http.MethodPost, "ipaddresses/?op=reserve", url.Values{"ip": {text}})
				}
			},
			want: engine.AddressUse{Purpose: engine.AddressTaken, NearbyFree: ip("10.77.0.252")}, calls: 3,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := serveMAAS(t, dnsModel())
			if tc.before != nil {
				tc.before(t, w)
			}
			lan := onlySubnet(t, w)
			w.sim.ResetJournal()
			got, err := w.Addresses.AddressUse(t.Context(), lan, ip(tc.ip))
			ignored := cmpopts.IgnoreFields(engine.AddressUse{}, "Holder", "SystemID")
			if diff := cmp.Diff(tc.want, got, ignored, cmp.Comparer(func(x, y netip.Addr) bool { return x == y })); err != nil || diff != "" {
				t.Errorf("%s\nerror %v (-want +got):\n%s", tc.reason, err, diff)
			}
			if !strings.HasPrefix(got.Holder, tc.holder) || (got.Holder == "") != (tc.holder == "") {
				t.Errorf("%s\ngot the holder %q, want %q…", tc.reason, got.Holder, tc.holder)
			}
			if (got.SystemID != "") != (strings.HasPrefix(name, "Machine") || name == "Server") {
				t.Errorf("%s\ngot the system id %q", tc.reason, got.SystemID)
			}
			if calls := len(w.sim.Journal().Calls); calls != tc.calls {
				t.Errorf("%s\n%d calls, want %d", tc.reason, calls, tc.calls)
			}
		})
	}
}

// TestAddressUseIsShared: many callers that ask about one subnet cost one call. An address
// that was just released or linked is noticed.
func TestAddressUseIsShared(t *testing.T) {
	t.Parallel()
	w := serveMAAS(t, dnsModel())
	lan := onlySubnet(t, w)
	w.sim.ResetJournal()
	var all sync.WaitGroup
	for n := range 50 {
		all.Go(func() {
			use, err := w.Addresses.AddressUse(t.Context(), lan, netip.AddrFrom4([4]byte{10, 77, 0, byte(20 + n)}))
			if err != nil || use.Purpose != engine.AddressFree {
				t.Errorf("got %+v, %v", use, err)
			}
		})
	}
	all.Wait()
	if calls := len(w.sim.Journal().Calls); calls != 1 {
		t.Errorf("%d calls for 50 addresses, want 1", calls)
	}
	taken := netip.MustParseAddr("10.77.0.30")
	purpose := func() engine.AddressPurpose {
		use, err := w.Addresses.AddressUse(t.Context(), lan, taken)
		if err != nil {
			t.Fatal(err)
		}
		return use.Purpose
	}
	systemID := w.linkAddress(t, taken.String())
	if got := purpose(); got != engine.AddressTaken {
		t.Errorf("right after it was linked: %q", got)
	}
	if err := w.sim.DeleteMachine(systemID); err != nil {
		t.Fatal(err)
	}
	if got := purpose(); got != engine.AddressFree {
		t.Errorf("right after its machine was deleted: %q", got)
	}
}
