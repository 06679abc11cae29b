package setup

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/engine"
)

// TestApplyOverwrites: an LXD that would overwrite a disk does not get it.
func TestApplyOverwrites(t *testing.T) {
	t.Parallel()
	const disk = "/dev/disk/by-id/wwn-0x5000c500a1b2c3d4"
	cases := map[string]struct {
		reason, version string
		pool            cloudinit.StoragePool
		says, hint      string // of a refusal; empty: there is none
	}{
		"ZFS": {
			reason:  "LXD 5.0 calls zpool with -f, which takes an unmounted file system and a member of a RAID.",
			version: "5.0.2", pool: cloudinit.StoragePool{Source: disk},
			says: "storage pool vms: LXD 5.0.2 would overwrite " + disk, hint: "zpool create NAME DISK",
		},
		"Wipe": {
			reason:  "It does not know the setting, and LXD's own word for that is no help.",
			version: "5.0.2", pool: cloudinit.StoragePool{Driver: cloudinit.Btrfs, Source: disk, Wipe: true},
			says: "LXD 5.0.2 cannot wipe " + disk, hint: "wipefs --all",
		},
		"Btrfs":  {reason: "mkfs.btrfs looks for itself, as LXD 5.0 calls it.", version: "5.0.2", pool: cloudinit.StoragePool{Driver: cloudinit.Btrfs, Source: disk}},
		"File":   {reason: "Nothing is overwritten by a new file.", version: "5.0.2", pool: cloudinit.StoragePool{}},
		"Pool":   {reason: "A pool of ZFS that somebody made is only used.", version: "5.0.2", pool: cloudinit.StoragePool{Source: "tank/lxd"}},
		"Newer":  {reason: "zpool looks for itself, as LXD calls it now.", version: "5.21.3", pool: cloudinit.StoragePool{Source: disk}},
		"Wanted": {reason: "What is to be wiped may be.", version: "5.21.3", pool: cloudinit.StoragePool{Source: disk, Wipe: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newSimulatedLXD(t, tc.version)
			conn := f.connect(t)
			before := readState(t, conn)
			_, err := Apply(t.Context(), conn, f.newHost(t, withPool("vms", tc.pool)), Options{DryRun: tc.says == ""})
			refusal := (*engine.Refusal)(nil)
			switch {
			case tc.says == "" && err != nil:
				t.Errorf("%s\ngot %v", tc.reason, err)
			case tc.says != "" && (!errors.As(err, &refusal) || !strings.Contains(refusal.Message, tc.says) || !strings.Contains(refusal.Hint, tc.hint)):
				t.Errorf("%s\nwant a refusal with %q, got %v", tc.reason, tc.says, err)
			}
			if diff := cmp.Diff(before, readState(t, conn), ignoreOrder); diff != "" {
				t.Errorf("-before +after:\n%s", diff)
			}
		})
	}
}
