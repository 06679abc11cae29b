package gomaas

import (
	"strconv"
	"testing"

	"github.com/canonical/gomaasclient/client"
	"github.com/canonical/gomaasclient/entity"
)

func TestBlockDevices(t *testing.T) {
	start(t, func(c *client.Client) {
		id := machine(c, "metal1").SystemID
		disks := must(c.BlockDevices.Get(id))
		same(t, "the number of disks", len(disks), 2)
		same(t, "the size of the first", disks[0].Size, 480e9)

		made := must(c.BlockDevices.Create(id, &entity.BlockDeviceParams{Name: "sdz", Model: "M", Serial: "S1", Size: 20e9, BlockSize: 512}))
		same(t, "the name of the new one", must(c.BlockDevice.Get(id, made.ID)).Name, "sdz")
		must(c.BlockDevice.Update(id, made.ID, &entity.BlockDeviceParams{Name: "sdy", Size: 30e9}))
		read := must(c.BlockDevice.Get(id, made.ID))
		same(t, "the new name", read.Name, "sdy")
		same(t, "the new size", read.Size, 30e9)
		same(t, "the serial number, which stays", read.Serial, "S1")

		must(c.BlockDevice.AddTag(id, made.ID, "fast"))
		has(t, "tags", must(c.BlockDevice.Get(id, made.ID)).Tags, "fast", true)
		must(c.BlockDevice.RemoveTag(id, made.ID, "fast"))
		has(t, "tags", must(c.BlockDevice.Get(id, made.ID)).Tags, "fast", false)

		try(c.BlockDevice.SetBootDisk(id, made.ID))
		same(t, "the boot disk", machine(c, "metal1").BootDisk.ID, made.ID)
		try(c.BlockDevice.Delete(id, made.ID))
		_, err := c.BlockDevice.Get(id, made.ID)
		gone(t, "disk", err)
		same(t, "the boot disk after that", machine(c, "metal1").BootDisk.ID, disks[0].ID)
	})
}

func TestBlockDeviceFilesystem(t *testing.T) {
	start(t, func(c *client.Client) {
		id := machine(c, "metal1").SystemID
		disk := must(c.BlockDevices.Get(id))[1]
		read := func() entity.BlockDevice { return *must(c.BlockDevice.Get(id, disk.ID)) }

		must(c.BlockDevice.Format(id, disk.ID, "xfs"))
		same(t, "the file system", read().Filesystem.FSType, "xfs")
		same(t, "what is left", read().AvailableSize, 0)
		must(c.BlockDevice.Mount(id, disk.ID, "/srv", "noatime"))
		same(t, "where it is mounted", read().Filesystem.MountPoint, "/srv")
		same(t, "how", read().Filesystem.MountOptions, "noatime")
		same(t, "what it is used for", read().UsedFor, "xfs formatted filesystem mounted at /srv")
		must(c.BlockDevice.Unmount(id, disk.ID))
		same(t, "where it is mounted after that", read().Filesystem.MountPoint, "")
		must(c.BlockDevice.Unformat(id, disk.ID))
		same(t, "the use of the disk", read().UsedFor, "Unused")
	})
}

