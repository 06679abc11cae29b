package assembly_test

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

func TestSubnetOf(t *testing.T) {
	t.Parallel()
	m := sim.Model{Subnets: []sim.SubnetModel{
		{Name: "wide", CIDR: "10.77.0.0/16"}, {Name: "narrow", CIDR: "10.77.3.0/24"}, {Name: "other", CIDR: "10.78.0.0/24"},
	}}
	p := overHTTP(t, m).start(t, ledger.NewMemory(nil), 0, breakage{})
	cases := map[string]struct{ reason, ip, want string }{
		"One":     {"It lies in one.", "10.78.0.5", "other"},
		"Wide":    {"It lies beside the narrow one.", "10.77.4.5", "wide"},
		"Narrow":  {"It lies in both, and the narrow one is meant.", "10.77.3.5", "narrow"},
		"Outside": {"It lies in none.", "192.0.2.5", ""},
		"V6":      {"Nor does that.", "2001:db8::5", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := p.engine.SubnetOf(t.Context(), netip.MustParseAddr(tc.ip))
			var bad *engine.SpecError
			if got.Name != tc.want || errors.As(err, &bad) != (tc.want == "") {
				t.Errorf("%s\ngot %q, %v; want %q", tc.reason, got.Name, err, tc.want)
			}
			if tc.want == "" && (!errors.Is(err, engine.ErrNotFound) || bad.Field.String() != "ip" || bad.Hint == "") {
				t.Errorf("%s\ngot %#v", tc.reason, err)
			}
		})
	}
}
