package client

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/maaslxd/maaslxd/engine"
)

// TestRoomForAllPlannedVMs plans VMs of 8 GiB for hosts of 16 GiB. The VM web replaces a VM of 6 GiB.
func TestRoomForAllPlannedVMs(t *testing.T) {
	t.Parallel()
	host := func(name string, id int, freeMiB int64) engine.VMHost {
		return engine.VMHost{
			ID: id, Name: name, HostKey: name, MachineID: "m-" + name[:1], Version: "5.21", Cores: engine.Amount{Total: 16},
			MemoryMiB: engine.Amount{Total: 16384, Used: 16384 - freeMiB}, CPUOvercommit: 1, MemoryOvercommit: 1, StoragePools: []engine.StoragePool{{Name: "default", Default: true}},
		}
	}
	web := func(on string, forced bool) vmNeed {
		return vmNeed{host: on, room: Room{Cores: 1, MemoryMiB: 8192}, replaced: StateVM{SystemID: "xyz", HostMachine: "m-a", HostID: 1, Room: Room{MemoryMiB: 6144}}, isForced: forced}
	}
	other := func(on string) vmNeed { return vmNeed{host: on, room: Room{Cores: 1, MemoryMiB: 8192}} }
	const warns, refuses = "Cannot create all VMs of this plan as things are", "Cannot replace VM web"
	cases := map[string]struct {
		reason     string
		hosts      []engine.VMHost
		web, other vmNeed
		want       string // the summaries; empty: both VMs fit
	}{
		"Fits":         {"The room of the VM that is replaced is free by then.", []engine.VMHost{host("a", 1, 10240), host("b", 2, 0)}, web("a", false), other("a"), ""},
		"OtherProject": {"Both are VM hosts of one machine, and the VM leaves the other one.", []engine.VMHost{host("a2", 7, 10240), host("b", 2, 16384)}, web("a2", false), other("a2"), warns},
		"TooSmall":     {"The two VMs do not fit together.", []engine.VMHost{host("a", 1, 8192), host("b", 2, 16384)}, web("a", false), other("a"), warns},
		"Forced":       {"Terraform shows no warning of a forced replacement.", []engine.VMHost{host("a", 1, 8192), host("b", 2, 16384)}, web("a", true), other("a"), refuses},
		"NotItsFault":  {"VM web fits where it was. The other VM fits nowhere.", []engine.VMHost{host("a", 1, 2048), host("b", 2, 4096)}, web("a", true), other("b"), warns},
		"ForcedPlaced": {"A VM without a host may find none.", []engine.VMHost{host("a", 1, 2048), host("b", 2, 4096)}, web("", true), other(""), refuses},
		"NoHost":       {"Each VM's own check says that there is none.", nil, web("", false), other(""), ""},
		"OnlyHost":     {"There is one report for the only VM host.", []engine.VMHost{host("a", 1, 2048)}, web("a", true), other(""), refuses},
	}
	for name, tc := range cases {
		for order, names := range map[string][]string{"WebFirst": {"web", "other"}, "WebLast": {"other", "web"}} {
			t.Run(name+"/"+order, func(t *testing.T) {
				t.Parallel()
				var diags diag.Diagnostics
				r := new(Run)
				for _, vm := range names {
					need := map[string]vmNeed{"web": tc.web, "other": tc.other}[vm]
					r.reportShortages(r.addVMNeed(vm, need), need, tc.hosts, ObstacleReport{Object: "VM " + vm, Action: "create", IsForced: need.isForced, Run: r, Diags: &diags})
				}
				var got string
				for _, d := range diags {
					got += d.Summary()
				}
				if got != tc.want || diags.HasError() != (tc.want == refuses) {
					t.Errorf("%s\ngot %v, want %q", tc.reason, diags, tc.want)
				}
			})
		}
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
			r.reportShortages(all, all["web-1"], []engine.VMHost{host("h1", tc.pages)}, ObstacleReport{Run: r, Diags: &diags})
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
