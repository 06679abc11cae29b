package lxd

import (
	"errors"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
)

// TestInterfaceCard makes a VM whose NIC has a chosen MAC and bridge. It refuses a MAC that
// is taken and a bridge that does not exist.
func TestInterfaceCard(t *testing.T) {
	t.Parallel()
	const mac = "52:54:00:12:34:56"
	cases := map[string]struct {
		reason      string
		mac, bridge string
		before      func(*testing.T, *composeWorld)
		at, says    string // empty: it is made
	}{
		"Chosen":   {reason: "LXD and MAAS both have them.", mac: mac, bridge: "maasbr0"},
		"NoBridge": {reason: "MAAS knows none of that name.", bridge: "br7", at: "interfaces.eth0.bridge", says: "has no bridge br7 into subnet"},
		"InLXD": {
			reason: "LXD starts only one of two.", mac: mac, at: "interfaces.eth0.mac_address", says: "the MAC address " + mac,
			before: func(t *testing.T, w *composeWorld) {
				t.Helper()
				other := newComposition("other")
				other.Interfaces[0].MAC = mac
				w.composeVM(w.composer, other)
			},
		},
		"InMAAS": {reason: "MAAS finds machines by their MACs.", mac: "00:16:3e:aa:bb:cc", at: "interfaces.eth0.mac_address", says: "machine metal"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 2, func(m *sim.Model) {
				m.Machines = append(m.Machines, sim.MachineModel{Hostname: "metal", MAC: "00:16:3e:aa:bb:cc"})
			})
			if tc.before != nil {
				tc.before(t, w)
			}
			before := w.listObjects()
			wanted := newComposition("web")
			wanted.Interfaces[0].Label, wanted.Interfaces[0].MAC, wanted.Interfaces[0].Bridge = "eth0", tc.mac, tc.bridge
			id, err := w.composer.Compose(t.Context(), engine.VMHost{MachineID: w.servers[0].MachineID}, wanted)
			if tc.at != "" {
				bad, ok := errors.AsType[*engine.SpecError](err)
				if !ok || bad.Field.String() != tc.at || !strings.Contains(bad.Message, tc.says) {
					t.Errorf("%s: want %q at %s, got %v", tc.reason, tc.says, tc.at, err)
				}
				if after := w.listObjects(); strings.Join(after, "\n") != strings.Join(before, "\n") {
					t.Errorf("%s: it left %v, and there was %v", tc.reason, after, before)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			m, err := w.maas.Machines.Machine(t.Context(), id)
			if err != nil || len(m.Interfaces) != 1 || m.Interfaces[0].MAC != tc.mac {
				t.Errorf("%s: MAAS shows %+v, %v", tc.reason, m.Interfaces, err)
			}
		})
	}
}
