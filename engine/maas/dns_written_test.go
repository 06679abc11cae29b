package maas

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
)

// TestPublishMore: a caller that adds to a name need not read again what was just written.
// If the name has changed since, that is noticed.
func TestPublishMore(t *testing.T) {
	t.Parallel()
	first, more := engine.DNSRecord{Addresses: parseAddresses("10.77.0.30")}, engine.DNSRecord{Addresses: parseAddresses("10.77.0.30", "10.77.0.31")}
	list, one := "GET dnsresources/", "PUT dnsresources/{id}/"
	cases := map[string]struct {
		reason    string
		meanwhile func(t *testing.T, w servedMAAS, systemID string)
		later     time.Duration
		routes    []string
	}{
		"Soon":  {reason: "Nothing became of it.", later: writtenTTL - 1, routes: []string{one}},
		"Later": {reason: "Anything may have.", later: writtenTTL, routes: []string{list, one}},
		"Gone": {
			reason: "MAAS removed the name with its only machine: it is made anew.", routes: []string{one, list, "POST dnsresources/"},
			meanwhile: func(t *testing.T, w servedMAAS, systemID string) {
				if err := w.sim.DeleteMachine(systemID); err != nil {
					t.Error(err)
				}
			},
		},
		"Removed": {
			reason: "We removed it ourselves.", routes: []string{list, "POST dnsresources/"},
			meanwhile: func(t *testing.T, w servedMAAS, _ string) {
				if err := w.DNS.RemoveDNS(t.Context(), apiName); err != nil {
					t.Error(err)
				}
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, now := serveMAAS(t, dnsModel()), time.Now()
			w.DNS.written.now = func() time.Time { return now }
			systemID := w.linkAddress(t, "10.77.0.30")
			if _, err := w.DNS.PublishDNS(t.Context(), apiName, first); err != nil {
				t.Fatal(err)
			}
			if tc.meanwhile != nil {
				tc.meanwhile(t, w, systemID)
			}
			now = now.Add(tc.later)
			w.sim.ResetJournal()
			changed, err := w.DNS.PublishDNS(t.Context(), apiName, more)
			var routes []string
			for _, call := range w.sim.Journal().Calls {
				routes = append(routes, call.Route)
			}
			if err != nil || !changed || !slices.Equal(routes, tc.routes) {
				t.Errorf("%s\n%v, %v by %q, want %q", tc.reason, changed, err, routes, tc.routes)
			}
			have, err := w.DNS.DNSRecord(t.Context(), apiName)
			if diff := cmp.Diff(more, have, sameAddresses); err != nil || diff != "" {
				t.Errorf("%s\n%v, -want +got:\n%s", tc.reason, err, diff)
			}
		})
	}
}
