package engine

import (
	"strings"
	"testing"
)

// TestCheckVersion refuses what a MAAS is too old for, and what it does not do at all.
func TestCheckVersion(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		version string
		want    Deployment
		at      string // empty: it is good
		says    string
	}{
		"Sync":            {reason: "MAAS has it.", version: "3.4.10", want: Deployment{Image: "ubuntu/noble", HardwareSync: true}},
		"SyncDefault":     {reason: "MAAS's default is Ubuntu.", version: "3.4.10", want: Deployment{HardwareSync: true}},
		"SyncTooOld":      {"MAAS 3.1 drops the wish without a word.", "3.1.3", Deployment{HardwareSync: true}, "deploy.enable_hw_sync", "came with MAAS 3.2"},
		"SyncVeryOld":     {"So does 2.9.", "2.9.0", Deployment{HardwareSync: true}, "deploy.enable_hw_sync", "upgrade MAAS"},
		"SyncWindows":     {"The agent is for Linux.", "3.8.0", Deployment{Image: "windows/win2022", HardwareSync: true}, "deploy.enable_hw_sync", "for Linux only"},
		"SyncCustom":      {reason: "What it is only MAAS knows.", version: "3.8.0", want: Deployment{Image: "custom/k8s", HardwareSync: true}},
		"Memory":          {reason: "Ubuntu always could.", version: "3.4.10", want: Deployment{Image: "ubuntu/noble", Ephemeral: true}},
		"MemoryOldCustom": {"MAAS 3.4 knows of Ubuntu alone.", "3.4.10", Deployment{Image: "custom/k8s", Ephemeral: true}, "deploy.ephemeral", "other systems need MAAS 3.5"},
		"MemoryCustom":    {reason: "Later ones look at the image.", version: "3.5.0", want: Deployment{Image: "custom/k8s", Ephemeral: true}},
		"Unreadable":      {reason: "The age of an unreadable version is unknown.", version: "edge", want: Deployment{HardwareSync: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := tc.want.checkVersion(Capabilities{Version: tc.version})
			bad, refused := err.(*SpecError) //nolint:errorlint // it is not wrapped
			if refused != (tc.at != "") || refused && (bad.Field.String() != tc.at || !strings.Contains(bad.Message+" "+bad.Hint, tc.says)) {
				t.Errorf("%s\nwant %q at %q, got %v", tc.reason, tc.says, tc.at, err)
			}
		})
	}
}

// TestStorageLayoutFits names disks that a machine has, or has not.
func TestStorageLayoutFits(t *testing.T) {
	t.Parallel()
	plain := Machine{Hostname: "node1", Disks: []MachineDisk{{ID: 3, Name: "sda", SizeGB: 64}, {ID: 4, Name: "sdb", SizeGB: 100}}}
	boots := plain
	boots.BootDisk = 3
	tagged := boots
	tagged.Disks = []MachineDisk{{ID: 3, Name: "sda", SizeGB: 64, Tags: []string{"ssd"}}, {ID: 4, Name: "sdb", SizeGB: 100, Tags: []string{"ssd"}}}
	const at = "deploy.storage_layout."
	cases := map[string]struct {
		reason  string
		machine Machine
		layout  *StorageLayout
		at      string // empty: it fits
		says    string
	}{
		"None":        {reason: "The disks stay as they are."},
		"BootDisk":    {reason: "Only MAAS knows which one it boots from.", machine: plain, layout: &StorageLayout{Type: "flat", RootSizeGB: 90}},
		"Second":      {reason: "It is large enough.", machine: plain, layout: &StorageLayout{Type: "lvm", RootDisk: "sdb", VolumeSizeGB: 100}},
		"NoDisk":      {"It has two.", plain, &StorageLayout{Type: "flat", RootDisk: "nvme0n1"}, at + "root_disk", "sda, sdb"},
		"Partition":   {"It does not fit on the disk.", plain, &StorageLayout{Type: "flat", RootDisk: "sda", RootSizeGB: 65}, at + "root_disk", "has 64 GB"},
		"Volume":      {"Nor does this.", plain, &StorageLayout{Type: "lvm", RootDisk: "sda", VolumeSizeGB: 65}, at + "root_disk", "has 64 GB"},
		"Largest":     {reason: "MAAS keeps a GB for the partitions from which the machine boots.", machine: boots, layout: &StorageLayout{Type: "flat", RootSizeGB: 62}},
		"TooLarge":    {"That GB is missing.", boots, &StorageLayout{Type: "flat", RootSizeGB: 63}, at + "root_size_gb", "at most 62."},
		"Elsewhere":   {"MAAS compares with the boot disk anyway.", boots, &StorageLayout{Type: "flat", RootDisk: "sdb", RootSizeGB: 90}, at + "root_size_gb", "boots from the disk sda of 64 GB"},
		"BootVolume":  {"It is larger than the volume group.", boots, &StorageLayout{Type: "lvm", VolumeSizeGB: 64}, at + "volume_size_gb", "at most 63."},
		"NoCache":     {"No disk has the tag.", boots, &StorageLayout{Type: "bcache"}, at + "type", "no disk for the cache"},
		"Cache":       {reason: "The second disk is one.", machine: tagged, layout: &StorageLayout{Type: "bcache"}},
		"CacheOfRoot": {"MAAS takes it for the cache.", tagged, &StorageLayout{Type: "bcache", RootDisk: "sdb"}, at + "root_disk", "takes the disk sdb"},
		"VMware":      {reason: "The disk is large enough for ESXi.", machine: boots, layout: &StorageLayout{Type: "vmfs7"}},
		"VMwareSmall": {
			"The disk is too small for it.", Machine{Hostname: "node1", BootDisk: 3, Disks: []MachineDisk{{ID: 3, Name: "sda", SizeGB: 34, Bytes: 34 * bytesPerGB}}},
			&StorageLayout{Type: "vmfs7"}, at + "type", "needs 32 GiB",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := tc.layout.CheckDisks(tc.machine)
			bad, refused := err.(*SpecError) //nolint:errorlint // it is not wrapped
			if refused != (tc.at != "") || refused && (bad.Field.String() != tc.at || !strings.Contains(bad.Message+" "+bad.Hint, tc.says)) {
				t.Errorf("%s\nwant %q at %q, got %v", tc.reason, tc.says, tc.at, err)
			}
		})
	}
}
