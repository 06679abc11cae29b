package gomaas

import (
	"github.com/canonical/gomaasclient/client"
	"github.com/canonical/gomaasclient/entity"
)

// unservedStorage are calls that lay out disks.
var unservedStorage = []group{
	{"storage is whole disks", map[string]func(*client.Client, string) error{
		"BCache.Delete": func(c *client.Client, m string) error { return c.BCache.Delete(m, 1) },
		"BCache.Get":    func(c *client.Client, m string) error { return result(c.BCache.Get(m, 1)) },
		"BCache.Update": func(c *client.Client, m string) error {
			return result(c.BCache.Update(m, 1, &entity.BCacheParams{Name: "b"}))
		},
		"BCacheCacheSet.Delete": func(c *client.Client, m string) error { return c.BCacheCacheSet.Delete(m, 1) },
		"BCacheCacheSet.Get":    func(c *client.Client, m string) error { return result(c.BCacheCacheSet.Get(m, 1)) },
		"BCacheCacheSet.Update": func(c *client.Client, m string) error {
			return result(c.BCacheCacheSet.Update(m, 1, &entity.BCacheCacheSetParams{CacheDevice: "1"}))
		},
		"BCacheCacheSets.Create": func(c *client.Client, m string) error {
			return result(c.BCacheCacheSets.Create(m, &entity.BCacheCacheSetParams{}))
		},
		"BCacheCacheSets.Get": func(c *client.Client, m string) error { return result(c.BCacheCacheSets.Get(m)) },
		"BCaches.Create":      func(c *client.Client, m string) error { return result(c.BCaches.Create(m, &entity.BCacheParams{})) },
		"BCaches.Get":         func(c *client.Client, m string) error { return result(c.BCaches.Get(m)) },
		"RAID.Delete":         func(c *client.Client, m string) error { return c.RAID.Delete(m, 1) },
		"RAID.Get":            func(c *client.Client, m string) error { return result(c.RAID.Get(m, 1)) },
		"RAID.Update": func(c *client.Client, m string) error {
			return result(c.RAID.Update(m, 1, &entity.RAIDUpdateParams{Name: "md1"}))
		},
		"RAIDs.Create": func(c *client.Client, m string) error {
			return result(c.RAIDs.Create(m, &entity.RAIDCreateParams{Level: "raid-1"}))
		},
		"RAIDs.Get": func(c *client.Client, m string) error { return result(c.RAIDs.Get(m)) },
		"VolumeGroup.CreateLogicalVolume": func(c *client.Client, m string) error {
			return result(c.VolumeGroup.CreateLogicalVolume(m, 1, &entity.LogicalVolumeParams{Size: 1e9}))
		},
		"VolumeGroup.Delete":              func(c *client.Client, m string) error { return c.VolumeGroup.Delete(m, 1) },
		"VolumeGroup.DeleteLogicalVolume": func(c *client.Client, m string) error { return c.VolumeGroup.DeleteLogicalVolume(m, 1, 1) },
		"VolumeGroup.Get":                 func(c *client.Client, m string) error { return result(c.VolumeGroup.Get(m, 1)) },
		"VolumeGroup.Update": func(c *client.Client, m string) error {
			return result(c.VolumeGroup.Update(m, 1, &entity.VolumeGroupUpdateParams{Name: "vg"}))
		},
		"VolumeGroups.Create": func(c *client.Client, m string) error {
			return result(c.VolumeGroups.Create(m, &entity.VolumeGroupCreateParams{Name: "vg"}))
		},
		"VolumeGroups.Get": func(c *client.Client, m string) error { return result(c.VolumeGroups.Get(m)) },
	}},
	{"disks cannot be changed", map[string]func(*client.Client, string) error{
		"BlockDevice.AddTag":      func(c *client.Client, m string) error { return result(c.BlockDevice.AddTag(m, 1, "ssd")) },
		"BlockDevice.Delete":      func(c *client.Client, m string) error { return c.BlockDevice.Delete(m, 1) },
		"BlockDevice.Format":      func(c *client.Client, m string) error { return result(c.BlockDevice.Format(m, 1, "ext4")) },
		"BlockDevice.Get":         func(c *client.Client, m string) error { return result(c.BlockDevice.Get(m, 1)) },
		"BlockDevice.Mount":       func(c *client.Client, m string) error { return result(c.BlockDevice.Mount(m, 1, "/srv", "")) },
		"BlockDevice.RemoveTag":   func(c *client.Client, m string) error { return result(c.BlockDevice.RemoveTag(m, 1, "ssd")) },
		"BlockDevice.SetBootDisk": func(c *client.Client, m string) error { return c.BlockDevice.SetBootDisk(m, 1) },
		"BlockDevice.Unformat":    func(c *client.Client, m string) error { return result(c.BlockDevice.Unformat(m, 1)) },
		"BlockDevice.Unmount":     func(c *client.Client, m string) error { return result(c.BlockDevice.Unmount(m, 1)) },
		"BlockDevice.Update": func(c *client.Client, m string) error {
			return result(c.BlockDevice.Update(m, 1, &entity.BlockDeviceParams{Name: "sdz"}))
		},
		"BlockDevices.Create": func(c *client.Client, m string) error {
			return result(c.BlockDevices.Create(m, &entity.BlockDeviceParams{Name: "sdz"}))
		},
	}},
	{"there are no partitions to change", map[string]func(*client.Client, string) error{
		"BlockDevicePartition.AddTag": func(c *client.Client, m string) error { return result(c.BlockDevicePartition.AddTag(m, 1, 1, "ssd")) },
		"BlockDevicePartition.Delete": func(c *client.Client, m string) error { return c.BlockDevicePartition.Delete(m, 1, 1) },
		"BlockDevicePartition.Format": func(c *client.Client, m string) error {
			return result(c.BlockDevicePartition.Format(m, 1, 1, "ext4", ""))
		},
		"BlockDevicePartition.Get": func(c *client.Client, m string) error { return result(c.BlockDevicePartition.Get(m, 1, 1)) },
		"BlockDevicePartition.Mount": func(c *client.Client, m string) error {
			return result(c.BlockDevicePartition.Mount(m, 1, 1, "/srv", ""))
		},
		"BlockDevicePartition.RemoveTag": func(c *client.Client, m string) error {
			return result(c.BlockDevicePartition.RemoveTag(m, 1, 1, "ssd"))
		},
		"BlockDevicePartition.Unformat": func(c *client.Client, m string) error { return result(c.BlockDevicePartition.Unformat(m, 1, 1)) },
		"BlockDevicePartition.Unmount":  func(c *client.Client, m string) error { return result(c.BlockDevicePartition.Unmount(m, 1, 1)) },
		"BlockDevicePartitions.Create": func(c *client.Client, m string) error {
			return result(c.BlockDevicePartitions.Create(m, 1, &entity.BlockDevicePartitionParams{Size: 1e9}))
		},
		"BlockDevicePartitions.Get": func(c *client.Client, m string) error { return result(c.BlockDevicePartitions.Get(m, 1)) },
	}},
}