func TestPartitions(t *testing.T) {
	start(t, func(c *client.Client) {
		id := machine(c, "metal1").SystemID
		disk := must(c.BlockDevices.Get(id))[1].ID
		made := must(c.BlockDevicePartitions.Create(id, disk, &entity.BlockDevicePartitionParams{Size: 5e9, Bootable: true}))
		must(c.BlockDevicePartitions.Create(id, disk, &entity.BlockDevicePartitionParams{Size: 5e9}))
		all := must(c.BlockDevicePartitions.Get(id, disk))
		same(t, "the number of partitions", len(all), 2)
		same(t, "the size, rounded down", all[0].Size, 4999610368)
		same(t, "the path of the second", all[1].Path, "/dev/disk/by-dname/sdb-part3")
		read := func() entity.BlockDevicePartition { return *must(c.BlockDevicePartition.Get(id, disk, made.ID)) }
		same(t, "bootable", read().Bootable, true)

		must(c.BlockDevicePartition.AddTag(id, disk, made.ID, "fast"))
		has(t, "tags", read().Tags, "fast", true)
		must(c.BlockDevicePartition.RemoveTag(id, disk, made.ID, "fast"))
		has(t, "tags", read().Tags, "fast", false)
		must(c.BlockDevicePartition.Format(id, disk, made.ID, "ext4", "data"))
		same(t, "the label", read().FileSystem.Label, "data")
		must(c.BlockDevicePartition.Mount(id, disk, made.ID, "/data", ""))
		same(t, "the use", read().UsedFor, "ext4 formatted filesystem mounted at /data")
		must(c.BlockDevicePartition.Unmount(id, disk, made.ID))
		must(c.BlockDevicePartition.Unformat(id, disk, made.ID))
		same(t, "the use after that", read().UsedFor, "Unused")
		try(c.BlockDevicePartition.Delete(id, disk, made.ID))
		_, err := c.BlockDevicePartition.Get(id, disk, made.ID)
		gone(t, "partition", err)
		same(t, "the path of the second, which moved up", must(c.BlockDevicePartitions.Get(id, disk))[0].Path, "/dev/disk/by-dname/sdb-part2")
	})
}

// parts are partitions of the second disk of metal1.
func parts(c *client.Client, n int) (id string, disk int, all []string) {
	id = machine(c, "metal1").SystemID
	disk = must(c.BlockDevices.Get(id))[1].ID
	for range n {
		p := must(c.BlockDevicePartitions.Create(id, disk, &entity.BlockDevicePartitionParams{Size: 10e9}))
		all = append(all, strconv.Itoa(p.ID))
	}
	return id, disk, all
}

func TestVolumeGroups(t *testing.T) {
	start(t, func(c *client.Client) {
		id, disk, all := parts(c, 2)
		made := must(c.VolumeGroups.Create(id, &entity.VolumeGroupCreateParams{Name: "vg0", Partitions: all[:1]}))
		same(t, "the number of groups", len(must(c.VolumeGroups.Get(id))), 1)
		same(t, "the use of its partition", must(c.BlockDevicePartitions.Get(id, disk))[0].UsedFor, "LVM volume for vg0")
		volume := must(c.VolumeGroup.CreateLogicalVolume(id, made.ID, &entity.LogicalVolumeParams{Name: "lv0", Size: 5e9}))
		must(c.VolumeGroup.Update(id, made.ID, &entity.VolumeGroupUpdateParams{Name: "vg1", AddPartitions: all[1:]}))
		read := must(c.VolumeGroup.Get(id, made.ID))
		same(t, "the new name", read.Name, "vg1")
		same(t, "the size of both", read.Size, 19990052864)
		same(t, "the name of the volume", read.LogicalVolumes[0].Name, "vg1-lv0")
		same(t, "what is used", read.UsedSize, 4999610368)

		same(t, "a deletion of a group that has volumes", statusOf(c.VolumeGroup.Delete(id, made.ID)), 400)
		try(c.VolumeGroup.DeleteLogicalVolume(id, made.ID, volume.ID))
		_, err := c.BlockDevice.Get(id, volume.ID)
		gone(t, "volume", err)
		try(c.VolumeGroup.Delete(id, made.ID))
		_, err = c.VolumeGroup.Get(id, made.ID)
		gone(t, "volume group", err)
		same(t, "the use of its partition", must(c.BlockDevicePartitions.Get(id, disk))[0].UsedFor, "Unused")
	})
}

