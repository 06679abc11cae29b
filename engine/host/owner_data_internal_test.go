package host

import (
	"testing"

	"github.com/maaslxd/maaslxd/engine"
)

// TestAddressToNote: where MAAS has no VM hosts, the note of a finished VM host keeps the address at
// which its LXD answers, also if MAAS lists another address of the machine.
func TestAddressToNote(t *testing.T) {
	t.Parallel()
	const noted, own = "https://10.0.0.9:8443", "https://10.0.0.1:8443"
	cases := map[string]struct {
		reason string
		ref    engine.Ref
		want   engine.HostSpec
		noted  string
		expect string
	}{
		"Finished": {"Somebody registered it by an address that MAAS does not list.", engine.Ref{Finished: true}, engine.HostSpec{}, noted, noted},
		"Adopted":  {"So did the owner of an adopted one.", engine.Ref{}, engine.HostSpec{Machine: engine.MachineSpec{Adopt: true}}, noted, noted},
		"New":      {"A new VM host has the machine's own address.", engine.Ref{}, engine.HostSpec{}, "", own},
		"Anew":     {"A machine that is deployed again may have another address.", engine.Ref{}, engine.HostSpec{}, noted, own},
		"ByServer": {"The configuration names the address.", engine.Ref{Finished: true}, engine.HostSpec{Address: "10.0.0.5"}, noted, "https://10.0.0.5:8443"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := engine.Machine{IPAddresses: []string{"10.0.0.1"}, OwnerData: map[string]string{engine.AddressData: tc.noted}}
			got, err := new(stepBase).addressToNote(t.Context(), tc.ref, tc.want, engine.VMHost{}, m)
			if err != nil || got != tc.expect {
				t.Errorf("%s\ngot %s, %v; want %s", tc.reason, got, err, tc.expect)
			}
			if e, err := registeredEndpoint(tc.ref, tc.want, m); err != nil || e.Address != tc.expect {
				t.Errorf("%s\nThe LXD is asked at %s, %v; want %s", tc.reason, e.Address, err, tc.expect)
			}
		})
	}
}
