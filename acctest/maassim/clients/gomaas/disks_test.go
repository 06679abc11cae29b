package gomaas

import (
	"strconv"
	"testing"

	"github.com/canonical/gomaasclient/client"
	"github.com/canonical/gomaasclient/entity"
)

func TestBlockDevices(t *testing.T) {
	startClient(t, func(c *client.Client) {
		id := machineNamed(c, "metal1").SystemID
		disks := must(c.BlockDevices.Get(id))
		wantSame(t, "the number of disks", len(disks), 2)
		wantSame(t, "the size of the first", disks[0].Size, 480e9)

		made := must(c.BlockDevices.Create(id, &entity.BlockDeviceParams{Name: "sdz", Model: "M", Serial: "S1", Size: 20e9, BlockSize: 512}))
		wantSame(t, "the name of the new one", must(c.BlockDevice.Get(id, made.ID)).Name, "sdz")
		must(c.BlockDevice.Update(id, made.ID, &entity.BlockDeviceParams{Name: "sdy", Size: 30e9}))
		read := must(c.BlockDevice.Get(id, made.ID))
		wantSame(t, "the new name", read.Name, "sdy")
		wantSame(t, "the new size", read.Size, 30e9)
		wantSame(t, "the serial number, which stays", read.Serial, "S1")

		must(c.BlockDevice.AddTag(id, made.ID, "fast"))
		wantContains(t, "tags", must(c.BlockDevice.Get(id, made.ID)).Tags, "fast", true)
		must(c.BlockDevice.RemoveTag(id, made.ID, "fast"))
		wantContains(t, "tags", must(c.BlockDevice.Get(id, made.ID)).Tags, "fast", false)

		mustSucceed(c.BlockDevice.SetBootDisk(id, made.ID))
		wantSame(t, "the boot disk", machineNamed(c, "metal1").BootDisk.ID, made.ID)
		mustSucceed(c.BlockDevice.Delete(id, made.ID))
		_, err := c.BlockDevice.Get(id, made.ID)
		wantNotFound(t, "disk", err)
		wantSame(t, "the boot disk after that", machineNamed(c, "metal1").BootDisk.ID, disks[0].ID)
	})
}

func TestBlockDeviceFilesystem(t *testing.T) {
	startClient(t, func(c *client.Client) {
		id := machineNamed(c, "metal1").SystemID
		disk := must(c.BlockDevices.Get(id))[1]
		read := func() entity.BlockDevice { return *must(c.BlockDevice.Get(id, disk.ID)) }

		must(c.BlockDevice.Format(id, disk.ID, "xfs"))
		wantSame(t, "the file system", read().Filesystem.FSType, "xfs")
		wantSame(t, "what is left", read().AvailableSize, 0)
		must(c.BlockDevice.Mount(id, disk.ID, "/srv", "noatime"))
		wantSame(t, "where it is mounted", read().Filesystem.MountPoint, "/srv")
		wantSame(t, "how", read().Filesystem.MountOptions, "noatime")
		wantSame(t, "what it is used for", read().UsedFor, "xfs formatted filesystem mounted at /srv")
		must(c.BlockDevice.Unmount(id, disk.ID))
		wantSame(t, "where it is mounted after that", read().Filesystem.MountPoint, "")
		must(c.BlockDevice.Unformat(id, disk.ID))
		wantSame(t, "the use of the disk", read().UsedFor, "Unused")
	})
}

