package storage

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

func partName(disk string, index int) string { return disk + "-part" + strconv.Itoa(index) }

// AddDisk adds a disk with the next id.
func (s *Storage) AddDisk(d *Disk) *Disk {
	d.ID = s.Host.NextID("blockdevice")
	s.Disks = append(s.Disks, d)
	return d
}

// addTable adds a partition table to a disk without partitions. Block devices of volume
// groups and bcaches cannot have one (models/partitiontable.py, clean).
func (s *Storage) addTable(d *Disk) *Problem {
	switch {
	case d.Table != nil:
		return nil
	case d.Group != nil && d.Group.Kind == VolumeGroup:
		return &Problem{"block_device", "Cannot create a partition table on a logical volume."}
	case d.Group != nil && d.Group.Kind == Bcache:
		return &Problem{"block_device", "Cannot create a partition table on a Bcache volume."}
	}
	d.Table = &Table{Type: "GPT"}
	return nil
}

// AddPartition adds a partition. Without a size it takes all free space
// (models/partition.py and partitiontable.py).
func (s *Storage) AddPartition(d *Disk, size *int64, bootable bool, uuid string) (*Partition, *Problem) {
	if bad := s.addTable(d); bad != nil {
		return nil, bad
	}
	room := s.freeRoom(d)
	wanted := room
	if d.Table.Type == "MBR" {
		wanted = min(wanted, roundDown(maxMBRBytes))
	}
	if size != nil {
		wanted = roundDown(*size)
	}
	if room < wanted {
		if room < wanted-int64(d.BlockSize) {
			return nil, &Problem{"size", "Partition cannot be saved; not enough free space on the block device."}
		}
		wanted -= int64(d.BlockSize)
	}
	switch {
	case d.Table.Type == "MBR" && wanted > roundDown(maxMBRBytes):
		return nil, &Problem{"size", "Partition cannot be saved; size is larger than the MBR 2TiB maximum."}
	case wanted < MinPartitionBytes:
		return nil, &Problem{"size", fmt.Sprintf("Ensure this value is greater than or equal to %d.", MinPartitionBytes)}
	}
	return s.addPartitionAt(d, s.nextIndex(d), wanted, bootable, uuid), nil
}

func (s *Storage) addPartitionAt(d *Disk, index int, size int64, bootable bool, uuid string) *Partition {
	p := &Partition{ID: s.Host.NextID("partition"), Index: index, Disk: d, SizeBytes: size, Bootable: bootable, UUID: cmp.Or(uuid, s.Host.NewUUID())}
	d.Table.Partitions = append(d.Table.Partitions, p)
	return p
}

// nextIndex is the number of the next partition. The fourth of an MBR is the extended
// partition, and a boot without UEFI needs the first of a GPT (models/partition.py,
// _get_partition_number).
func (s *Storage) nextIndex(d *Disk) int {
	last := 0
	for _, p := range d.Partitions() {
		last = max(last, p.Index)
	}
	grub := s.Host.Arch() == "amd64" && !s.Host.BootsByUEFI() && d.IsPhysical()
	prep := s.Host.Arch() == "ppc64el" && d == s.EffectiveBootDisk()
	switch {
	case last == 3 && d.Table.Type == "MBR":
		return 5
	case last == 0 && d.Table.Type == "GPT" && (grub || prep):
		return 2
	}
	return last + 1
}

// DeletePartition removes a partition, and with the last one the partition table. The
// following partitions get lower numbers (models/partitiontable.py, delete_partition).
func (s *Storage) DeletePartition(d *Disk, p *Partition) *Problem {
	f := s.EffectiveFilesystem(p)
	switch {
	case p.Disk != d:
		return &Problem{"", "Partition doesn't belong to the partition table"}
	case f != nil && f.Group != nil:
		return &Problem{"", "Cannot delete partition because its part of a " + f.Group.NiceName() + "."}
	case IsVMFSBase(s, p):
		return &Problem{"", "VMware ESXi partitions may not be removed. To remove select a different storage layout."}
	}
	d.Table.Partitions = slices.DeleteFunc(d.Table.Partitions, func(other *Partition) bool { return other == p })
	for _, other := range d.Table.Partitions {
		if other.Index > p.Index {
			other.Index--
		}
	}
	if len(d.Table.Partitions) == 0 {
		d.Table = nil
	}
	return nil
}

