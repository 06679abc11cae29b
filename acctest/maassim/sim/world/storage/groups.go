package storage

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Kinds of groups (enum.py, FILESYSTEM_GROUP_TYPE).
const (
	VolumeGroup = "lvm-vg"
	Bcache      = "bcache"
	Datastore   = "vmfs6"
)

// RAIDLevels are the kinds that are RAIDs.
var RAIDLevels = []string{"raid-0", "raid-1", "raid-5", "raid-6", "raid-10"}

// CacheModes are the cache modes of a bcache.
var CacheModes = []string{"writeback", "writethrough", "writearound"}

// The roles of a device in a group (enum.py, FILESYSTEM_TYPE).
const (
	lvmMember     = "lvm-pv"
	raidMember    = "raid"
	raidSpare     = "raid-spare"
	bcacheCache   = "bcache-cache"
	bcacheBacking = "bcache-backing"
)

// IsRAID tells whether the group is a RAID.
func (g *Group) IsRAID() bool { return slices.Contains(RAIDLevels, g.Kind) }

// NiceName is MAAS's name for the kind of a group.
func (g *Group) NiceName() string {
	switch g.Kind {
	case VolumeGroup:
		return "volume group"
	case Bcache:
		return "Bcache"
	case Datastore:
		return "VMFS"
	}
	return "RAID"
}

// Member is a device in a group.
type Member struct {
	Device Device
	*Filesystem
}

// Members are the devices of a group, in the order in which they were added.
func Members(s *Storage, g *Group) []Member {
	return membersBy(s, func(f *Filesystem) bool { return f.Group == g })
}

func membersBy(s *Storage, is func(*Filesystem) bool) (members []Member) {
	for _, d := range s.Devices() {
		for _, f := range d.content().Filesystems {
			if is(f) {
				members = append(members, Member{d, f})
			}
		}
	}
	slices.SortFunc(members, func(a, b Member) int { return cmp.Compare(a.ID, b.ID) })
	return members
}

// DevicesOf are the devices with a role in a group, "raid" or "raid-spare". An empty role
// means all.
func DevicesOf(s *Storage, g *Group, fstype string) (devices []Device) {
	for _, m := range Members(s, g) {
		if fstype == "" || m.Fstype == fstype {
			devices = append(devices, m.Device)
		}
	}
	return devices
}

// GroupDisks are the block devices of a group.
func GroupDisks(s *Storage, g *Group) (made []*Disk) {
	for _, d := range s.Virtual {
		if d.Group == g {
			made = append(made, d)
		}
	}
	return made
}

// Groups are the groups with devices of the machine, by id.
func Groups(s *Storage) (groups []*Group) {
	for _, f := range s.filesystems() {
		if f.Group != nil && !slices.Contains(groups, f.Group) {
			groups = append(groups, f.Group)
		}
	}
	slices.SortFunc(groups, func(a, b *Group) int { return cmp.Compare(a.ID, b.ID) })
	return groups
}

// CacheSets are the cache sets of the machine, by id.
func CacheSets(s *Storage) (sets []*CacheSet) {
	for _, f := range s.filesystems() {
		if f.Cache != nil && !slices.Contains(sets, f.Cache) {
			sets = append(sets, f.Cache)
		}
	}
	slices.SortFunc(sets, func(a, b *CacheSet) int { return cmp.Compare(a.ID, b.ID) })
	return sets
}

// CacheSetName is the name of a cache set, made from its position among the machine's.
func CacheSetName(s *Storage, c *CacheSet) string {
	return "cache" + strconv.Itoa(slices.Index(CacheSets(s), c))
}

// CacheSetDevice is the device of a cache set.
func CacheSetDevice(s *Storage, c *CacheSet) Device {
	for _, m := range membersBy(s, func(f *Filesystem) bool { return f.Cache == c }) {
		return m.Device
	}
	return nil
}

// CacheSetUsers are the bcaches of a cache set.
func CacheSetUsers(s *Storage, c *CacheSet) (users []*Group) {
	for _, g := range Groups(s) {
		if g.Cache == c {
			users = append(users, g)
		}
	}
	return users
}