func TestPartitions(t *testing.T) {
	startClient(t, func(c *client.Client) {
		id := machineNamed(c, "metal1").SystemID
		disk := must(c.BlockDevices.Get(id))[1].ID
		made := must(c.BlockDevicePartitions.Create(id, disk, &entity.BlockDevicePartitionParams{Size: 5e9, Bootable: true}))
		must(c.BlockDevicePartitions.Create(id, disk, &entity.BlockDevicePartitionParams{Size: 5e9}))
		all := must(c.BlockDevicePartitions.Get(id, disk))
		wantSame(t, "the number of partitions", len(all), 2)
		wantSame(t, "the size, rounded down", all[0].Size, 4999610368)
		wantSame(t, "the path of the second", all[1].Path, "/dev/disk/by-dname/sdb-part3")
		read := func() entity.BlockDevicePartition { return *must(c.BlockDevicePartition.Get(id, disk, made.ID)) }
		wantSame(t, "bootable", read().Bootable, true)

		must(c.BlockDevicePartition.AddTag(id, disk, made.ID, "fast"))
		wantContains(t, "tags", read().Tags, "fast", true)
		must(c.BlockDevicePartition.RemoveTag(id, disk, made.ID, "fast"))
		wantContains(t, "tags", read().Tags, "fast", false)
		must(c.BlockDevicePartition.Format(id, disk, made.ID, "ext4", "data"))
		wantSame(t, "the label", read().FileSystem.Label, "data")
		must(c.BlockDevicePartition.Mount(id, disk, made.ID, "/data", ""))
		wantSame(t, "the use", read().UsedFor, "ext4 formatted filesystem mounted at /data")
		must(c.BlockDevicePartition.Unmount(id, disk, made.ID))
		must(c.BlockDevicePartition.Unformat(id, disk, made.ID))
		wantSame(t, "the use after that", read().UsedFor, "Unused")
		mustSucceed(c.BlockDevicePartition.Delete(id, disk, made.ID))
		_, err := c.BlockDevicePartition.Get(id, disk, made.ID)
		wantNotFound(t, "partition", err)
		wantSame(t, "the path of the second, which moved up", must(c.BlockDevicePartitions.Get(id, disk))[0].Path, "/dev/disk/by-dname/sdb-part2")
	})
}

// makePartitions makes n partitions on the second disk of metal1.
func makePartitions(c *client.Client, n int) (id string, disk int, all []string) {
	id = machineNamed(c, "metal1").SystemID
	disk = must(c.BlockDevices.Get(id))[1].ID
	for range n {
		p := must(c.BlockDevicePartitions.Create(id, disk, &entity.BlockDevicePartitionParams{Size: 10e9}))
		all = append(all, strconv.Itoa(p.ID))
	}
	return id, disk, all
}

func TestVolumeGroups(t *testing.T) {
	startClient(t, func(c *client.Client) {
		id, disk, all := makePartitions(c, 2)
		made := must(c.VolumeGroups.Create(id, &entity.VolumeGroupCreateParams{Name: "vg0", Partitions: all[:1]}))
		wantSame(t, "the number of groups", len(must(c.VolumeGroups.Get(id))), 1)
		wantSame(t, "the use of its partition", must(c.BlockDevicePartitions.Get(id, disk))[0].UsedFor, "LVM volume for vg0")
		volume := must(c.VolumeGroup.CreateLogicalVolume(id, made.ID, &entity.LogicalVolumeParams{Name: "lv0", Size: 5e9}))
		must(c.VolumeGroup.Update(id, made.ID, &entity.VolumeGroupUpdateParams{Name: "vg1", AddPartitions: all[1:]}))
		read := must(c.VolumeGroup.Get(id, made.ID))
		wantSame(t, "the new name", read.Name, "vg1")
		wantSame(t, "the size of both", read.Size, 19990052864)
		wantSame(t, "the name of the volume", read.LogicalVolumes[0].Name, "vg1-lv0")
		wantSame(t, "what is used", read.UsedSize, 4999610368)

		wantSame(t, "a deletion of a group that has volumes", statusOf(c.VolumeGroup.Delete(id, made.ID)), 400)
		mustSucceed(c.VolumeGroup.DeleteLogicalVolume(id, made.ID, volume.ID))
		_, err := c.BlockDevice.Get(id, volume.ID)
		wantNotFound(t, "volume", err)
		mustSucceed(c.VolumeGroup.Delete(id, made.ID))
		_, err = c.VolumeGroup.Get(id, made.ID)
		wantNotFound(t, "volume group", err)
		wantSame(t, "the use of its partition", must(c.BlockDevicePartitions.Get(id, disk))[0].UsedFor, "Unused")
	})
}

