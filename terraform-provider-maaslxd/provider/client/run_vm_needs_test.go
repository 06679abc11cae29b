package client

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/maaslxd/maaslxd/engine"
)

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
				all = r.addVMNeed(vm, vmNeed{host: "h1", cores: 1, memoryMiB: 2048, hugePagesMiB: 2048})
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
