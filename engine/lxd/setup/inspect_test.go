package setup

import (
	"slices"
	"testing"

	"github.com/maaslxd/maaslxd/cloudinit"
)

// TestInspect sees everything that Apply has made, and nothing before that.
func TestInspect(t *testing.T) {
	t.Parallel()
	runOnEachLXD(t, func(t *testing.T, f freshLXD) {
		conn, h := f.connect(t), f.newHost(t)
		before, err := Inspect(t.Context(), conn, "maas")
		if err != nil {
			t.Fatal(err)
		}
		if before.HasProject || before.Version == "" || before.Cores < 1 || before.MemoryMiB < 256 || len(before.Fingerprint) != 64 {
			t.Errorf("before: %+v", before)
		}
		if _, err := Apply(t.Context(), conn, h, Options{}); err != nil {
			t.Fatal(err)
		}
		after, err := Inspect(t.Context(), conn, "maas")
		if err != nil {
			t.Fatal(err)
		}
		hasPool := slices.ContainsFunc(after.Pools, func(p InspectedPool) bool {
			return p.Name == "vms" && p.Driver == string(cloudinit.Dir) && (p.TotalBytes > 0 || f.sim != nil) && p.FreeBytes <= p.TotalBytes
		})
		hasBridge := slices.ContainsFunc(after.Networks, func(n InspectedNetwork) bool {
			return n.Name == f.bridges[0] && n.Type == "bridge" && !n.Managed && len(n.MAC) == 17
		})
		if !after.HasProject || !hasPool || !hasBridge || len(after.Trusted) != len(before.Trusted)+1 || len(after.Instances) != 0 {
			t.Errorf("after: %+v", after)
		}
	})
}

func TestVersionTooNewForMAAS(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{
		"": false, "5.0.2": false, "5.21.3": false, "5.21": false, "6.6": false, "6.6.1": false, "6.7": true, "6.7.1": true, "7": true, "7.0.1": true,
	} {
		if got := isTooNewForMAAS(version); got != want {
			t.Errorf("%s: got %t", version, got)
		}
	}
}
