package view

import (
	"fmt"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

func viewStorage(m *world.Machine, v rest.Object) {
	disks, total := DiskViews(m), int64(0)
	for _, d := range m.Disks {
		total += d.SizeBytes
	}
	v["storage"] = rest.Float(float64(total) / 1e6)
	v["blockdevice_set"], v["physicalblockdevice_set"] = disks, disks
	v["boot_disk"] = nil
	if len(disks) > 0 {
		v["boot_disk"] = disks[0]
	}
	for _, name := range []string{"virtualblockdevice_set", "volume_groups", "raids", "bcaches", "cache_sets"} {
		v[name] = []rest.Object{}
	}
	v["special_filesystems"] = mountViews(m)
}

func mountViews(m *world.Machine) []rest.Object {
	views := []rest.Object{}
	for _, s := range world.SpecialMounts(m) {
		views = append(views, rest.Object{"fstype": s.Fstype, "label": "", "uuid": s.UUID, "mount_point": s.Mount, "mount_options": s.Options})
	}
	return views
}

// DiskViews are the machine's disks as an answer shows them.
func DiskViews(m *world.Machine) []rest.Object {
	views, wiped := []rest.Object{}, !world.ShowsFilesystems(m)
	for _, d := range m.Disks {
		views = append(views, viewDisk(d, m.SystemID, wiped))
	}
	return views
}

// viewDisk shows the disk; on a wiped one the partitions have no file systems.
func viewDisk(d *world.Disk, systemID string, wiped bool) rest.Object {
	v := rest.Object{
		"id": d.ID, "system_id": systemID, "name": d.Name, "type": "physical",
		"resource_uri": fmt.Sprintf("%snodes/%s/blockdevices/%d/", rest.APIRoot, systemID, d.ID),
		"path":         "/dev/disk/by-dname/" + d.Name, "id_path": d.IDPath,
		"model": d.Model, "serial": d.Serial, "size": d.SizeBytes, "block_size": 512,
		"tags": rest.List(d.Tags), "storage_pool": rest.TextOrNull(d.StoragePool),
		"firmware_version": rest.TextOrNull(d.Firmware), "numa_node": 0, "uuid": nil, "filesystem": nil,
		"used_size": int64(0), "available_size": world.Usable(d.SizeBytes), "used_for": "Unused",
		"partition_table_type": nil, "partitions": []rest.Object{},
	}
	if len(d.Partitions) > 0 {
		v["partition_table_type"] = "GPT"
		v["used_for"] = fmt.Sprintf("GPT partitioned with %d partitions", len(d.Partitions))
		if len(d.Partitions) == 1 {
			v["used_for"] = "GPT partitioned with 1 partition"
		}
		v["available_size"] = int64(0)
		v["used_size"] = world.Usable(d.SizeBytes) + 5<<20
		if d.Partitions[0].Fstype != "fat32" {
			v["used_size"] = world.Usable(d.SizeBytes) + 6<<20 // with what a boot without UEFI needs
		}
		v["partitions"] = partitionViews(d, systemID, wiped)
	}
	return v
}

func partitionViews(d *world.Disk, systemID string, wiped bool) []rest.Object {
	var views []rest.Object
	first := 1
	if d.Partitions[0].Fstype != "fat32" {
		first = 2 // behind the one that a boot without UEFI needs, which MAAS does not list
	}
	for i, p := range d.Partitions {
		v := rest.Object{
			"id": p.ID, "system_id": systemID, "device_id": d.ID, "type": "partition",
			"resource_uri": fmt.Sprintf("%snodes/%s/blockdevices/%d/partition/%d", rest.APIRoot, systemID, d.ID, p.ID),
			"path":         fmt.Sprintf("/dev/disk/by-dname/%s-part%d", d.Name, first+i),
			"size":         p.SizeBytes, "bootable": p.Bootable, "tags": []string{}, "uuid": p.PartUUID,
			"used_for": fmt.Sprintf("%s formatted filesystem mounted at %s", p.Fstype, p.Mount),
			"filesystem": rest.Object{"fstype": p.Fstype, "label": p.Label, "uuid": p.FilesystemUID,
				"mount_point": p.Mount, "mount_options": nil},
		}
		if wiped {
			v["used_for"], v["filesystem"] = "Unused", nil
		}
		views = append(views, v)
	}
	return views
}
