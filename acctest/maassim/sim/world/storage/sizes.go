package storage

import (
	"fmt"
	"strings"
)

// Sizes of MAAS's models, in bytes.
const (
	allocationUnit     = 4 << 20 // sizes of partitions and volumes are rounded down to it
	tableBytes         = 5 << 20 // reserved for each partition table (models/partitiontable.py)
	grubBytes          = 1 << 20 // for a boot without UEFI
	prepBytes          = 8 << 20 // for ppc64el
	MinDiskBytes       = 4 << 20
	MinPartitionBytes  = allocationUnit
	raidOverhead       = 128 << 10
	maxMBRBytes        = (1<<32-1)*512 - 1<<20
	efiBytes           = 512 << 20
	minBootBytes       = 512 << 20
	minRootBytes       = 3 << 30
	bcacheBootBytes    = 1 << 30
	minBlockSize       = 512
	MinBlockSize       = minBlockSize
	volumeBlockSize    = 4096
	raidBlockSize      = 512
	datastoreBlockSize = 1024
)

// roundDown rounds a size down to the unit, as Python's division does.
func roundDown(size int64) int64 {
	n := size / allocationUnit
	if size < 0 && size%allocationUnit != 0 {
		n--
	}
	return n * allocationUnit
}

// overhead is the space that a partition table takes (models/partitiontable.py,
// get_overhead_size).
func (s *Storage) overhead() int64 {
	switch {
	case s.Host.Arch() == "ppc64el":
		return tableBytes + prepBytes
	case s.Host.Arch() == "amd64" && !s.Host.BootsByUEFI():
		return tableBytes + grubBytes
	}
	return tableBytes
}

// tableUsed is the space that a partition table and its partitions take.
func (s *Storage) tableUsed(d *Disk) int64 {
	used := s.overhead()
	for _, p := range d.Partitions() {
		used += p.SizeBytes
	}
	return used
}

// UsedBytes is the used space of a block device.
func (s *Storage) UsedBytes(d *Disk) int64 {
	switch {
	case s.EffectiveFilesystem(d) != nil:
		return d.SizeBytes
	case d.Table != nil:
		return s.tableUsed(d)
	}
	return 0
}

// AvailableBytes is the space that is left for partitions.
func (s *Storage) AvailableBytes(d *Disk) int64 {
	if s.EffectiveFilesystem(d) != nil {
		return 0
	}
	return s.freeRoom(d)
}

func (s *Storage) freeRoom(d *Disk) int64 { return roundDown(d.SizeBytes - s.tableUsed(d)) }

// UsedFor is MAAS's text about the use of a device (utils/storage.py, used_for).
func (s *Storage) UsedFor(d Device) string {
	if f := s.EffectiveFilesystem(d); f != nil {
		return filesystemUse(s, f)
	}
	disk, isDisk := d.(*Disk)
	if !isDisk || disk.Table == nil {
		return "Unused"
	}
	plural := ""
	if len(disk.Table.Partitions) > 1 {
		plural = "s"
	}
	return fmt.Sprintf("%s partitioned with %d partition%s", disk.Table.Type, len(disk.Table.Partitions), plural)
}

func filesystemUse(s *Storage, f *Filesystem) string {
	switch {
	case f.Mount != nil:
		return f.Fstype + " formatted filesystem mounted at " + *f.Mount
	case f.Fstype == lvmMember:
		return "LVM volume for " + f.Group.Name
	case f.Fstype == raidMember:
		return fmt.Sprintf("Active %s device for %s", f.Group.Kind, f.Group.Name)
	case f.Fstype == raidSpare:
		return fmt.Sprintf("Spare %s device for %s", f.Group.Kind, f.Group.Name)
	case f.Fstype == bcacheCache:
		return "Cache device for " + CacheSetName(s, f.Cache)
	case f.Fstype == bcacheBacking:
		return "Backing device for " + f.Group.Name
	case f.Fstype == Datastore && f.Group != nil:
		return "VMFS extent for " + f.Group.Name
	}
	return "Unmounted " + f.Fstype + " formatted filesystem"
}

// GroupSize is the size of a group (models/filesystemgroup.py, get_size).
func GroupSize(s *Storage, g *Group) int64 {
	parts := Members(s, g)
	if len(parts) == 0 {
		return 0
	}
	total, least, active := int64(0), parts[0].Device.Size(), int64(0)
	for _, p := range parts {
		total, least = total+p.Device.Size(), min(least, p.Device.Size())
		if p.Fstype == raidMember {
			active++
		}
	}
	switch g.Kind {
	case VolumeGroup:
		return (total/allocationUnit - int64(len(parts))) * allocationUnit
	case "raid-0":
		return total - raidOverhead*int64(len(parts))
	case "raid-1":
		return least - raidOverhead
	case "raid-5":
		return least*(active-1) - raidOverhead
	case "raid-6":
		return least*(active-2) - raidOverhead
	case "raid-10":
		return least*active/2 - raidOverhead
	}
	return total // that of a bcache's only backing device, or of a datastore
}

// VolumesSize is the size of all logical volumes of a volume group.
func VolumesSize(s *Storage, g *Group) (n int64) {
	for _, d := range GroupDisks(s, g) {
		n += d.SizeBytes
	}
	return n
}

// FreeSize is the free space of a volume group.
func FreeSize(s *Storage, g *Group) int64 { return GroupSize(s, g) - VolumesSize(s, g) }

// HumanReadableSize is a size with a decimal unit for people (utils/converters.py,
// human_readable_bytes).
func HumanReadableSize(size int64) string {
	value, units := float64(size), strings.Fields("bytes kB MB GB TB PB EB ZB")
	for _, u := range units {
		if value < 1000 && value > -1000 {
			if u == "bytes" {
				return fmt.Sprintf("%.0f bytes", value)
			}
			return fmt.Sprintf("%.1f %s", value, u)
		}
		value /= 1000
	}
	return fmt.Sprintf("%.1f YB", value)
}
