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
		"Hostname":  {"One machine of the name is the one.", "web", []engine.Machine{a}, "a", ""},
		"FQDN":      {"An FQDN tells two apart.", "web.b", []engine.Machine{a, b}, "b", ""},
		"Ambiguous": {"A name of two is refused, with both ids.", "web", []engine.Machine{a, b}, "", "a (web.a), b (web.b)"},
		"Unknown":   {"A name of none is refused, with what can be named.", "db", nil, "", "system id"},
		"OtherFQDN": {"Another domain is another machine.", "web.c", []engine.Machine{a, b}, "", "no such machine"},
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