// AddCacheSet makes a cache set on a device.
func AddCacheSet(s *Storage, d Device) (*CacheSet, *Problem) {
	c := &CacheSet{ID: s.Host.NextID("cacheset")}
	return c, s.WriteFilesystem(d, &Filesystem{Fstype: bcacheCache, Cache: c})
}

// MoveCacheSet moves a cache set to another device.
func MoveCacheSet(s *Storage, c *CacheSet, d Device) *Problem {
	for _, m := range membersBy(s, func(f *Filesystem) bool { return f.Cache == c }) {
		s.RemoveFilesystem(m.Filesystem)
	}
	return s.WriteFilesystem(d, &Filesystem{Fstype: bcacheCache, Cache: c})
}

// RemoveCacheSet removes a cache set.
func RemoveCacheSet(s *Storage, c *CacheSet) {
	for _, m := range membersBy(s, func(f *Filesystem) bool { return f.Cache == c }) {
		s.RemoveFilesystem(m.Filesystem)
	}
}

// MakeGroup makes a group from devices, some of them as spares.
func MakeGroup(s *Storage, g *Group, devices, spares []Device) *Problem {
	if strings.TrimSpace(g.Name) == "" {
		return &Problem{"name", "This field cannot be blank."}
	}
	g.ID, g.UUID = s.Host.NextID("filesystemgroup"), cmp.Or(g.UUID, s.Host.NewUUID())
	for _, d := range devices {
		if bad := JoinGroup(s, g, d, g.memberType()); bad != nil {
			return bad
		}
	}
	for _, d := range spares {
		if bad := JoinGroup(s, g, d, raidSpare); bad != nil {
			return bad
		}
	}
	return checkAndResizeGroup(s, g)
}

// memberType is the role of an active device in the group.
func (g *Group) memberType() string {
	switch g.Kind {
	case VolumeGroup:
		return lvmMember
	case Bcache:
		return bcacheBacking
	case Datastore:
		return Datastore
	}
	return raidMember
}

// JoinGroup adds a device to a group.
func JoinGroup(s *Storage, g *Group, d Device, fstype string) *Problem {
	return s.WriteFilesystem(d, &Filesystem{Fstype: fstype, Group: g})
}

// AddMembers adds devices to a group as active ones, or as spares of a RAID.
func AddMembers(s *Storage, g *Group, devices []Device, asSpares bool) *Problem {
	fstype := g.memberType()
	if asSpares {
		fstype = raidSpare
	}
	for _, d := range devices {
		if bad := JoinGroup(s, g, d, fstype); bad != nil {
			return bad
		}
	}
	return nil
}

// LeaveGroup removes a device from a group.
func LeaveGroup(s *Storage, g *Group, d Device) {
	for _, m := range Members(s, g) {
		if m.Device == d {
			s.RemoveFilesystem(m.Filesystem)
		}
	}
}

// SaveGroup checks a changed group and updates the sizes of its block devices.
func SaveGroup(s *Storage, g *Group) *Problem { return checkAndResizeGroup(s, g) }

func checkAndResizeGroup(s *Storage, g *Group) *Problem {
	if g.Kind == VolumeGroup && FreeSize(s, g) < 0 {
		return &Problem{"", "Volume group cannot be smaller than its logical volumes."}
	}
	if text := groupProblem(s, g); text != "" {
		return &Problem{"__all__", text}
	}
	if g.Kind == VolumeGroup {
		return nil
	}
	made := GroupDisks(s, g)
	if len(made) == 0 {
		d := &Disk{ID: s.Host.NextID("blockdevice"), UUID: s.Host.NewUUID(), Group: g}
		s.Virtual, made = append(s.Virtual, d), []*Disk{d}
	}
	d := made[0]
	if slices.ContainsFunc(s.AllDisks(), func(other *Disk) bool { return other != d && other.Name == g.Name }) {
		return &Problem{"__all__", NameTakenText}
	}
	d.Name, d.SizeBytes, d.BlockSize = g.Name, GroupSize(s, g), blockSize(s, g)
	return nil
}

// NameTakenText is MAAS's message about a second block device with the same name.
const NameTakenText = "Block device with this Node config and Name already exists."

