package client

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/maaslxd/maaslxd/engine"
)

// TestRoomForAllPlannedVMs plans two VMs of 8 GiB, and one of them replaces a VM of 6 GiB.
func TestRoomForAllPlannedVMs(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		free    int64 // MiB on the only VM host
		on      string
		forced  bool
		summary string // empty: both VMs fit
	}{
		"Fits":      {"The room of the VM that is replaced is free by then.", 10240, "abc123", false, ""},
		"Elsewhere": {"It is on another VM host, where the new VMs cannot go.", 10240, "def456", false, "Cannot create all VMs of this plan as things are"},
		"TooSmall":  {"The two VMs do not fit together.", 8192, "abc123", false, "Cannot create all VMs of this plan as things are"},
		"Forced":    {"Terraform shows no warning of a replacement by -replace, so it is an error.", 8192, "abc123", true, "Cannot replace VM web-2"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			r := new(Run)
			r.addVMNeed("web-1", vmNeed{host: "h1", room: Room{Cores: 1, MemoryMiB: 8192}})
			all := r.addVMNeed("web-2", vmNeed{host: "h1", room: Room{Cores: 1, MemoryMiB: 8192}, replaced: StateVM{SystemID: "xyz", HostMachine: tc.on, Room: Room{MemoryMiB: 6144}}})
			host := engine.VMHost{
				Name: "h1", HostKey: "h1", MachineID: "abc123", Version: "5.21", Cores: engine.Amount{Total: 16}, MemoryMiB: engine.Amount{Total: 16384, Used: 16384 - tc.free},
				CPUOvercommit: 1, MemoryOvercommit: 1, StoragePools: []engine.StoragePool{{Name: "default", Default: true}},
			}
			v := ObstacleReport{Object: "VM web-2", Action: "create", IsForced: tc.forced, Run: r, Diags: &diags}
			r.warnShortage(all, []engine.VMHost{host}, "VM host h1", v)
			var got string
			for _, d := range diags {
				got += d.Summary()
			}
			if got != tc.summary || diags.HasError() != tc.forced {
				t.Errorf("%s\ngot %v, want %q", tc.reason, diags, tc.summary)
			}
		})
	}
}

// TestShortOfHugePages plans two VMs that fit alone, but not together.
func TestShortOfHugePages(t *testing.T) {
	t.Parallel()
	host := func(key string, pages int64) engine.VMHost {
		return engine.VMHost{
			Name: key, HostKey: key, Version: "5.21", Cores: engine.Amount{Total: 16}, MemoryMiB: engine.Amount{Total: 65536}, CPUOvercommit: 1, MemoryOvercommit: 1,
			HugePagesMiB: engine.Amount{Total: pages}, StoragePools: []engine.StoragePool{{Name: "default", Default: true}},
		}
	}
	cases := map[string]struct {
		reason string
		pages  int64 // of the VM host
		warns  bool
	}{
		"TooFew":  {"Memory does not replace them.", 3072, true},
		"Enough":  {"Both VMs fit.", 4096, false},
		"NotTold": {"If MAAS does not report huge pages, only LXD can refuse a VM.", 0, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			r := new(Run)
			var all map[string]vmNeed
			for _, vm := range []string{"web-1", "web-2"} {
				all = r.addVMNeed(vm, vmNeed{host: "h1", room: Room{Cores: 1, MemoryMiB: 2048, HugePagesMiB: 2048}})
			}
			r.warnShortage(all, []engine.VMHost{host("h1", tc.pages)}, "VM host h1", ObstacleReport{Run: r, Diags: &diags})
			text := ""
			for _, d := range diags {
				text += d.Summary() + d.Detail()
			}
			if strings.Contains(text, "4096 MiB of huge pages, and 3072 are left") != tc.warns || (text != "") != tc.warns {
				t.Errorf("%s\ngot %q, want a warning: %t", tc.reason, text, tc.warns)
			}
		})
	}
}
