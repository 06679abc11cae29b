// Package storage is a machine's disks as MAAS's database has them: block devices,
// partitions, file systems, and the groups of those that make other block
// devices. It keeps MAAS's rules on sizes, names and use (models/blockdevice.py,
// partition.py, filesystem.py, filesystemgroup.py, and storage_layouts.py).
package storage

import (
	"cmp"
	"slices"
)

// Host is what the storage asks of the machine that it is in.
type Host interface {
	NextID(sequence string) int
	NewUUID() string
	Arch() string // "amd64"
	BootsByUEFI() bool
	// ShowsAcquired says whether the machine is in a status in which file systems
	// are those of whom it is allocated to (enum.py, ALLOCATED_NODE_STATUSES).
	ShowsAcquired() bool
}

// Storage is all of a machine.
type Storage struct {
	Host          Host
	Disks         []*Disk       // physical ones, by id
	Virtual       []*Disk       // what groups make, by id
	BootDisk      *Disk         // that somebody chose, nil for MAAS's own choice
	Special       []*Filesystem // that need no disk
	HardwareDisks []FoundDisk   // what the machine is made of, nil: what MAAS knows
	written       int           // file systems so far
}

// Disk is a block device. Sizes are bytes.
type Disk struct {
	ID                          int
	Name, Model, Serial, IDPath string
	SizeBytes                   int64
	BlockSize                   int
	Tags                        []string
	Pool                        string  // where the volume of a VM lies, empty for none
	StoragePool                 string  // what MAAS shows of it
	Firmware                    *string // nil: unknown
	Table                       *Table  // nil: not partitioned
	UUID                        string  // of a virtual one
	Group                       *Group  // that makes it; nil: a physical one
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

// Content is what lies on a block device or a partition: a file system, and the
// copy of it that an acquired machine has.
type Content struct {
	Filesystems []*Filesystem
}

// Filesystem is a file system, or a disk's part in a group.
type Filesystem struct {
	ID                    int
	Fstype, UUID          string
	Label, Mount, Options *string
	Acquired              bool // it goes with the release
	Group                 *Group
	Cache                 *CacheSet
}

// MakeGroup is a volume group, a RAID, a bcache, or a VMFS datastore.
type Group struct {
	ID               int
	UUID, Name, Kind string
	CacheMode        string
	Cache            *CacheSet
}

// CacheSet is what bcaches cache with.
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

// UnitSize is the size of its blocks.
func (d *Disk) UnitSize() int { return d.BlockSize }

// ShownName is its name; that of a logical volume begins with its volume group.
func (d *Disk) ShownName() string {
	if d.Group != nil && d.Group.Kind == VolumeGroup {
		return d.Group.Name + "-" + d.Name
	}
	return d.Name
}

// IsPhysical says whether the block device is a disk.
func (d *Disk) IsPhysical() bool { return d.Group == nil }

// Partitions are those of its table.
func (d *Disk) Partitions() []*Partition {
	if d.Table == nil {
		return nil
	}
	return d.Table.Partitions
}

// Size is the size of the partition.
func (p *Partition) Size() int64 { return p.SizeBytes }

// UnitSize is the size of its blocks.
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

// EffectiveBootDisk is the disk from which the machine boots: the chosen one, or else the first
// that is not too small (models/node.py, get_boot_disk). Nil for none.
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

// EffectiveFilesystem is the file system that the machine shows of a device, nil for none
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

// UsesMountPoint says whether the file system is mounted at a path.
func (f *Filesystem) UsesMountPoint() bool { return f.Fstype != "swap" }

// Problem is why MAAS refuses a change: of a field, of the whole object
// ("__all__"), or, without a field, in a sentence alone.
type Problem struct{ Field, Text string }

// TextPointer is a text that is there.
func TextPointer(s string) *string { return &s }