func TestRAIDs(t *testing.T) {
	start(t, func(c *client.Client) {
		id, disk, all := parts(c, 3)
		made := must(c.RAIDs.Create(id, &entity.RAIDCreateParams{Name: "md0", Level: "raid-1", Partitions: all[:2]}))
		same(t, "the number of RAIDs", len(must(c.RAIDs.Get(id))), 1)
		must(c.RAID.Update(id, made.ID, &entity.RAIDUpdateParams{Name: "md1", AddSparePartitions: all[2:]}))
		read := must(c.RAID.Get(id, made.ID))
		same(t, "the name", read.Name, "md1")
		same(t, "the level", read.Level, "raid-1")
		same(t, "the number of spares", len(read.SpareDevices), 1)
		same(t, "the block device", must(c.BlockDevice.Get(id, read.VirtualDevice.ID)).Name, "md1")

		_, err := c.RAID.Update(id, made.ID, &entity.RAIDUpdateParams{RemovePartitions: all[:1]})
		same(t, "a RAID 1 of one device", statusOf(err), 400)
		same(t, "the number of devices after that", len(must(c.RAID.Get(id, made.ID)).Devices), 2)
		try(c.RAID.Delete(id, made.ID))
		_, err = c.RAID.Get(id, made.ID)
		gone(t, "RAID", err)
		same(t, "the use of a partition of it", must(c.BlockDevicePartitions.Get(id, disk))[2].UsedFor, "Unused")
	})
}

func TestBcaches(t *testing.T) {
	start(t, func(c *client.Client) {
		id, disk, all := parts(c, 3)
		set := must(c.BCacheCacheSets.Create(id, &entity.BCacheCacheSetParams{CachePartition: all[0]}))
		same(t, "the number of cache sets", len(must(c.BCacheCacheSets.Get(id))), 1)
		must(c.BCacheCacheSet.Update(id, set.ID, &entity.BCacheCacheSetParams{CachePartition: all[1]}))
		same(t, "the device of the set", strconv.Itoa(must(c.BCacheCacheSet.Get(id, set.ID)).CacheDevice.ID), all[1])
		same(t, "the use of the other one", must(c.BlockDevicePartitions.Get(id, disk))[0].UsedFor, "Unused")

		made := must(c.BCaches.Create(id, &entity.BCacheParams{Name: "bc0", CacheSet: strconv.Itoa(set.ID), BackingPartition: all[2], CacheMode: "writeback"}))
		same(t, "the number of bcaches", len(must(c.BCaches.Get(id))), 1)
		must(c.BCache.Update(id, made.ID, &entity.BCacheParams{Name: "bc1", BackingPartition: all[0], CacheMode: "writearound"}))
		read := must(c.BCache.Get(id, made.ID))
		same(t, "the name", read.VirtualDevice.Name, "bc1")
		same(t, "the mode", read.CacheMode, "writearound")
		same(t, "the backing device", strconv.Itoa(read.BackingDevice.ID), all[0])

		same(t, "a deletion of a set in use", statusOf(c.BCacheCacheSet.Delete(id, set.ID)), 400)
		try(c.BCache.Delete(id, made.ID))
		_, err := c.BCache.Get(id, made.ID)
		gone(t, "bcache", err)
		try(c.BCacheCacheSet.Delete(id, set.ID))
		_, err = c.BCacheCacheSet.Get(id, set.ID)
		gone(t, "cache set", err)
	})
}

func TestStorageRestored(t *testing.T) {
	start(t, func(c *client.Client) {
		id := machine(c, "metal1").SystemID
		before := len(must(c.BlockDevices.Get(id))[0].Partitions)
		try(c.Machine.RestoreStorageConfiguration(id))
		same(t, "the partitions that commissioning laid out", len(must(c.BlockDevices.Get(id))[0].Partitions), before)
		must(c.Machines.Allocate(&entity.MachineAllocateParams{SystemID: id}))
		must(c.Machine.Deploy(id, &entity.MachineDeployParams{DistroSeries: "noble"}))
		same(t, "the status of a machine under way", statusOf(c.Machine.RestoreStorageConfiguration(id)), 409)
	})
}