// DeleteDisk removes a block device with everything on it. If a group other than a volume
// group made it, the group is removed, too (models/signals/blockdevices.py).
func (s *Storage) DeleteDisk(d *Disk) *Problem {
	if f := s.EffectiveFilesystem(d); f != nil && f.Group != nil {
		return &Problem{"", "Cannot delete block device because its part of a " + f.Group.NiceName() + "."}
	}
	isIt := func(other *Disk) bool { return other == d }
	s.Disks, s.Virtual = slices.DeleteFunc(s.Disks, isIt), slices.DeleteFunc(s.Virtual, isIt)
	if s.BootDisk == d {
		s.BootDisk = nil
	}
	if d.Group != nil && d.Group.Kind != VolumeGroup {
		dropGroup(s, d.Group)
	}
	return nil
}

// FormatDevice replaces the file system of a device.
func (s *Storage) FormatDevice(d Device, f *Filesystem) *Problem {
	f.Acquired = s.Host.ShowsAcquired()
	c := d.content()
	i := slices.IndexFunc(c.Filesystems, func(old *Filesystem) bool { return old.Acquired == f.Acquired })
	if i >= 0 && !slices.Contains(Formats, c.Filesystems[i].Fstype) {
		what := "block device"
		if _, isPartition := d.(*Partition); isPartition {
			what = "partition"
		}
		return &Problem{"", fmt.Sprintf("Cannot format a %s that has a filesystem type of %s.", what, c.Filesystems[i].Fstype)}
	}
	if i >= 0 {
		c.Filesystems = slices.Delete(c.Filesystems, i, i+1)
	}
	return s.WriteFilesystem(d, f)
}

// WriteFilesystem adds a file system to a device, or without a device
// (models/filesystem.py, clean).
func (s *Storage) WriteFilesystem(d Device, f *Filesystem) *Problem {
	if disk, isDisk := d.(*Disk); isDisk && disk == s.EffectiveBootDisk() {
		return &Problem{"__all__", "Cannot place filesystem directly on the boot disk. Create a partition on the boot disk first and then format the partition."}
	}
	if d != nil && f.Mount == nil && (f.Fstype == "ramfs" || f.Fstype == "tmpfs") {
		return &Problem{"__all__", "Virtual filesystems must be mounted."}
	}
	if bad := s.checkMount(f, f.Mount); bad != nil {
		return bad
	}
	s.written++
	f.ID, f.UUID = s.written, cmp.Or(f.UUID, s.Host.NewUUID())
	if d == nil {
		s.Special = append(s.Special, f)
		return nil
	}
	d.content().Filesystems = append(d.content().Filesystems, f)
	return nil
}

// MountFilesystem mounts a file system. With a nil path it unmounts it.
func (s *Storage) MountFilesystem(f *Filesystem, at, options *string) *Problem {
	if at != nil && !f.UsesMountPoint() {
		at = TextPointer("none")
	}
	if bad := s.checkMount(f, at); bad != nil {
		return bad
	}
	f.Mount, f.Options = at, options
	return nil
}

func (s *Storage) checkMount(f *Filesystem, at *string) *Problem {
	if at == nil || !f.UsesMountPoint() {
		return nil
	}
	for _, other := range s.filesystems() {
		if other != f && other.Acquired == f.Acquired && other.Mount != nil && *other.Mount == *at {
			return &Problem{"__all__", "Another filesystem is already mounted at " + *at + "."}
		}
	}
	return nil
}

// filesystems are all file systems of the machine, the oldest first.
func (s *Storage) filesystems() []*Filesystem {
	all := slices.Clone(s.Special)
	for _, d := range s.Devices() {
		all = append(all, d.content().Filesystems...)
	}
	slices.SortFunc(all, func(a, b *Filesystem) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// RemoveFilesystem removes a file system from its device.
func (s *Storage) RemoveFilesystem(f *Filesystem) {
	isIt := func(other *Filesystem) bool { return other == f }
	s.Special = slices.DeleteFunc(s.Special, isIt)
	for _, d := range s.Devices() {
		d.content().Filesystems = slices.DeleteFunc(d.content().Filesystems, isIt)
	}
}

// ApplyDiskSize updates the groups that contain a block device after a change of its size.
// It also renames the group that made it (models/signals/blockdevices.py).
func (s *Storage) ApplyDiskSize(d *Disk) *Problem {
	if d.Group != nil && d.Group.Kind != VolumeGroup {
		d.Group.Name = d.Name
	}
	for _, g := range Groups(s) {
		if slices.ContainsFunc(Members(s, g), func(m Member) bool { return diskOf(m.Device) == d }) {
			if bad := checkAndResizeGroup(s, g); bad != nil {
				return bad
			}
		}
	}
	return nil
}

func diskOf(d Device) *Disk {
	if p, isPartition := d.(*Partition); isPartition {
		return p.Disk
	}
	return d.(*Disk)
}
