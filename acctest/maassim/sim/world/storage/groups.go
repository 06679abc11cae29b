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

// CacheModes are how a bcache caches.
var CacheModes = []string{"writeback", "writethrough", "writearound"}

// What a device can be to a group (enum.py, FILESYSTEM_TYPE).
const (
	lvmMember     = "lvm-pv"
	raidMember    = "raid"
	raidSpare     = "raid-spare"
	bcacheCache   = "bcache-cache"
	bcacheBacking = "bcache-backing"
)

// IsRAID says whether the group is a RAID.
func (g *Group) IsRAID() bool { return slices.Contains(RAIDLevels, g.Kind) }

// NiceName is what MAAS calls the kind of a group.
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

// Members are the devices of a group, in the order in which they came.
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

// DevicesOf are the devices of a group that are in it in one way: "raid" or
// "raid-spare"; in all with "".
func DevicesOf(s *Storage, g *Group, fstype string) (devices []Device) {
	for _, m := range Members(s, g) {
		if fstype == "" || m.Fstype == fstype {
			devices = append(devices, m.Device)
		}
	}
	return devices
}

// GroupDisks are the block devices that a group makes.
func GroupDisks(s *Storage, g *Group) (made []*Disk) {
	for _, d := range s.Virtual {
		if d.Group == g {
			made = append(made, d)
		}
	}
	return made
}

// Groups are the groups that devices of the machine are in, by id.
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

// CacheSetName is the name of a cache set: its place among the machine's.
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

// AddCacheSet makes a cache set of a device.
func AddCacheSet(s *Storage, d Device) (*CacheSet, *Problem) {
	c := &CacheSet{ID: s.Host.NextID("cacheset")}
	return c, s.WriteFilesystem(d, &Filesystem{Fstype: bcacheCache, Cache: c})
}

// MoveCacheSet gives a cache set another device.
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

// MakeGroup makes a group of devices, with some as spares.
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

// memberType is what a device is to a group that it is an active part of.
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

// JoinGroup makes a device part of a group.
func JoinGroup(s *Storage, g *Group, d Device, fstype string) *Problem {
	return s.WriteFilesystem(d, &Filesystem{Fstype: fstype, Group: g})
}

// AddMembers makes devices active parts of a group, or spares of a RAID.
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

// LeaveGroup takes a device out of a group.
func LeaveGroup(s *Storage, g *Group, d Device) {
	for _, m := range Members(s, g) {
		if m.Device == d {
			s.RemoveFilesystem(m.Filesystem)
		}
	}
}

// SaveGroup checks a group after a change, and brings what it makes to its size.
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

// NameTakenText is MAAS's sentence about a second block device of a name.
const NameTakenText = "Block device with this Node config and Name already exists."

// blockSize is that of what a group makes; a bcache has its backing device's.
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

// minRAIDDevices is how many active devices a RAID has at least.
var minRAIDDevices = map[string]int{"raid-0": 2, "raid-1": 2, "raid-5": 3, "raid-6": 4, "raid-10": 3}

// groupProblem is why a group cannot be as it is (models/filesystemgroup.py, clean).
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

// AddLogicalVolume makes a logical volume of a size, or of all that is left
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

// ResizeLogicalVolume gives a logical volume a size, if its volume group has as much.
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

// DeleteGroup removes a group with what it makes.
func DeleteGroup(s *Storage, g *Group) *Problem {
	made := GroupDisks(s, g)
	if g.Kind == VolumeGroup && len(made) > 0 {
		return &Problem{"", "This volume group has logical volumes; it cannot be deleted."}
	}
	dropGroup(s, g)
	return nil
}

// dropGroup removes a group, what it makes, and the parts of devices in it. What lay
// on what it made is gone with it.
func dropGroup(s *Storage, g *Group) {
	s.Virtual = slices.DeleteFunc(s.Virtual, func(d *Disk) bool { return d.Group == g })
	for _, m := range Members(s, g) {
		s.RemoveFilesystem(m.Filesystem)
	}
}
