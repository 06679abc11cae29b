package disks

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/storage"
)

// freeDisks are the block devices that nothing uses.
func freeDisks(m *world.Machine) (free []storage.Device) {
	for _, d := range m.Storage.AllDisks() {
		if d.Table == nil && len(d.Filesystems) == 0 {
			free = append(free, d)
		}
	}
	return free
}

// freeParts are the partitions that nothing uses.
func freeParts(m *world.Machine) (free []storage.Device) {
	for _, d := range m.Storage.AllDisks() {
		for _, p := range d.Partitions() {
			if len(p.Filesystems) == 0 {
				free = append(free, p)
			}
		}
	}
	return free
}

// splitDevices separates a group's devices into block devices and partitions.
func splitDevices(all []storage.Device) (disks, parts []storage.Device) {
	for _, d := range all {
		if _, isDisk := d.(*storage.Disk); isDisk {
			disks = append(disks, d)
		} else {
			parts = append(parts, d)
		}
	}
	return disks, parts
}

// idOf and nameOf identify a device in a form.
func idOf(d storage.Device) int {
	switch d := d.(type) {
	case *storage.Disk:
		return d.ID
	case *storage.Partition:
		return d.ID
	}
	return 0
}

func nameOf(d storage.Device) string {
	if disk, isDisk := d.(*storage.Disk); isDisk {
		return disk.Name
	}
	return d.ShownName()
}

// readDevice reads a device of a form. It is nil if none was given.
func (f form) readDevice(field string, choices []storage.Device) storage.Device {
	value := f.Field(field)
	if value == "" {
		return nil
	}
	d := findDevice(value, choices)
	if d == nil {
		f.errs.Add(field, rest.ChoiceProblem(value))
	}
	return d
}

func findDevice(value string, choices []storage.Device) storage.Device {
	for _, d := range choices {
		if value == strconv.Itoa(idOf(d)) || value == nameOf(d) {
			return d
		}
	}
	return nil
}

// readDevices reads the devices of a form, by id.
func (f form) readDevices(field string, choices []storage.Device) (devices []storage.Device) {
	for _, value := range f.Form[field] {
		d := findDevice(value, choices)
		if d == nil {
			f.errs.Add(field, rest.ChoiceProblem(value))
			return nil
		}
		if !slices.Contains(devices, d) {
			devices = append(devices, d)
		}
	}
	slices.SortFunc(devices, func(a, b storage.Device) int { return cmp.Compare(idOf(a), idOf(b)) })
	return devices
}

// partitionIfBootDisk replaces the boot disk by a partition that fills it, because groups
// cannot use the boot disk itself (create_partition_if_boot_disk).
func partitionIfBootDisk(m *world.Machine, d storage.Device) (storage.Device, *storage.Problem) {
	disk, isDisk := d.(*storage.Disk)
	if !isDisk || disk != m.Storage.EffectiveBootDisk() {
		return d, nil
	}
	return fillWithPartition(m, disk)
}

// fillWithPartition makes a partition that fills a block device.
func fillWithPartition(m *world.Machine, d *storage.Disk) (storage.Device, *storage.Problem) {
	p, bad := m.Storage.AddPartition(d, nil, false, "")
	if bad != nil {
		return nil, bad
	}
	return p, nil
}

// withBootPartition replaces the boot disk among devices by a partition of it, which comes
// last (_move_boot_disk_to_partitions).
func withBootPartition(m *world.Machine, disks, parts []storage.Device) ([]storage.Device, *storage.Problem) {
	var kept []storage.Device
	for _, d := range disks {
		device, bad := partitionIfBootDisk(m, d)
		switch {
		case bad != nil:
			return nil, bad
		case device == d:
			kept = append(kept, d)
		default:
			parts = append(parts, device)
		}
	}
	return slices.Concat(kept, parts), nil
}

// fillWithPartitions makes a partition on each block device that fills it.
func fillWithPartitions(m *world.Machine, disks []storage.Device) (parts []storage.Device, bad *storage.Problem) {
	for _, d := range disks {
		p, bad := fillWithPartition(m, d.(*storage.Disk))
		if bad != nil {
			return nil, bad
		}
		parts = append(parts, p)
	}
	return parts, nil
}
