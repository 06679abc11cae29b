package assembly_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/placement"
)

// TestCheckOfVM looks for everything that a plan names before a VM is destroyed for it.
func TestCheckOfVM(t *testing.T) {
	type found struct{ Lasting, Passing, Unseen int }
	largest := func(s *engine.VMSpec) { s.Cores = 8 }
	cases := map[string]struct {
		reason string
		change func(*engine.VMSpec)
		want   found
		field  string // of the first one that lasts
	}{
		"Nothing": {"It is as it was made.", func(*engine.VMSpec) {}, found{}, ""},
		"OwnRoom": {"The host is full once the VM has gone, and not before.", largest, found{}, ""},
		"OwnRoomPlaced": {"The same holds where a host is chosen.", func(s *engine.VMSpec) {
			s.Cores, s.Host, s.Placement = 8, "", engine.Placement{Strategy: placement.Spread, Zone: "az1"}
		}, found{}, ""},
		"TooLarge": {"No host is as large.", func(s *engine.VMSpec) { s.Cores = 9 }, found{Lasting: 1}, "cores"},
		"NoHost":   {"MAAS has no such host.", func(s *engine.VMSpec) { s.Host = "lxd9" }, found{Lasting: 1}, "vm_host"},
		"NoImage":  {"MAAS has no such image.", func(s *engine.VMSpec) { s.Deploy.Image = "ubuntu/warty" }, found{Lasting: 1}, "deploy.image"},
		"NoZone":   {"MAAS has no such zone.", func(s *engine.VMSpec) { s.Zone = "az9" }, found{Lasting: 1}, "zone"},
		"NoPool":   {"The host has no such storage pool.", func(s *engine.VMSpec) { s.Disks[0].Pool = "fast" }, found{Lasting: 1}, "disks.root.pool"},
		"UnknownSize": {"A plan does not know yet how large the disk is, and how many cores there are.", func(s *engine.VMSpec) {
			s.Cores, s.Disks = 0, []engine.Disk{{Name: "root"}}
		}, found{}, ""},
		"UnknownSizePlaced": {"The same holds where a host is chosen.", func(s *engine.VMSpec) {
			s.Cores, s.Disks = 0, []engine.Disk{{Name: "root"}}
			s.Host, s.Placement.Strategy = "", placement.Spread
		}, found{}, ""},
		"NoSubnet": {"MAAS has no such subnet.", func(s *engine.VMSpec) { s.Interfaces = []engine.Interface{{Name: "eth0", Subnet: "10.9.0.0/24"}} }, found{Lasting: 1}, "interfaces.eth0.subnet"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r testMAAS, p process) {
				vm, err := p.create(newVMRef)
				if err != nil {
					t.Fatal(err)
				}
				want := webVMSpec()
				tc.change(&want)
				o := p.engine.VMs.Check(t.Context(), engine.Ref{Key: vmKey, Name: "web-1", SystemID: vm.SystemID, Finished: true}, want)
				if diff := cmp.Diff(tc.want, found{len(o.Permanent), len(o.Temporary), len(o.Unchecked)}); diff != "" {
					t.Fatalf("%s\n%v\n-want +got:\n%s", tc.reason, o, diff)
				}
				if tc.field == "" {
					return
				}
				if wish, ok := errors.AsType[*engine.SpecError](o.Permanent[0]); !ok || wish.Field.String() != tc.field {
					t.Errorf("%s\ngot %v, want it about %s", tc.reason, o.Permanent[0], tc.field)
				}
			})
		})
	}
}
