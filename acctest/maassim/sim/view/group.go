package view

import (
	"fmt"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/storage"
)

// deviceView is a block device or a partition.
func deviceView(m *world.Machine, d storage.Device) any {
	switch d := d.(type) {
	case *storage.Disk:
		return Disk(m, d)
	case *storage.Partition:
		return Partition(m, d)
	}
	return nil
}

func deviceViews(m *world.Machine, all []storage.Device) []any {
	views := []any{}
	for _, d := range all {
		views = append(views, deviceView(m, d))
	}
	return views
}

func groupURI(m *world.Machine, kind string, id int) string {
	return fmt.Sprintf("%snodes/%s/%s/%d/", rest.APIRoot, m.SystemID, kind, id)
}

// Group is a volume group, a RAID, a bcache or a datastore as an answer shows it.
func Group(m *world.Machine, g *storage.Group) rest.Object {
	s := &m.Storage
	size := storage.GroupSize(s, g)
	v := rest.Object{"id": g.ID, "system_id": m.SystemID, "uuid": g.UUID, "name": g.Name, "size": size, "human_size": storage.HumanReadableSize(size)}
	switch {
	case g.Kind == storage.VolumeGroup:
		v["resource_uri"] = groupURI(m, "volume-group", g.ID)
		v["devices"] = deviceViews(m, storage.DevicesOf(s, g, ""))
		v["logical_volumes"] = diskViews(m, storage.GroupDisks(s, g))
		v["available_size"], v["human_available_size"] = storage.FreeSize(s, g), storage.HumanReadableSize(storage.FreeSize(s, g))
		v["used_size"], v["human_used_size"] = storage.VolumesSize(s, g), storage.HumanReadableSize(storage.VolumesSize(s, g))
	case g.Kind == storage.Bcache:
		v["resource_uri"] = groupURI(m, "bcache", g.ID)
		v["cache_mode"], v["cache_set"] = g.CacheMode, CacheSet(m, g.Cache)
		v["backing_device"], v["virtual_device"] = deviceViews(m, storage.DevicesOf(s, g, ""))[0], groupDisk(m, g)
	case g.Kind == storage.Datastore:
		v["resource_uri"] = groupURI(m, "vmfs-datastore", g.ID)
		v["devices"], v["filesystem"] = deviceViews(m, storage.DevicesOf(s, g, "")), datastoreMount(s, g)
	default:
		v["resource_uri"] = groupURI(m, "raid", g.ID)
		v["level"], v["virtual_device"] = g.Kind, groupDisk(m, g)
		v["devices"], v["spare_devices"] = deviceViews(m, storage.DevicesOf(s, g, "raid")), deviceViews(m, storage.DevicesOf(s, g, "raid-spare"))
	}
	return v
}

// NewBcache is a bcache in the answer of the call that made it. There MAAS shows it like
// any group.
func NewBcache(m *world.Machine, g *storage.Group) rest.Object {
	all, v := Group(m, g), rest.Object{}
	for _, key := range []string{"id", "uuid", "name", "cache_mode", "cache_set", "virtual_device"} {
		v[key] = all[key]
	}
	return v
}

// NewVolume is a logical volume in the answer of the call that made it. There it also has
// the keys of a volume group.
func NewVolume(m *world.Machine, d *storage.Disk) rest.Object {
	all, v := Disk(m, d), rest.Object{}
	for _, key := range []string{"id", "system_id", "uuid", "name", "size", "used_size", "available_size", "resource_uri"} {
		v[key] = all[key]
	}
	return v
}

func groupDisk(m *world.Machine, g *storage.Group) any {
	for _, d := range storage.GroupDisks(&m.Storage, g) {
		return Disk(m, d)
	}
	return nil
}

// datastoreMount is the mount point of a datastore.
func datastoreMount(s *storage.Storage, g *storage.Group) any {
	for _, d := range storage.GroupDisks(s, g) {
		if f := s.EffectiveFilesystem(d); f != nil {
			return rest.Object{"fstype": f.Fstype, "mount_point": f.Mount}
		}
	}
	return nil
}

// CacheSet is a cache set as an answer shows it.
func CacheSet(m *world.Machine, c *storage.CacheSet) rest.Object {
	return rest.Object{
		"id": c.ID, "system_id": m.SystemID, "name": storage.CacheSetName(&m.Storage, c), "cache_device": deviceView(m, storage.CacheSetDevice(&m.Storage, c)),
		"resource_uri": groupURI(m, "bcache-cache-set", c.ID),
	}
}
