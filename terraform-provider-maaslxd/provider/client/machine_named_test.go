package client

import (
	"testing"

	"github.com/maaslxd/maaslxd/engine"
)

func TestOnlyOneMachineIsImported(t *testing.T) {
	t.Parallel()
	a := engine.Machine{SystemID: "a", Hostname: "web", FQDN: "web.a"}
	b := engine.Machine{SystemID: "b", Hostname: "web", FQDN: "web.b"}
	cases := map[string]struct {
		reason string
		id     string
		named  []engine.Machine
		want   string
		err    string
	}{
		"Hostname":  {"One machine has the name.", "web", []engine.Machine{a}, "a", ""},
		"FQDN":      {"An FQDN distinguishes two machines of one name.", "web.b", []engine.Machine{a, b}, "b", ""},
		"Ambiguous": {"A name of two machines is refused, with both ids.", "web", []engine.Machine{a, b}, "", "a (web.a), b (web.b)"},
		"Unknown":   {"A name that no machine has is refused, with a list of possible names.", "db", nil, "", "system id"},
		"OtherFQDN": {"A machine in another domain is another machine.", "web.c", []engine.Machine{a, b}, "", "no such machine"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := uniqueMachine(tc.id, tc.named)
			if got.SystemID != tc.want || !matchesErrorText(err, tc.err) {
				t.Errorf("%s\ngot %q and %v, want %q and %q", tc.reason, got.SystemID, err, tc.want, tc.err)
			}
		})
	}
}
