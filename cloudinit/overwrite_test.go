package cloudinit_test

import (
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/cloudinit"
)

// TestMachineSparesDisks: an LXD that would overwrite a disk that is not empty does not get
// it.
func TestMachineSparesDisks(t *testing.T) {
	t.Parallel()
	const knows = `{ "api_extensions": [ "storage", "storage_pool_source_wipe" ] }`
	cases := map[string]struct {
		reason  string
		pool    cloudinit.StoragePool
		server  string            // what LXD says of itself
		carries string            // what wipefs finds
		there   map[string]string // what LXD has
		spared  bool
	}{
		"Occupied":  {reason: "LXD 5.0 calls zpool with -f.", pool: cloudinit.StoragePool{Source: "/dev/null"}, server: `{ "api_extensions": [ "storage" ] }`, carries: "linux_raid_member\n", spared: true},
		"Silent":    {reason: "An LXD that says nothing of itself is taken for such a one.", pool: cloudinit.StoragePool{Source: "/dev/null"}, carries: "gpt\nPMBR\n", spared: true},
		"Empty":     {reason: "Nothing is lost.", pool: cloudinit.StoragePool{Source: "/dev/null"}},
		"Newer":     {reason: "LXD 5.21 lets zpool look.", pool: cloudinit.StoragePool{Source: "/dev/null"}, server: knows, carries: "ext4\n"},
		"NoDisk":    {reason: "LXD says what is not there.", pool: cloudinit.StoragePool{Source: "/dev/maaslxd-none"}, carries: "ext4\n"},
		"Btrfs":     {reason: "mkfs.btrfs looks for itself.", pool: cloudinit.StoragePool{Driver: cloudinit.Btrfs, Source: "/dev/null"}, carries: "ext4\n"},
		"OwnedByUs": {reason: "It carries the pool that was made of it.", pool: cloudinit.StoragePool{Source: "/dev/null"}, carries: "zfs_member\n", there: map[string]string{"storage-pools_default": `{ "driver": "zfs" }`}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := goldenHosts(t)["default"]
			h.StoragePools = map[string]cloudinit.StoragePool{"default": tc.pool}
			m := newFakeMachine(t, h)
			m.presetLXD(cloudinit.DefaultChannel)
			m.writeFile("state/carries", tc.carries)
			if tc.server != "" {
				m.writeFile("state/api/_1.0", tc.server)
			}
			for file, text := range tc.there {
				m.writeFile("state/api/"+file, text)
			}
			m.wantSuccess(m.runInstallUnit())
			if tc.there == nil && m.hasFile("instance/sem/config_lxd") != tc.spared {
				t.Errorf("%s\ncloud-init is kept from giving LXD the preseed: %t, want %t", tc.reason, !tc.spared, tc.spared)
			}
			if m.hasFile("instance/sem/maaslxd_refusal") != tc.spared {
				t.Errorf("%s\nrefused: %t", tc.reason, !tc.spared)
			}
			if !tc.spared {
				return
			}
			out, ok := m.runHostScript()
			found, _, _ := strings.Cut(tc.carries, "\n")
			want := "there is no storage pool default of the driver zfs: the preseed was not applied: /dev/null carries " + found
			if ok || !strings.Contains(out, want) || !strings.Contains(out, "empty it with wipefs --all") {
				t.Errorf("%s\nsucceeded %t, said %q, want %q", tc.reason, ok, out, want)
			}
		})
	}
}
