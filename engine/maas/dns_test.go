package maas

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
)

// sameAddresses compares records, however netip represents an address.
var sameAddresses = cmp.Comparer(func(x, y engine.DNSRecord) bool {
	return x.TTLSeconds == y.TTLSeconds && slices.Equal(x.Addresses, y.Addresses)
})

// TestPublishDNSRecords publishes several records in turn. It checks what MAAS keeps and how many
// calls each took.
func TestPublishDNSRecords(t *testing.T) {
	t.Parallel()
	type publication struct {
		want    engine.DNSRecord
		changed bool
		calls   int
	}
	record := func(ttl int, texts ...string) engine.DNSRecord {
		return engine.DNSRecord{Addresses: parseAddresses(texts...), TTLSeconds: ttl}
	}
	cases := map[string]struct {
		reason   string
		before   func(*testing.T, servedMAAS)
		publish  []publication
		reserved []string // afterwards
	}{
		"New": {
			reason:   "A look, and one call that makes the name.",
			publish:  []publication{{record(60, "10.77.0.21", "10.77.0.20"), true, 2}},
			reserved: []string{"10.77.0.20", "10.77.0.21"},
		},
		"Unchanged": {
			reason: "The same addresses in another order, one of them twice, are the same set: nothing is written.",
			publish: []publication{
				{record(60, "10.77.0.20", "10.77.0.21"), true, 2},
				{record(60, "10.77.0.21", "10.77.0.20", "10.77.0.20"), false, 1},
			},
			reserved: []string{"10.77.0.20", "10.77.0.21"},
		},
		"More": {
			reason: "One PUT replaces the list, and nobody need look at what was just written.",
			publish: []publication{
				{record(0, "10.77.0.20"), true, 2},
				{record(0, "10.77.0.20", "10.77.0.21"), true, 1},
				{record(0, "10.77.0.20", "10.77.0.21", "10.77.0.22"), true, 1},
			},
			reserved: []string{"10.77.0.20", "10.77.0.21", "10.77.0.22"},
		},
		"Less": {
			reason: "To give the address back is to drop it: a look at the name, one at all names, one release.",
			publish: []publication{
				{record(0, "10.77.0.20", "10.77.0.21"), true, 2},
				{record(0, "10.77.0.20"), true, 3},
			},
			reserved: []string{"10.77.0.20"},
		},
		"Other": {
			reason: "The new address comes before the old one goes, so that the name is never empty.",
			publish: []publication{
				{record(0, "10.77.0.20"), true, 2},
				{record(0, "10.77.0.21"), true, 4},
			},
			reserved: []string{"10.77.0.21"},
		},
		"TTL": {
			reason: "Another TTL is a difference; zero goes back to MAAS's default.",
			publish: []publication{
				{record(60, "10.77.0.20"), true, 2},
				{record(120, "10.77.0.20"), true, 1},
				{record(0, "10.77.0.20"), true, 1},
				{record(0, "10.77.0.20"), false, 1},
			},
			reserved: []string{"10.77.0.20"},
		},
		"OfAMachine": {
			reason: "An address that a machine has is dropped, and stays the machine's.",
			before: func(t *testing.T, w servedMAAS) { w.linkAddress(t, "10.77.0.30") },
			publish: []publication{
				{record(0, "10.77.0.30", "10.77.0.20"), true, 2},
				{record(0, "10.77.0.20"), true, 1},
			},
			reserved: []string{"10.77.0.20"},
		},
		"OfAnotherName": {
			reason: "An address that another name points to is dropped without being released: the other name would lose it.",
			before: func(t *testing.T, w servedMAAS) {
				w.callAsOperator(t, http.MethodPost, "dnsresources/", url.Values{"fqdn": {"other.maas"}, "ip_addresses": {"10.77.0.21"}})
			},
			publish: []publication{
				{record(0, "10.77.0.20", "10.77.0.21"), true, 2},
				{record(0, "10.77.0.20"), true, 3},
			},
			reserved: []string{"10.77.0.20", "10.77.0.21"},
		},
		"OfAnotherUser": {
			reason: "An address that another user reserved is dropped, and stays his.",
			before: func(t *testing.T, w servedMAAS) {
				other := servedMAAS{Client: clientOf(t, w.sim, w.sim.UserAPIKey()), sim: w.sim}
				other.callAsOperator(t, http.MethodPost, "ipaddresses/?op=reserve", url.Values{"ip": {"10.77.0.21"}})
			},
			publish: []publication{
				{record(0, "10.77.0.20", "10.77.0.21"), true, 2},
				{record(0, "10.77.0.20"), true, 4},
			},
			reserved: []string{"10.77.0.20", "10.77.0.21"},
		},
		"Outside": {
			reason:   "MAAS takes addresses of subnets that it does not know, and of IPv6, too.",
			publish:  []publication{{record(0, "192.0.2.7", "2001:db8::7"), true, 2}, {record(0, "2001:db8::7", "192.0.2.7"), false, 1}},
			reserved: []string{"192.0.2.7", "2001:db8::7"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := serveMAAS(t, dnsModel())
			if tc.before != nil {
				tc.before(t, w)
			}
			for n, p := range tc.publish {
				w.sim.ResetJournal()
				changed, err := w.DNS.PublishDNS(t.Context(), apiName, p.want)
				if err != nil || changed != p.changed {
					t.Fatalf("%s\npublication %d: got %v, %v; want %v", tc.reason, n, changed, err, p.changed)
				}
				if calls := len(w.sim.Journal().Calls); calls != p.calls {
					t.Errorf("%s\npublication %d took %d calls, want %d: %+v", tc.reason, n, calls, p.calls, w.sim.Journal().Routes)
				}
				have, err := w.DNS.DNSRecord(t.Context(), apiName)
				p.want.Addresses = sortedAddresses(p.want.Addresses)
				if diff := cmp.Diff(p.want, have, sameAddresses); err != nil || diff != "" {
					t.Errorf("%s\npublication %d, error %v (-want +got):\n%s", tc.reason, n, err, diff)
				}
			}
			if diff := cmp.Diff(tc.reserved, w.reservedByUser(t)); diff != "" {
				t.Errorf("%s\nwhat MAAS keeps (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRemoveDNS removes a name in each of its possible states.
func TestRemoveDNS(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason    string
		addresses []string
		before    func(*testing.T, servedMAAS)
		reserved  []string
		remains   bool
	}{
		"Whole":      {reason: "The name and what it brought are gone.", addresses: []string{"10.77.0.20", "10.77.0.21"}},
		"OfAMachine": {reason: "A machine's address stays the machine's.", addresses: []string{"10.77.0.30"}, before: func(t *testing.T, w servedMAAS) { w.linkAddress(t, "10.77.0.30") }},
		"Shared": {
			reason: "What another name points to stays.", addresses: []string{"10.77.0.20", "10.77.0.21"},
			before: func(t *testing.T, w servedMAAS) {
				w.callAsOperator(t, http.MethodPost, "dnsresources/", url.Values{"fqdn": {"other.maas"}, "ip_addresses": {"10.77.0.21"}})
			},
			reserved: []string{"10.77.0.21"},
		},
		"OtherData": {
			reason: "A text that somebody put under the name stays, and so the name does, without addresses.", addresses: []string{"10.77.0.20"},
			before: func(t *testing.T, w servedMAAS) {
				w.callAsOperator(t, http.MethodPost, "dnsresourcerecords/", url.Values{"fqdn": {apiName.String()}, "rrtype": {"TXT"}, "rrdata": {"hello"}})
			},
			remains: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := serveMAAS(t, dnsModel())
			if tc.before != nil {
				tc.before(t, w)
			}
			if _, err := w.DNS.PublishDNS(t.Context(), apiName, engine.DNSRecord{Addresses: parseAddresses(tc.addresses...)}); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second time it is gone
				if err := w.DNS.RemoveDNS(t.Context(), apiName); err != nil {
					t.Fatalf("%s\ngot %v", tc.reason, err)
				}
			}
			if diff := cmp.Diff(tc.reserved, w.reservedByUser(t)); diff != "" {
				t.Errorf("%s\nwhat MAAS keeps (-want +got):\n%s", tc.reason, diff)
			}
			have, err := w.DNS.DNSRecord(t.Context(), apiName)
			if errors.Is(err, engine.ErrNotFound) == tc.remains || len(have.Addresses) > 0 {
				t.Errorf("%s\ngot %v, %v", tc.reason, have, err)
			}
			if all := w.callAsOperator(t, http.MethodGet, "dnsresourcerecords/", nil).([]any); (len(all) > 0) != tc.remains {
				t.Errorf("%s\ngot the other data %v", tc.reason, all)
			}
		})
	}
}

// TestPublishAfterItsMachineWent: MAAS drops the address of a deleted machine, and the name
// with its last address. Publishing makes the name again.
func TestPublishAfterItsMachineWent(t *testing.T) {
	t.Parallel()
	w := serveMAAS(t, dnsModel())
	systemID := w.linkAddress(t, "10.77.0.30")
	if _, err := w.DNS.PublishDNS(t.Context(), apiName, engine.DNSRecord{Addresses: parseAddresses("10.77.0.30")}); err != nil {
		t.Fatal(err)
	}
	if err := w.sim.DeleteMachine(systemID); err != nil {
		t.Fatal(err)
	}
	if _, err := w.DNS.DNSRecord(t.Context(), apiName); !errors.Is(err, engine.ErrNotFound) {
		t.Fatalf("got %v, want that the name is gone", err)
	}
	if changed, err := w.DNS.PublishDNS(t.Context(), apiName, engine.DNSRecord{Addresses: parseAddresses("10.77.0.31")}); err != nil || !changed {
		t.Errorf("got %v, %v", changed, err)
	}
}

// TestPublishAfterARelease: MAAS keeps the link of a name to a machine that released its
// address. It fills the link again at the machine's next deployment.
func TestPublishAfterARelease(t *testing.T) {
	t.Parallel()
	w := serveMAAS(t, dnsModel())
	found, err := w.Machines.MachinesNamed(t.Context(), "m1")
	if err != nil || len(found) != 1 {
		t.Fatalf("got %v, %v", found, err)
	}
	id := found[0].SystemID
	deploy := func() string {
		t.Helper()
		if err := errors.Join(w.Machines.Allocate(t.Context(), id, "agent"), w.Machines.Deploy(t.Context(), id, engine.Deployment{})); err != nil {
			t.Fatal(err)
		}
		w.sim.Settle()
		m, err := w.Machines.Machine(t.Context(), id)
		if err != nil || len(m.IPAddresses) != 1 {
			t.Fatalf("got %+v, %v", m, err)
		}
		return m.IPAddresses[0]
	}
	want := engine.DNSRecord{Addresses: parseAddresses("10.77.0.21", deploy())}
	if _, err := w.DNS.PublishDNS(t.Context(), apiName, want); err != nil {
		t.Fatal(err)
	}
	if err := w.Machines.Release(t.Context(), id, engine.EraseNone); err != nil {
		t.Fatal(err)
	}
	w.sim.Settle()
	want.Addresses = parseAddresses("10.77.0.21")
	later := clientOf(t, w.sim, w.sim.APIKey()) // which does not know what was written
	if changed, err := later.DNS.PublishDNS(t.Context(), apiName, want); err != nil || !changed {
		t.Errorf("got %v, %v, want the link to go", changed, err)
	}
	deploy()
	if got := w.sim.Resolve(apiName.String()); len(got) != 1 || got[0] != "10.77.0.21" {
		t.Errorf("somebody else has the machine, and the name leads to %v", got)
	}
}

// TestPublishIsRepeatable breaks each call of a publication and of a removal, before and
// after its effect, and repeats it.
func TestPublishIsRepeatable(t *testing.T) {
	t.Parallel()
	before, after := engine.DNSRecord{Addresses: parseAddresses("10.77.0.20", "10.77.0.21")}, engine.DNSRecord{Addresses: parseAddresses("10.77.0.22"), TTLSeconds: 30}
	for _, when := range []string{sim.FaultBeforeEffect, sim.FaultAfterEffect} {
		for nth := 1; nth <= 12; nth++ {
			w := serveMAAS(t, dnsModel())
			w.sim.AddFault(sim.Fault{Nth: nth, When: when, Kind: sim.FaultReset})
			repeat := func(what string, do func() error) {
				for range 3 {
					if do() == nil {
						return
					}
				}
				t.Errorf("call %d broken %s its effect: cannot %s: %v", nth, when, what, do())
			}
			for _, want := range []engine.DNSRecord{before, after} {
				repeat("publish", func() error { _, err := w.DNS.PublishDNS(t.Context(), apiName, want); return err })
				have, err := w.DNS.DNSRecord(t.Context(), apiName)
				if diff := cmp.Diff(want, have, sameAddresses); err != nil || diff != "" {
					t.Errorf("call %d broken %s its effect: %v (-want +got):\n%s", nth, when, err, diff)
				}
			}
			if diff := cmp.Diff([]string{"10.77.0.22"}, w.reservedByUser(t)); diff != "" {
				t.Errorf("call %d broken %s its effect: what MAAS keeps (-want +got):\n%s", nth, when, diff)
			}
			for _, call := range w.sim.Journal().Calls {
				if texts, ok := call.Form["ip_addresses"]; ok && slices.Contains(texts, "") {
					t.Errorf("call %d broken %s its effect: %s empties the name", nth, when, call.Route)
				}
			}
			repeat("remove", func() error { return w.DNS.RemoveDNS(t.Context(), apiName) })
			if left := w.reservedByUser(t); len(left) > 0 {
				t.Errorf("call %d broken %s its effect: MAAS keeps %v", nth, when, left)
			}
		}
	}
}

// TestPublishIsRefused expects each refusal to name what is wrong.
func TestPublishIsRefused(t *testing.T) {
	t.Parallel()
	one := engine.DNSRecord{Addresses: parseAddresses("10.77.0.20")}
	cases := map[string]struct {
		reason string
		name   engine.DNSName
		want   engine.DNSRecord
		field  string // of a *engine.SpecError; empty: none
		is     error
		key    func(*sim.Server) string
		calls  int // writes that reach MAAS
	}{
		"Empty":   {reason: "A name is never emptied by the way.", name: apiName, field: "addresses", is: engine.ErrInvalid},
		"Zoned":   {reason: "MAAS answers 500 to what it cannot read.", name: apiName, want: engine.DNSRecord{Addresses: parseAddresses("fe80::1%eth0")}, field: "addresses", is: engine.ErrInvalid},
		"Dotted":  {reason: "A label has no dot.", name: engine.DNSName{Label: "api.c1", Domain: "maas"}, want: one, field: "name", is: engine.ErrInvalid},
		"LongTTL": {reason: "A slip of the pen.", name: apiName, want: engine.DNSRecord{Addresses: one.Addresses, TTLSeconds: 1 << 30}, field: "ttl", is: engine.ErrInvalid},
		"Domain":  {reason: "MAAS does not have it.", name: engine.DNSName{Label: "api", Domain: "nosuch.test"}, want: one, field: "domain", is: engine.ErrNotFound},
		"User": {
			reason: "Only administrators change names.", name: apiName, want: one, is: engine.ErrForbidden,
			key: func(s *sim.Server) string { return s.UserAPIKey() }, calls: 1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := serveMAAS(t, dnsModel())
			if tc.key != nil {
				w.Client = clientOf(t, w.sim, tc.key(w.sim))
			}
			_, err := w.DNS.PublishDNS(t.Context(), tc.name, tc.want)
			var bad *engine.SpecError
			if !errors.Is(err, tc.is) || !engine.IsTerminal(err) {
				t.Errorf("%s\ngot %v, want %v", tc.reason, err, tc.is)
			}
			if errors.As(err, &bad) != (tc.field != "") || bad != nil && (bad.Field.String() != "dns."+tc.field || bad.Hint == "") {
				t.Errorf("%s\ngot %#v, want the field %q and a hint", tc.reason, err, tc.field)
			}
			if _, err := w.DNS.DNSRecord(t.Context(), apiName); !errors.Is(err, engine.ErrNotFound) {
				t.Errorf("%s\na look, which everybody may take, gives %v", tc.reason, err)
			}
			if calls := w.sim.Journal().Count("POST dnsresources/"); calls != tc.calls {
				t.Errorf("%s\n%d writes, want %d", tc.reason, calls, tc.calls)
			}
		})
	}
}

// TestPublishRaces: the name appears or vanishes between read and write.
func TestPublishRaces(t *testing.T) {
	t.Parallel()
	one := engine.DNSRecord{Addresses: parseAddresses("10.77.0.20")}
	taken := statusReply(http.StatusBadRequest, "application/json", `{"__all__": ["Labels must be unique within their zone."]}`)
	resource := map[string]any{"id": 7, "fqdn": "api-c1.example.test", "address_ttl": nil, "ip_addresses": []any{}, "resource_records": []any{}}
	cases := map[string]struct {
		reason string
		answer func(n int, s sentRequest) *http.Response // n counts the looks
		routes []string
		err    error
	}{
		"Appears": {
			reason: "Another process makes the name after our look: it is pointed to our addresses.",
			answer: func(n int, s sentRequest) *http.Response {
				switch {
				case s.Method == http.MethodGet && n == 1:
					return replyJSON([]any{})
				case s.Method == http.MethodGet:
					return replyJSON([]any{resource})
				case s.Method == http.MethodPost:
					return taken()
				}
				return replyJSON(resource)
			},
			routes: []string{"GET", "POST", "GET", "PUT"},
		},
		"Vanishes": {
			reason: "MAAS removes the name with its last machine after our look: it is made anew.",
			answer: func(n int, s sentRequest) *http.Response {
				switch {
				case s.Method == http.MethodGet && n == 1:
					return replyJSON([]any{resource})
				case s.Method == http.MethodGet:
					return replyJSON([]any{})
				case s.Method == http.MethodPut:
					return reply(http.StatusNotFound, "text/plain", "No DNSResource matches the given query.")
				}
				return replyJSON(resource)
			},
			routes: []string{"GET", "PUT", "GET", "POST"},
		},
		"Refused": {
			reason: "MAAS refuses the name for good, in the words of the form as a whole: no endless loop.",
			answer: func(n int, s sentRequest) *http.Response {
				if s.Method == http.MethodGet {
					return replyJSON([]any{})
				}
				return taken()
			},
			routes: []string{"GET", "POST", "GET", "POST", "GET", "POST"}, err: engine.ErrInvalid,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			looks := 0
			f := &fakeTransport{answer: func(_ *http.Request, s sentRequest) (*http.Response, error) {
				if s.Method == http.MethodGet {
					looks++
				}
				return tc.answer(looks, s), nil
			}}
			_, err := testClient(t, f).DNS.PublishDNS(t.Context(), apiName, one)
			if !errors.Is(err, tc.err) {
				t.Errorf("%s\ngot %v, want %v", tc.reason, err, tc.err)
			}
			var methods []string
			for _, s := range f.requests() {
				methods = append(methods, s.Method)
			}
			if diff := cmp.Diff(tc.routes, methods); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
