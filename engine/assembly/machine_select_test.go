package assembly_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
)

func TestMachineSelect(t *testing.T) {
	cases := map[string]struct {
		reason string
		s      engine.Selector
		want   string
	}{
		"Any":          {"The smallest that is Ready: large ones stay for those who need them.", engine.Selector{}, "small"},
		"Zone":         {"In the zone.", engine.Selector{Zone: "az2"}, "pooled"},
		"Pool":         {"In the pool.", engine.Selector{Pool: "metal"}, "pooled"},
		"Tag":          {"The smaller of two that have it.", engine.Selector{Tags: []string{"gpu"}}, "tagged"},
		"AllTags":      {"All tags are wanted, not any.", engine.Selector{Tags: []string{"nvme", "gpu"}}, "tagged"},
		"Architecture": {"Short.", engine.Selector{Architecture: "amd64"}, "small"},
		"Subarch":      {"In full.", engine.Selector{Architecture: "amd64/generic", MinCores: 5}, "tagged"},
		"Cores":        {"At least.", engine.Selector{MinCores: 9}, "pooled"},
		"Memory":       {"At least.", engine.Selector{MinMemoryMiB: 16385}, "half"},
		"Disk":         {"The largest disk counts.", engine.Selector{MinDiskGB: 1000}, "pooled"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inMetal(t, func(t *testing.T, r testMAAS, p process) {
				got, err := p.applyMachine(newMachineRef, engine.MachineSpec{Select: tc.s, Deploy: noble()})
				if err != nil || got.Hostname != tc.want || got.StatusName != "Deployed" || !got.Ours || !got.Finished {
					t.Errorf("%s\nwant %s Deployed, ours and finished, got %+v, %v", tc.reason, tc.want, got, err)
				}
				if diff := cmp.Diff([]string{tc.want}, r.acquired()); diff != "" {
					t.Errorf("acquired (-want +got):\n%s", diff)
				}
				for _, c := range r.sim.Journal().Calls {
					if strings.HasSuffix(c.Route, " allocate") && (len(c.Form["system_id"]) != 1 || len(c.Form["agent_name"]) != 1) {
						t.Errorf("allocate was left to MAAS: %v", c.Form)
					}
				}
				if n := len(r.sim.Instances()); n != 0 {
					t.Errorf("%d VMs were made", n)
				}
			})
		})
	}
}

// TestMachineSelectNone wants an error that says what was looked for, and
// nothing taken.
func TestMachineSelectNone(t *testing.T) {
	cases := map[string]struct {
		reason string
		s      engine.Selector
		field  string // of the SpecError; empty: there is none that fits
	}{
		"TooLarge":    {"Nothing is that large, and VMs are not made for it.", engine.Selector{MinCores: 64}, ""},
		"NoTag":       {"A tag that MAAS does not know matches nothing.", engine.Selector{Tags: []string{"nosuch"}}, ""},
		"OtherArch":   {"No such architecture.", engine.Selector{Architecture: "arm64"}, ""},
		"UnknownZone": {"A slip of the pen.", engine.Selector{Zone: "az9"}, "selector.zone"},
		"UnknownPool": {"A slip of the pen.", engine.Selector{Pool: "nosuch"}, "selector.pool"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inMetal(t, func(t *testing.T, r testMAAS, p process) {
				began := time.Now()
				_, err := p.applyMachine(newMachineRef, engine.MachineSpec{Select: tc.s, Deploy: noble()})
				var bad *engine.SpecError
				var failure *engine.Error
				switch {
				case tc.field != "" && (!errors.As(err, &bad) || bad.Field.String() != tc.field || bad.Hint == ""):
					t.Errorf("%s\nwant an error about %s with a hint, got %v", tc.reason, tc.field, err)
				case tc.field == "" && (!errors.As(err, &failure) || failure.Type != engine.InsufficientResources || failure.Hint == ""):
					t.Errorf("%s\nwant InsufficientResources with a hint, got %v", tc.reason, err)
				}
				if took := time.Since(began); took > time.Minute {
					t.Errorf("it took %s to say so", took)
				}
				if len(r.acquired()) != 0 || len(r.sim.Instances()) != 0 {
					t.Errorf("taken: %v, VMs %v", r.acquired(), r.sim.Instances())
				}
			})
		})
	}
}

func TestMachineNeverAVMNorLocked(t *testing.T) {
	inMetal(t, func(t *testing.T, r testMAAS, p process) {
		vm := engine.VMSpec{Name: "tiny", Host: "lxd1", Cores: 1, MemoryMiB: 1024, Disks: []engine.Disk{{Name: "root", SizeGB: 4}}}
		if _, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(engine.Ref{Key: "default/tiny", Name: "tiny"}, vm)); err != nil {
			t.Fatal(err)
		}
		r.edit(t, "small", sim.MachineEdit{Locked: ptr(true)})
		got, err := p.applyMachine(newMachineRef, engine.MachineSpec{})
		if err != nil || got.Hostname != "tagged" || got.StatusName != "Allocated" {
			t.Errorf("want tagged Allocated, as small is locked and tiny a VM, got %s %s, %v", got.Hostname, got.StatusName, err)
		}
	})
}
