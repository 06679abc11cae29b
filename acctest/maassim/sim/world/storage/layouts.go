package storage

import "slices"

// Layouts are MAAS's layouts (storage_layouts.py). In MAAS their order is random, because
// they are in a set.
var Layouts = []string{"bcache", "blank", "custom", "flat", "lvm", "vmfs6", "vmfs7"}

// LayoutOptions are the options of a layout. Zero values mean MAAS's choice.
type LayoutOptions struct {
	Root                *Disk // disk for the root partition; nil for the boot disk
	BootSize, RootSize  int64
	VolumeGroup, Volume string
	VolumeSize          int64
	CacheMode           string
	CacheSize           int64
	CacheWhole          bool // the whole cache device, without a partition
	Fallback            bool // use flat if a bcache has no cache device
}

// DefaultOptions are MAAS's options for a layout that nobody asked for.
func DefaultOptions() LayoutOptions {
	return LayoutOptions{VolumeGroup: "vgroot", Volume: "lvroot", CacheMode: "writethrough", Fallback: true}
}

// ClearAll removes everything from the disks, and all groups (models/node.py,
// _clear_full_storage_configuration).
func ClearAll(s *Storage) {
	s.Special, s.Virtual = nil, nil
	for _, d := range s.Disks {
		d.Table, d.Filesystems = nil, nil
	}
}

// NoCacheDeviceText is MAAS's message if the bcache layout is not possible.
const NoCacheDeviceText = "Node doesn't have an available cache device to setup bcache."

// NoCustomLayoutText is MAAS's message if no commissioning script left a custom layout.
const NoCustomLayoutText = "No custom storage layout configuration found"

// ApplyLayout replaces everything on the disks by a layout. If the layout is not possible,
// it returns MAAS's message.
func ApplyLayout(s *Storage, name string, o LayoutOptions) (sentence string, bad *Problem) {
	ClearAll(s)
	switch name {
	case "flat":
		return "", applyFlatLayout(s, o)
	case "lvm":
		return "", applyLVMLayout(s, o)
	case "bcache":
		return applyBcacheLayout(s, o)
	case "custom":
		return NoCustomLayoutText, nil
	case "vmfs6", "vmfs7":
		return "", applyVMFSLayout(s, name, o)
	}
	return "", nil
}

// applyBasicLayout makes the common part of the layouts: the boot partitions and the root
// partition (create_basic_layout).
func applyBasicLayout(s *Storage, o LayoutOptions) (root *Partition, bad *Problem) {
	boot := s.EffectiveBootDisk()
	if bad := s.addTable(boot); bad != nil {
		return nil, bad
	}
	uefi, arch := s.Host.BootsByUEFI(), s.Host.Arch()
	if uefi && arch != "ppc64el" {
		if bad := addMounted(s, boot, efiBytes, "fat32", "efi", "/boot/efi"); bad != nil {
			return nil, bad
		}
	}
	size := o.BootSize
	if !uefi && arch == "arm64" && size == 0 {
		size = minBootBytes
	}
	if size > 0 {
		if bad := addMounted(s, boot, size, "ext4", "boot", "/boot"); bad != nil {
			return nil, bad
		}
	}
	on := boot
	if o.Root != nil {
		on = o.Root
	}
	return s.AddPartition(on, sizeOrAll(o.RootSize), false, "")
}

func sizeOrAll(size int64) *int64 {
	if size == 0 {
		return nil
	}
	return &size
}

func addMounted(s *Storage, d *Disk, size int64, fstype, label, mount string) *Problem {
	p, bad := s.AddPartition(d, &size, true, "")
	if bad != nil {
		return bad
	}
	return s.WriteFilesystem(p, &Filesystem{Fstype: fstype, Label: &label, Mount: &mount})
}

func writeRoot(s *Storage, d Device) *Problem {
	return s.WriteFilesystem(d, &Filesystem{Fstype: "ext4", Label: TextPointer("root"), Mount: TextPointer("/")})
}

func applyFlatLayout(s *Storage, o LayoutOptions) *Problem {
	root, bad := applyBasicLayout(s, o)
	if bad != nil {
		return bad
	}
	return writeRoot(s, root)
}

func applyLVMLayout(s *Storage, o LayoutOptions) *Problem {
	root, bad := applyBasicLayout(s, o)
	if bad != nil {
		return bad
	}
	g := &Group{Kind: VolumeGroup, Name: o.VolumeGroup}
	if bad := MakeGroup(s, g, []Device{root}, nil); bad != nil {
		return bad
	}
	volume, bad := AddLogicalVolume(s, g, o.Volume, "", sizeOrAll(o.VolumeSize))
	if bad != nil {
		return bad
	}
	return writeRoot(s, volume)
}