func TestRAIDs(t *testing.T) {
	startClient(t, func(c *client.Client) {
		id, disk, all := makePartitions(c, 3)
		made := must(c.RAIDs.Create(id, &entity.RAIDCreateParams{Name: "md0", Level: "raid-1", Partitions: all[:2]}))
		wantSame(t, "the number of RAIDs", len(must(c.RAIDs.Get(id))), 1)
		must(c.RAID.Update(id, made.ID, &entity.RAIDUpdateParams{Name: "md1", AddSparePartitions: all[2:]}))
		read := must(c.RAID.Get(id, made.ID))
		wantSame(t, "the name", read.Name, "md1")
		wantSame(t, "the level", read.Level, "raid-1")
		wantSame(t, "the number of spares", len(read.SpareDevices), 1)
		wantSame(t, "the block device", must(c.BlockDevice.Get(id, read.VirtualDevice.ID)).Name, "md1")

		_, err := c.RAID.Update(id, made.ID, &entity.RAIDUpdateParams{RemovePartitions: all[:1]})
		wantSame(t, "a RAID 1 of one device", statusOf(err), 400)
		wantSame(t, "the number of devices after that", len(must(c.RAID.Get(id, made.ID)).Devices), 2)
		mustSucceed(c.RAID.Delete(id, made.ID))
		_, err = c.RAID.Get(id, made.ID)
		wantNotFound(t, "RAID", err)
		wantSame(t, "the use of a partition of it", must(c.BlockDevicePartitions.Get(id, disk))[2].UsedFor, "Unused")
	})
}

func TestBcaches(t *testing.T) {
	startClient(t, func(c *client.Client) {
		id, disk, all := makePartitions(c, 3)
		set := must(c.BCacheCacheSets.Create(id, &entity.BCacheCacheSetParams{CachePartition: all[0]}))
		wantSame(t, "the number of cache sets", len(must(c.BCacheCacheSets.Get(id))), 1)
		must(c.BCacheCacheSet.Update(id, set.ID, &entity.BCacheCacheSetParams{CachePartition: all[1]}))
		wantSame(t, "the device of the set", strconv.Itoa(must(c.BCacheCacheSet.Get(id, set.ID)).CacheDevice.ID), all[1])
		wantSame(t, "the use of the other one", must(c.BlockDevicePartitions.Get(id, disk))[0].UsedFor, "Unused")

		made := must(c.BCaches.Create(id, &entity.BCacheParams{Name: "bc0", CacheSet: strconv.Itoa(set.ID), BackingPartition: all[2], CacheMode: "writeback"}))
		wantSame(t, "the number of bcaches", len(must(c.BCaches.Get(id))), 1)
		must(c.BCache.Update(id, made.ID, &entity.BCacheParams{Name: "bc1", BackingPartition: all[0], CacheMode: "writearound"}))
		read := must(c.BCache.Get(id, made.ID))
		wantSame(t, "the name", read.VirtualDevice.Name, "bc1")
		wantSame(t, "the mode", read.CacheMode, "writearound")
		wantSame(t, "the backing device", strconv.Itoa(read.BackingDevice.ID), all[0])

		wantSame(t, "a deletion of a set in use", statusOf(c.BCacheCacheSet.Delete(id, set.ID)), 400)
		mustSucceed(c.BCache.Delete(id, made.ID))
		_, err := c.BCache.Get(id, made.ID)
		wantNotFound(t, "bcache", err)
		mustSucceed(c.BCacheCacheSet.Delete(id, set.ID))
		_, err = c.BCacheCacheSet.Get(id, set.ID)
		wantNotFound(t, "cache set", err)
	})
}

func TestStorageRestored(t *testing.T) {
	startClient(t, func(c *client.Client) {
		id := machineNamed(c, "metal1").SystemID
		before := len(must(c.BlockDevices.Get(id))[0].Partitions)
		mustSucceed(c.Machine.RestoreStorageConfiguration(id))
		wantSame(t, "the partitions that commissioning laid out", len(must(c.BlockDevices.Get(id))[0].Partitions), before)
		must(c.Machines.Allocate(&entity.MachineAllocateParams{SystemID: id}))
		must(c.Machine.Deploy(id, &entity.MachineDeployParams{DistroSeries: "noble"}))
		wantSame(t, "the status of a machine under way", statusOf(c.Machine.RestoreStorageConfiguration(id)), 409)
	})
}
