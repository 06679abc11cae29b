// Package storage is a machine's storage in MAAS's database: block devices, partitions,
// file systems, and groups, which make further block devices. It has MAAS's rules on
// sizes, names and use (models/blockdevice.py, partition.py, filesystem.py,
// filesystemgroup.py, and storage_layouts.py).
package storage

import (
	"cmp"
	"slices"
)

// Host is what the storage needs of its machine.
type Host interface {
	NextID(sequence string) int
	NewUUID() string
	Arch() string // "amd64"
	BootsByUEFI() bool
	// ShowsAcquired tells whether the machine's status shows the file systems of its owner
	// (enum.py, ALLOCATED_NODE_STATUSES).
	ShowsAcquired() bool
}

// Storage is the whole storage of a machine.
type Storage struct {
	Host          Host
	Disks         []*Disk       // physical ones, by id
	Virtual       []*Disk       // block devices of groups, by id
	BootDisk      *Disk         // a user's choice; nil: MAAS chooses
	Special       []*Filesystem // without a disk
	HardwareDisks []FoundDisk   // its real disks; nil: what MAAS knows
	written       int           // number of file systems written so far
}

// Disk is a block device. Sizes are bytes.
type Disk struct {
	ID                          int
	Name, Model, Serial, IDPath string
	SizeBytes                   int64
	BlockSize                   int
	Tags                        []string
	Pool                        string  // pool of a VM's volume, or empty
	StoragePool                 string  // pool that MAAS shows
	Firmware                    *string // nil if unknown
	Table                       *Table  // nil without partitions
	UUID                        string  // UUID of a virtual block device
	Group                       *Group  // the group that made it; nil for a physical disk
	Content
}

// Table is a partition table.
type Table struct {
	Type       string // GPT or MBR
	Partitions []*Partition
}

// Partition is a part of a disk.
type Partition struct {
	ID, Index int
	Disk      *Disk
	SizeBytes int64
	Bootable  bool
	UUID      string
	Tags      []string
	Content
}

// Content is the file system of a block device or a partition, and its copy for the owner
// of an acquired machine.
type Content struct {
	Filesystems []*Filesystem
}

// Filesystem is a file system, or the role of a device in a group.
type Filesystem struct {
	ID                    int
	Fstype, UUID          string
	Label, Mount, Options *string
	Acquired              bool // a release removes it
	Group                 *Group
	Cache                 *CacheSet
}

// Group is a volume group, a RAID, a bcache, or a VMFS datastore.
type Group struct {
	ID               int
	UUID, Name, Kind string
	CacheMode        string
	Cache            *CacheSet
}

// CacheSet is the cache of one or more bcaches.
type CacheSet struct{ ID int }

// Device is a block device or a partition.
type Device interface {
	Size() int64
	UnitSize() int
	ShownName() string
	content() *Content
}

func (c *Content) content() *Content { return c }

// Size is the size of the block device.
func (d *Disk) Size() int64 { return d.SizeBytes }

// UnitSize is the block size.
func (d *Disk) UnitSize() int { return d.BlockSize }

// ShownName is its name. The name of a logical volume begins with its volume group.
func (d *Disk) ShownName() string {
	if d.Group != nil && d.Group.Kind == VolumeGroup {
		return d.Group.Name + "-" + d.Name
	}
	return d.Name
}

// IsPhysical tells whether the block device is a physical disk.
func (d *Disk) IsPhysical() bool { return d.Group == nil }

// Partitions are the partitions of its table.
func (d *Disk) Partitions() []*Partition {
	if d.Table == nil {
		return nil
	}
	return d.Table.Partitions
}

// Size is the size of the partition.
func (p *Partition) Size() int64 { return p.SizeBytes }

// UnitSize is the block size.
func (p *Partition) UnitSize() int { return p.Disk.BlockSize }

// ShownName is its name.
func (p *Partition) ShownName() string { return partName(p.Disk.ShownName(), p.Index) }

// AllDisks are the block devices, by id.
func (s *Storage) AllDisks() []*Disk {
	return slices.SortedFunc(slices.Values(slices.Concat(s.Disks, s.Virtual)), func(a, b *Disk) int { return cmp.Compare(a.ID, b.ID) })
}

// Devices are the block devices and their partitions.
func (s *Storage) Devices() (all []Device) {
	for _, d := range s.AllDisks() {
		all = append(all, d)
		for _, p := range d.Partitions() {
			all = append(all, p)
		}
	}
	return all
}

// EffectiveBootDisk is the disk from which the machine boots: the chosen one, or else the
// first that is large enough (models/node.py, get_boot_disk). It is nil if there is none.
func (s *Storage) EffectiveBootDisk() *Disk {
	if s.BootDisk != nil {
		return s.BootDisk
	}
	for _, d := range s.Disks {
		if d.SizeBytes >= minBootBytes {
			return d
		}
	}
	return nil
}

// EffectiveFilesystem is the file system of a device that the machine shows, or nil
// (utils/storage.py, get_effective_filesystem).
func (s *Storage) EffectiveFilesystem(d Device) *Filesystem {
	acquired, all := s.Host.ShowsAcquired(), d.content().Filesystems
	i := slices.IndexFunc(all, func(f *Filesystem) bool { return f.Acquired == acquired })
	if i < 0 && acquired {
		i = slices.IndexFunc(all, func(f *Filesystem) bool { return !slices.Contains(Formats, f.Fstype) })
	}
	if i < 0 {
		return nil
	}
	return all[i]
}

// Formats are the file systems that a user may make (enum.py,
// FILESYSTEM_FORMAT_TYPE_CHOICES).
var Formats = []string{"ext2", "ext4", "xfs", "fat32", "vfat", "swap", "ramfs", "tmpfs", "btrfs", "zfsroot"}

// UsesMountPoint tells whether the file system is mounted at a path.
func (f *Filesystem) UsesMountPoint() bool { return f.Fstype != "swap" }

// Problem is MAAS's reason to refuse a change. It concerns a field or the whole object
// ("__all__"). Without a field it is only a message.
type Problem struct{ Field, Text string }

// TextPointer is a pointer to a text.
func TextPointer(s string) *string { return &s }