// blockSize is the block size of a group's block devices. A bcache has that of its backing
// device.
func blockSize(s *Storage, g *Group) int {
	switch {
	case g.Kind == VolumeGroup:
		return volumeBlockSize
	case g.Kind == Datastore:
		return datastoreBlockSize
	case g.IsRAID():
		return raidBlockSize
	}
	return Members(s, g)[0].Device.UnitSize()
}

// minRAIDDevices is the least number of active devices in a RAID.
var minRAIDDevices = map[string]int{"raid-0": 2, "raid-1": 2, "raid-5": 3, "raid-6": 4, "raid-10": 3}

// groupProblem is the reason why a group is invalid (models/filesystemgroup.py, clean).
func groupProblem(s *Storage, g *Group) string {
	active, spares := len(DevicesOf(s, g, raidMember)), len(DevicesOf(s, g, raidSpare))
	members := Members(s, g)
	switch {
	case len(members) == 0:
		return "At least one filesystem must have been added."
	case g.Kind == "raid-0" && (active < 2 || spares > 0):
		return "RAID level 0 must have at least 2 raid devices and no spares."
	case g.IsRAID() && active < minRAIDDevices[g.Kind]:
		return fmt.Sprintf("RAID level %s must have at least %d raid devices and any number of spares.", strings.TrimPrefix(g.Kind, "raid-"), minRAIDDevices[g.Kind])
	case g.Kind == Bcache && len(members) != 1:
		return "Bcache can only contain one backing device."
	case g.Kind == Bcache && isLogicalVolume(diskOf(members[0].Device)):
		return "Bcache cannot use a logical volume as a backing device."
	}
	return ""
}

func isLogicalVolume(d *Disk) bool { return d.Group != nil && d.Group.Kind == VolumeGroup }

// NextGroupName is the next free name of a kind: bcache0, md1.
func NextGroupName(s *Storage, prefix string) string {
	last := -1
	for _, g := range Groups(s) {
		if rest, isIt := strings.CutPrefix(g.Name, prefix); isIt {
			if n, err := strconv.Atoi(rest); err == nil {
				last = max(last, n)
			}
		}
	}
	return prefix + strconv.Itoa(last+1)
}

// AddLogicalVolume makes a logical volume. Without a size it takes all free space
// (models/virtualblockdevice.py).
func AddLogicalVolume(s *Storage, g *Group, name, uuid string, size *int64) (*Disk, *Problem) {
	wanted := FreeSize(s, g)
	if size != nil {
		wanted = *size
	}
	d := &Disk{ID: s.Host.NextID("blockdevice"), Name: name, UUID: cmp.Or(uuid, s.Host.NewUUID()), Group: g, BlockSize: volumeBlockSize}
	if slices.ContainsFunc(s.AllDisks(), func(other *Disk) bool { return other.Name == name }) {
		return nil, &Problem{"__all__", NameTakenText}
	}
	if bad := ResizeLogicalVolume(s, d, wanted); bad != nil {
		return nil, bad
	}
	s.Virtual = append(s.Virtual, d)
	return d, nil
}

// ResizeLogicalVolume resizes a logical volume if its volume group has enough space.
func ResizeLogicalVolume(s *Storage, d *Disk, size int64) *Problem {
	size = roundDown(size)
	free := GroupSize(s, d.Group)
	for _, other := range GroupDisks(s, d.Group) {
		if other != d {
			free -= other.SizeBytes
		}
	}
	if size > free {
		return &Problem{"__all__", fmt.Sprintf("There is not enough free space (%s) on volume group %s.", HumanReadableSize(size), d.Group.Name)}
	}
	d.SizeBytes = size
	return nil
}

// DeleteGroup removes a group with its block devices.
func DeleteGroup(s *Storage, g *Group) *Problem {
	made := GroupDisks(s, g)
	if g.Kind == VolumeGroup && len(made) > 0 {
		return &Problem{"", "This volume group has logical volumes; it cannot be deleted."}
	}
	dropGroup(s, g)
	return nil
}

// dropGroup removes a group with its block devices and their contents, and frees its
// members.
func dropGroup(s *Storage, g *Group) {
	s.Virtual = slices.DeleteFunc(s.Virtual, func(d *Disk) bool { return d.Group == g })
	for _, m := range Members(s, g) {
		s.RemoveFilesystem(m.Filesystem)
	}
}