// bestCacheDisk is the smallest SSD other than the boot disk.
func bestCacheDisk(s *Storage) (best *Disk) {
	for _, d := range s.Disks {
		if d != s.EffectiveBootDisk() && slices.Contains(d.Tags, "ssd") && (best == nil || d.SizeBytes < best.SizeBytes) {
			best = d
		}
	}
	return best
}

// ChooseCacheDisk is the cache device that the bcache layout would use, or nil.
func ChooseCacheDisk(s *Storage) *Disk { return bestCacheDisk(s) }

func applyBcacheLayout(s *Storage, o LayoutOptions) (sentence string, bad *Problem) {
	cacheDisk := bestCacheDisk(s)
	switch {
	case cacheDisk == nil && o.Fallback:
		return "", applyFlatLayout(s, o)
	case cacheDisk == nil:
		return NoCacheDeviceText, nil
	case o.BootSize == 0:
		o.BootSize = bcacheBootBytes
	}
	root, bad := applyBasicLayout(s, o)
	if bad != nil {
		return "", bad
	}
	var cache Device = cacheDisk
	if !o.CacheWhole {
		if cache, bad = s.AddPartition(cacheDisk, sizeOrAll(o.CacheSize), false, ""); bad != nil {
			return "", bad
		}
	}
	set, bad := AddCacheSet(s, cache)
	if bad != nil {
		return "", bad
	}
	g := &Group{Kind: Bcache, Name: NextGroupName(s, "bcache"), CacheMode: o.CacheMode, Cache: set}
	if bad := MakeGroup(s, g, []Device{root}, nil); bad != nil {
		return "", bad
	}
	return "", writeRoot(s, GroupDisks(s, g)[0])
}

// basePartition is a partition of VMware's image. The one without a size is the
// datastore's.
type basePartition struct {
	index int
	size  int64
}

// vmfsParts are the partitions of the images, in the order of their rows. The first one is
// bootable.
var vmfsParts = map[string][]basePartition{
	"vmfs6": {{1, 3 << 20}, {2, 4 << 30}, {3, 0}, {5, 249 << 20}, {6, 249 << 20}, {7, 109 << 20}, {8, 285 << 20}, {9, 2560 << 20}},
	"vmfs7": {{1, 100 << 20}, {5, 4095 << 20}, {6, 4095 << 20}, {7, 25662832128}, {8, 0}},
}

// lastBasePartitions is the number of the last partition that belongs to the image.
var lastBasePartitions = map[string]int{"vmfs6": 9, "vmfs7": 7}

func applyVMFSLayout(s *Storage, name string, o LayoutOptions) *Problem {
	d := s.EffectiveBootDisk()
	if o.Root != nil {
		d = o.Root
	}
	if bad := s.addTable(d); bad != nil {
		return bad
	}
	var store *Partition
	for i, part := range vmfsParts[name] {
		p := s.addPartitionAt(d, part.index, part.size, i == 0, "")
		if part.size == 0 {
			store = p
		}
	}
	store.SizeBytes = roundDown(s.freeRoom(d))
	if o.RootSize > 0 {
		if store.SizeBytes < roundDown(o.RootSize) {
			return &Problem{"size", "Partition cannot be saved; not enough free space on the block device."}
		}
		store.SizeBytes = roundDown(o.RootSize)
	}
	return AddDatastore(s, &Group{Name: "datastore1"}, []Device{store})
}

// AddDatastore makes a datastore from partitions.
func AddDatastore(s *Storage, g *Group, parts []Device) *Problem {
	g.Kind = Datastore
	if bad := MakeGroup(s, g, parts, nil); bad != nil {
		return bad
	}
	return s.WriteFilesystem(GroupDisks(s, g)[0], &Filesystem{Fstype: Datastore, Mount: TextPointer("/vmfs/volumes/" + g.Name)})
}

// VMFSDisk is the disk with the layout of an image of VMware, or nil
// (VMFS6StorageLayout.is_layout).
func VMFSDisk(s *Storage, layout string) *Disk {
	base := vmfsParts[layout]
	for _, d := range s.Disks {
		parts := d.Partitions()
		if d.Table == nil || d.Table.Type != "GPT" || len(parts) < len(base) {
			continue
		}
		isIt := true
		for i, part := range base[:len(base)-1] {
			isIt = isIt && parts[i].Bootable == (i == 0) && (part.size == 0 || parts[i].SizeBytes == part.size)
		}
		if isIt {
			return d
		}
	}
	return nil
}

// IsVMFSBase tells whether a partition belongs to an image of VMware.
func IsVMFSBase(s *Storage, p *Partition) bool {
	for layout, last := range lastBasePartitions {
		if VMFSDisk(s, layout) == p.Disk && p.Index <= last {
			return true
		}
	}
	return false
}
