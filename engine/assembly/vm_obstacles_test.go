package assembly_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
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

// TestCheckOfBegunVM looks for obstacles of a create whose VM takes the whole host already. An
// unfinished VM is continued. A finished one is told by its name, and not by its room.
func TestCheckOfBegunVM(t *testing.T) {
	whole := webVMSpec()
	whole.Cores = 8
	placed := whole
	placed.Host, placed.Placement = "", engine.Placement{Strategy: placement.Spread, Zone: "az1"}
	for name, tc := range map[string]struct {
		reason   string
		want     engine.VMSpec
		finished bool
		field    string
	}{
		"Unfinished":       {"The apply continues with the VM, which has its room.", whole, false, ""},
		"UnfinishedPlaced": {"The same holds where a host was chosen.", placed, false, ""},
		"Finished":         {"The name is in the way.", whole, true, "name"},
		"FinishedPlaced":   {"The same holds where a host is chosen.", placed, true, "name"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r testMAAS, p process) {
				for made := false; !made; {
					res, err := p.engine.VMs.Reconcile(t.Context(), newVMRef, tc.want)
					if err != nil {
						t.Fatal(err)
					}
					made = res.SystemID != "" && !tc.finished || res.Done
				}
				o := p.engine.VMs.Check(t.Context(), engine.Ref{Key: vmKey, Name: "web-1"}, tc.want)
				var fields []string
				for _, err := range append(append(o.Permanent, o.Temporary...), o.Unchecked...) {
					spec, ok := errors.AsType[*engine.SpecError](err)
					if !ok {
						t.Fatalf("%s\ngot %v", tc.reason, err)
					}
					fields = append(fields, spec.Field.String())
				}
				if got := strings.Join(fields, " "); got != tc.field {
					t.Errorf("%s\ngot obstacles at %q, want %q: %v", tc.reason, got, tc.field, o)
				}
			})
		})
	}
}

// TestNewNameOfVM looks whether a VM can be renamed. A VM of this program may leave the name.
func TestNewNameOfVM(t *testing.T) {
	cases := map[string]struct {
		reason             string
		unmark             bool
		permanent, passing string
	}{
		"OfThisProgram": {reason: "The same run may rename it.", passing: "MAAS has a machine db already (system id "},
		"OfOthers":      {reason: "Nobody here renames it.", unmark: true, permanent: "MAAS has a machine db already (system id "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r testMAAS, p process) {
				vm, err := p.create(newVMRef)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(engine.Ref{Key: "default/db", Name: "db"}, smallVM("db", engine.Placement{}))); err != nil {
					t.Fatal(err)
				}
				if tc.unmark {
					r.edit(t, "db", sim.MachineEdit{Description: new("")})
				}
				o := p.engine.VMs.Check(t.Context(), engine.Ref{Key: vmKey, Name: "web-1", SystemID: vm.SystemID, Finished: true}, engine.VMSpec{Name: "db"})
				wantObstacles(t, tc.reason, o, tc.permanent, tc.passing)
			})
		})
	}
}

// wantObstacles checks what the obstacles of each sort say; empty: there are none. Everything was
// checked.
func wantObstacles(t *testing.T, reason string, o engine.Obstacles, permanent, passing string) {
	t.Helper()
	for kind, found := range map[string]struct {
		errs []error
		says string
	}{"permanent": {o.Permanent, permanent}, "passing": {o.Temporary, passing}, "unseen": {o.Unchecked, ""}} {
		if text := errorText(found.errs); (found.says == "") != (text == "") || !strings.Contains(text, found.says) {
			t.Errorf("%s\n%s: want %q, got %q", reason, kind, found.says, text)
		}
	}
}
