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

// Modes are how a bcache caches.
var Modes = []string{"writeback", "writethrough", "writearound"}

// What a device can be to a group (enum.py, FILESYSTEM_TYPE).
const (
	partOfVolumes = "lvm-pv"
	partOfRAID    = "raid"
	spareOfRAID   = "raid-spare"
	cacheOfBcache = "bcache-cache"
	backOfBcache  = "bcache-backing"
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

// Made are the block devices that a group makes.
func Made(s *Storage, g *Group) (made []*Disk) {
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

// Caches are the cache sets of the machine, by id.
func Caches(s *Storage) (sets []*CacheSet) {
	for _, f := range s.filesystems() {
		if f.Cache != nil && !slices.Contains(sets, f.Cache) {
			sets = append(sets, f.Cache)
		}
	}
	slices.SortFunc(sets, func(a, b *CacheSet) int { return cmp.Compare(a.ID, b.ID) })
	return sets
}

// CacheName is the name of a cache set: its place among the machine's.
func CacheName(s *Storage, c *CacheSet) string {
	return "cache" + strconv.Itoa(slices.Index(Caches(s), c))
}

// CacheDevice is the device of a cache set.
func CacheDevice(s *Storage, c *CacheSet) Device {
	for _, m := range membersBy(s, func(f *Filesystem) bool { return f.Cache == c }) {
		return m.Device
	}
	return nil
}

// Users are the bcaches of a cache set.
func Users(s *Storage, c *CacheSet) (users []*Group) {
	for _, g := range Groups(s) {
		if g.Cache == c {
			users = append(users, g)
		}
	}
	return users
}

// AddCache makes a cache set of a device.
func AddCache(s *Storage, d Device) (*CacheSet, *Problem) {
	c := &CacheSet{ID: s.Host.NextID("cacheset")}
	return c, s.Write(d, &Filesystem{Fstype: cacheOfBcache, Cache: c})
}

// MoveCache gives a cache set another device.
func MoveCache(s *Storage, c *CacheSet, d Device) *Problem {
	for _, m := range membersBy(s, func(f *Filesystem) bool { return f.Cache == c }) {
		s.Remove(m.Filesystem)
	}
	return s.Write(d, &Filesystem{Fstype: cacheOfBcache, Cache: c})
}

// DropCache removes a cache set.
func DropCache(s *Storage, c *CacheSet) {
	for _, m := range membersBy(s, func(f *Filesystem) bool { return f.Cache == c }) {
		s.Remove(m.Filesystem)
	}
}

// MakeGroup makes a group of devices, with some as spares.
func MakeGroup(s *Storage, g *Group, devices, spares []Device) *Problem {
	if strings.TrimSpace(g.Name) == "" {
		return &Problem{"name", "This field cannot be blank."}
	}
	g.ID, g.UUID = s.Host.NextID("filesystemgroup"), cmp.Or(g.UUID, s.Host.NewUUID())
	for _, d := range devices {
		if bad := Join(s, g, d, g.partType()); bad != nil {
			return bad
		}
	}
	for _, d := range spares {
		if bad := Join(s, g, d, spareOfRAID); bad != nil {
			return bad
		}
	}
	return settle(s, g)
}

// partType is what a device is to a group that it is an active part of.
func (g *Group) partType() string {
	switch g.Kind {
	case VolumeGroup:
		return partOfVolumes
	case Bcache:
		return backOfBcache
	case Datastore:
		return Datastore
	}
	return partOfRAID
}

// Join makes a device part of a group.
func Join(s *Storage, g *Group, d Device, fstype string) *Problem {
	return s.Write(d, &Filesystem{Fstype: fstype, Group: g})
}

// AddMembers makes devices active parts of a group, or spares of a RAID.
func AddMembers(s *Storage, g *Group, devices []Device, asSpares bool) *Problem {
	fstype := g.partType()
	if asSpares {
		fstype = spareOfRAID
	}
	for _, d := range devices {
		if bad := Join(s, g, d, fstype); bad != nil {
			return bad
		}
	}
	return nil
}

// Leave takes a device out of a group.
func Leave(s *Storage, g *Group, d Device) {
	for _, m := range Members(s, g) {
		if m.Device == d {
			s.Remove(m.Filesystem)
		}
	}
}

// SaveGroup checks a group after a change, and brings what it makes to its size.
func SaveGroup(s *Storage, g *Group) *Problem { return settle(s, g) }

func settle(s *Storage, g *Group) *Problem {
	if g.Kind == VolumeGroup && FreeSize(s, g) < 0 {
		return &Problem{"", "Volume group cannot be smaller than its logical volumes."}
	}
	if text := lacks(s, g); text != "" {
		return &Problem{"__all__", text}
	}
	if g.Kind == VolumeGroup {
		return nil
	}
	made := Made(s, g)
	if len(made) == 0 {
		d := &Disk{ID: s.Host.NextID("blockdevice"), UUID: s.Host.NewUUID(), Group: g}
		s.Virtual, made = append(s.Virtual, d), []*Disk{d}
	}
	d := made[0]
	if slices.ContainsFunc(s.All(), func(other *Disk) bool { return other != d && other.Name == g.Name }) {
		return &Problem{"__all__", NameTaken}
	}
	d.Name, d.SizeBytes, d.BlockSize = g.Name, GroupSize(s, g), blockSize(s, g)
	return nil
}

// NameTaken is MAAS's sentence about a second block device of a name.
const NameTaken = "Block device with this Node config and Name already exists."

// blockSize is that of what a group makes; a bcache has its backing device's.
func blockSize(s *Storage, g *Group) int {
	switch {
	case g.Kind == VolumeGroup:
		return volumeBlock
	case g.Kind == Datastore:
		return datastoreUnit
	case g.IsRAID():
		return raidBlock
	}
	return Members(s, g)[0].Device.UnitSize()
}

// leastDevices is how many active devices a RAID has at least.
var leastDevices = map[string]int{"raid-0": 2, "raid-1": 2, "raid-5": 3, "raid-6": 4, "raid-10": 3}

// lacks is why a group cannot be as it is (models/filesystemgroup.py, clean).
func lacks(s *Storage, g *Group) string {
	active, spares := len(DevicesOf(s, g, partOfRAID)), len(DevicesOf(s, g, spareOfRAID))
	members := Members(s, g)
	switch {
	case len(members) == 0:
		return "At least one filesystem must have been added."
	case g.Kind == "raid-0" && (active < 2 || spares > 0):
		return "RAID level 0 must have at least 2 raid devices and no spares."
	case g.IsRAID() && active < leastDevices[g.Kind]:
		return fmt.Sprintf("RAID level %s must have at least %d raid devices and any number of spares.", strings.TrimPrefix(g.Kind, "raid-"), leastDevices[g.Kind])
	case g.Kind == Bcache && len(members) != 1:
		return "Bcache can only contain one backing device."
	case g.Kind == Bcache && isVolume(diskOf(members[0].Device)):
		return "Bcache cannot use a logical volume as a backing device."
	}
	return ""
}

func isVolume(d *Disk) bool { return d.Group != nil && d.Group.Kind == VolumeGroup }

// NextName is the next free name of a kind: bcache0, md1.
func NextName(s *Storage, prefix string) string {
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

// AddVolume makes a logical volume of a size, or of all that is left
// (models/virtualblockdevice.py).
func AddVolume(s *Storage, g *Group, name, uuid string, size *int64) (*Disk, *Problem) {
	wanted := FreeSize(s, g)
	if size != nil {
		wanted = *size
	}
	d := &Disk{ID: s.Host.NextID("blockdevice"), Name: name, UUID: cmp.Or(uuid, s.Host.NewUUID()), Group: g, BlockSize: volumeBlock}
	if slices.ContainsFunc(s.All(), func(other *Disk) bool { return other.Name == name }) {
		return nil, &Problem{"__all__", NameTaken}
	}
	if bad := Resize(s, d, wanted); bad != nil {
		return nil, bad
	}
	s.Virtual = append(s.Virtual, d)
	return d, nil
}

// Resize gives a logical volume a size, if its volume group has as much.
func Resize(s *Storage, d *Disk, size int64) *Problem {
	size = down(size)
	free := GroupSize(s, d.Group)
	for _, other := range Made(s, d.Group) {
		if other != d {
			free -= other.SizeBytes
		}
	}
	if size > free {
		return &Problem{"__all__", fmt.Sprintf("There is not enough free space (%s) on volume group %s.", Human(size), d.Group.Name)}
	}
	d.SizeBytes = size
	return nil
}

// DeleteGroup removes a group with what it makes.
func DeleteGroup(s *Storage, g *Group) *Problem {
	made := Made(s, g)
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
		s.Remove(m.Filesystem)
	}
}
