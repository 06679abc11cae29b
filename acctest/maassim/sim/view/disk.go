package view

import (
	"fmt"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/storage"
)

func viewStorage(m *world.Machine, v rest.Object) {
	s, total := &m.Storage, int64(0)
	for _, d := range s.Disks {
		total += d.SizeBytes
	}
	v["storage"] = rest.Float(float64(total) / 1e6)
	v["blockdevice_set"] = diskViews(m, s.AllDisks())
	v["physicalblockdevice_set"] = diskViews(m, s.Disks)
	v["virtualblockdevice_set"] = diskViews(m, s.Virtual)
	v["boot_disk"] = nil
	if boot := s.EffectiveBootDisk(); boot != nil {
		if s.BootDisk != nil {
			m.ShownStatus = m.StatusBefore
		}
		v["boot_disk"] = Disk(m, boot)
		m.ShownStatus = nil
	}
	groups := map[string][]rest.Object{"volume_groups": {}, "raids": {}, "bcaches": {}, "cache_sets": {}}
	for _, g := range storage.Groups(s) {
		switch {
		case g.Kind == storage.VolumeGroup:
			groups["volume_groups"] = append(groups["volume_groups"], groupReference(m, g.ID))
		case g.Kind == storage.Bcache:
			groups["bcaches"] = append(groups["bcaches"], groupReference(m, g.ID))
		case g.IsRAID():
			groups["raids"] = append(groups["raids"], groupReference(m, g.ID))
		}
	}
	for _, c := range storage.CacheSets(s) {
		groups["cache_sets"] = append(groups["cache_sets"], groupReference(m, c.ID))
	}
	for name, all := range groups {
		v[name] = all
	}
	special := []rest.Object{}
	for _, f := range world.SpecialMounts(m) {
		special = append(special, filesystemView(f))
	}
	v["special_filesystems"] = special
}

// groupReference is the short form of a group within a machine.
func groupReference(m *world.Machine, id int) rest.Object {
	return rest.Object{"system_id": m.SystemID, "id": id, "__incomplete__": true}
}

func diskViews(m *world.Machine, disks []*storage.Disk) []rest.Object {
	views := []rest.Object{}
	for _, d := range disks {
		views = append(views, Disk(m, d))
	}
	return views
}

// Disk is a block device as an answer shows it.
func Disk(m *world.Machine, d *storage.Disk) rest.Object {
	s := &m.Storage
	v := rest.Object{
		"id": d.ID, "system_id": m.SystemID, "name": d.ShownName(), "type": "physical",
		"resource_uri": fmt.Sprintf("%snodes/%s/blockdevices/%d/", rest.APIRoot, m.SystemID, d.ID),
		"path":         "/dev/disk/by-dname/" + d.ShownName(), "id_path": d.IDPath, "uuid": nil,
		"model": d.Model, "serial": d.Serial, "size": d.SizeBytes, "block_size": d.BlockSize,
		"tags": rest.NonNilList(d.Tags), "storage_pool": rest.TextOrNull(d.StoragePool), "numa_node": 0, "firmware_version": d.Firmware,
		"used_size": s.UsedBytes(d), "available_size": s.AvailableBytes(d), "used_for": s.UsedFor(d), "filesystem": effectiveFilesystem(s, d),
		"partition_table_type": nil, "partitions": Partitions(m, d),
	}
	if d.Table != nil {
		v["partition_table_type"] = d.Table.Type
	}
	if !d.IsPhysical() {
		v["type"], v["uuid"] = "virtual", d.UUID
		for _, key := range []string{"id_path", "model", "serial", "numa_node", "storage_pool"} {
			v[key] = nil
		}
		delete(v, "firmware_version") // only physical disks have it
	}
	return v
}

// Partitions are those of a block device as an answer shows them.
func Partitions(m *world.Machine, d *storage.Disk) []rest.Object {
	views := []rest.Object{}
	for _, p := range d.Partitions() {
		views = append(views, Partition(m, p))
	}
	return views
}

// Partition is a partition as an answer shows it.
func Partition(m *world.Machine, p *storage.Partition) rest.Object {
	return rest.Object{
		"id": p.ID, "system_id": m.SystemID, "device_id": p.Disk.ID, "type": "partition",
		"resource_uri": fmt.Sprintf("%snodes/%s/blockdevices/%d/partition/%d", rest.APIRoot, m.SystemID, p.Disk.ID, p.ID),
		"path":         "/dev/disk/by-dname/" + p.ShownName(),
		"size":         p.SizeBytes, "bootable": p.Bootable, "tags": rest.NonNilList(p.Tags), "uuid": p.UUID,
		"used_for": m.Storage.UsedFor(p), "filesystem": effectiveFilesystem(&m.Storage, p),
	}
}

func effectiveFilesystem(s *storage.Storage, d storage.Device) any {
	if f := s.EffectiveFilesystem(d); f != nil {
		return filesystemView(f)
	}
	return nil
}

func filesystemView(f *storage.Filesystem) rest.Object {
	return rest.Object{"fstype": f.Fstype, "label": f.Label, "uuid": f.UUID, "mount_point": f.Mount, "mount_options": f.Options}
}
