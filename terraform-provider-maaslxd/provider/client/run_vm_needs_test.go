package client

import (
	"fmt"
	"slices"
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

// TestRoomByArchitecture plans placed VMs of 8 GiB for VM hosts of 16 GiB. Room counts only on VM
// hosts that can run the image.
func TestRoomByArchitecture(t *testing.T) {
	t.Parallel()
	host := func(name, architecture string) engine.VMHost {
		h := engine.VMHost{
			Name: name, HostKey: name, Version: "5.21", Cores: engine.Amount{Total: 16}, MemoryMiB: engine.Amount{Total: 16384},
			CPUOvercommit: 1, MemoryOvercommit: 1, StoragePools: []engine.StoragePool{{Name: "default", Default: true}},
		}
		if architecture != "" {
			h.Architectures = []string{architecture + "/generic"}
		}
		return h
	}
	vms := func(count int, n vmNeed) []vmNeed {
		n.room = Room{Cores: 1, MemoryMiB: 8192}
		return slices.Repeat([]vmNeed{n}, count)
	}
	amd64, arm64 := vmNeed{architectures: []string{"amd64"}}, vmNeed{architectures: []string{"arm64"}}
	forced := arm64
	forced.isForced = true
	mixed := []engine.VMHost{host("a1", "amd64"), host("r1", "arm64"), host("r2", "arm64")}
	const warns, refuses = "Cannot create all VMs of this plan as things are", "Cannot replace VM "
	cases := map[string]struct {
		reason string
		hosts  []engine.VMHost
		vms    []vmNeed
		want   []string // words of each diagnostic, in order
	}{
		"Fits":          {"Each kind of VM host is just full.", mixed, slices.Concat(vms(2, amd64), vms(4, arm64)), nil},
		"OneKind":       {"The arm64 VM hosts are empty, but do not run the image.", mixed, vms(3, amd64), []string{warns + " the VMs planned for VM host a1 take more than it has: 3 or more of them need 24576 MiB of memory, and 16384 are left"}},
		"Several":       {"There are two VM hosts of the architecture.", mixed, vms(5, arm64), []string{warns + " the VMs planned for all arm64 VM hosts together take more than they have: 5 or more of them need 40960 MiB of memory, and 32768 are left"}},
		"BothKinds":     {"One shortage does not hide the other.", mixed, slices.Concat(vms(3, amd64), vms(5, arm64)), []string{"VM host a1 take more than it has", "all arm64 VM hosts together"}},
		"NotItsKind":    {"The VM hosts of the forced VM have room, whatever the others lack.", mixed, slices.Concat(vms(3, amd64), vms(2, forced)), []string{warns + " the VMs planned for VM host a1"}},
		"Forced":        {"The forced VM may find no arm64 VM host.", mixed, vms(5, forced), []string{refuses}},
		"ForcedBesides": {"VMs of any architecture may take the room of the forced VM.", mixed, slices.Concat(vms(1, forced), vms(6, vmNeed{})), []string{refuses}},
		"Any":           {"An image for both runs anywhere.", mixed, vms(6, vmNeed{architectures: []string{"amd64", "arm64"}}), nil},
		"AnyRest":       {"What one kind lacks is no room for VMs that run anywhere.", mixed, slices.Concat(vms(3, amd64), vms(5, vmNeed{})), []string{"VM host a1", "the other VM hosts together take more than they have"}},
		"Named":         {"VMs that name a VM host take the room of placed ones.", mixed, slices.Concat(vms(1, vmNeed{host: "a1"}), vms(2, amd64)), []string{"VM host a1 take more than it has"}},
		"Unknown":       {"A VM host that tells no architecture may run any image.", []engine.VMHost{host("a1", "amd64"), host("u1", ""), host("r1", "arm64")}, vms(4, amd64), nil},
		"NoneSuits":     {"Each VM's own check says that no VM host can run its image.", mixed, vms(2, vmNeed{architectures: []string{"s390x"}}), nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			r := new(Run)
			for i, need := range tc.vms {
				vm := fmt.Sprintf("web-%d", i)
				r.reportShortages(r.addVMNeed(vm, need), need, tc.hosts, ObstacleReport{Object: "VM " + vm, Action: "create", IsForced: need.isForced, Run: r, Diags: &diags})
			}
			var got []string
			for _, d := range diags {
				got = append(got, d.Summary()+" "+d.Detail())
			}
			if !slices.EqualFunc(got, tc.want, strings.Contains) {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.want)
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
