package storage

import (
	"cmp"
	"slices"
)

// FoundDisk is a disk that commissioning finds.
type FoundDisk struct {
	Name, Model, Serial, IDPath string
	SizeBytes                   int64
	BlockSize                   int
	Tags                        []string
	Firmware                    *string
}

// AsFoundDisks are the disks that MAAS knows, as commissioning would find them.
func AsFoundDisks(s *Storage) (found []FoundDisk) {
	for _, d := range s.Disks {
		found = append(found, FoundDisk{d.Name, d.Model, d.Serial, d.IDPath, d.SizeBytes, d.BlockSize, slices.Clone(d.Tags), d.Firmware})
	}
	return found
}

// TakeInventory records the disks that commissioning found. A disk that MAAS knows by its
// serial number, or else by its path, keeps its id. A disk that was not found is removed
// (builtin_scripts/hooks.py, _update_node_physical_block_devices).
func TakeInventory(s *Storage) {
	if s.HardwareDisks == nil {
		return
	}
	before := slices.Clone(s.Disks)
	var now []*Disk
	for _, f := range s.HardwareDisks {
		if f.SizeBytes <= MinDiskBytes {
			continue
		}
		i := slices.IndexFunc(before, func(d *Disk) bool {
			return f.Serial != "" && d.Serial == f.Serial || f.Serial == "" && d.IDPath == f.IDPath
		})
		var d *Disk
		if i >= 0 {
			d = before[i]
			before = slices.Delete(before, i, i+1)
		} else {
			d = &Disk{ID: s.Host.NextID("blockdevice")}
		}
		d.Name, d.Model, d.Serial, d.IDPath, d.Firmware = f.Name, f.Model, f.Serial, f.IDPath, f.Firmware
		d.SizeBytes, d.BlockSize, d.Tags = f.SizeBytes, cmp.Or(f.BlockSize, minBlockSize), slices.Clone(f.Tags)
		now = append(now, d)
	}
	if slices.Contains(before, s.BootDisk) {
		s.BootDisk = nil
	}
	slices.SortFunc(now, func(a, b *Disk) int { return cmp.Compare(a.ID, b.ID) })
	s.Disks = now
}

// AcquireFilesystems copies the file systems that a user may make, for the owner of the
// acquired machine (models/node.py, _create_acquired_filesystems).
func AcquireFilesystems(s *Storage) {
	ReleaseFilesystems(s)
	for _, d := range s.Devices() {
		for _, f := range slices.Clone(d.content().Filesystems) {
			if slices.Contains(Formats, f.Fstype) {
				d.content().Filesystems = append(d.content().Filesystems, acquiredCopy(s, f))
			}
		}
	}
	for _, f := range slices.Clone(s.Special) {
		s.Special = append(s.Special, acquiredCopy(s, f))
	}
}

func acquiredCopy(s *Storage, f *Filesystem) *Filesystem {
	twin := *f
	s.written++
	twin.ID, twin.Acquired = s.written, true
	return &twin
}

// ReleaseFilesystems removes the copies.
func ReleaseFilesystems(s *Storage) {
	isCopy := func(f *Filesystem) bool { return f.Acquired }
	s.Special = slices.DeleteFunc(s.Special, isCopy)
	for _, d := range s.Devices() {
		d.content().Filesystems = slices.DeleteFunc(d.content().Filesystems, isCopy)
	}
}

// RecordUndo records the whole storage, and returns a function that restores it. MAAS's
// database does this when a change fails midway.
func RecordUndo(s *Storage) (undo func()) {
	root := *s
	root.Disks, root.Virtual, root.Special = slices.Clone(s.Disks), slices.Clone(s.Virtual), slices.Clone(s.Special)
	var undos []func()
	for _, d := range s.AllDisks() {
		undos = append(undos, recordDiskUndo(d))
	}
	for _, f := range s.filesystems() {
		was := *f
		undos = append(undos, func() { *f = was })
		if g := f.Group; g != nil {
			named := *g
			undos = append(undos, func() { *g = named })
		}
	}
	return func() {
		*s = root
		for _, undo := range undos {
			undo()
		}
	}
}

func recordDiskUndo(d *Disk) (undo func()) {
	was := *d
	was.Filesystems = slices.Clone(d.Filesystems)
	var table Table
	var parts []Partition
	if d.Table != nil {
		table = Table{d.Table.Type, slices.Clone(d.Table.Partitions)}
		for _, p := range d.Table.Partitions {
			kept := *p
			kept.Filesystems = slices.Clone(p.Filesystems)
			parts = append(parts, kept)
		}
	}
	return func() {
		*d = was
		if d.Table != nil {
			*d.Table = table
			for i, p := range table.Partitions {
				*p = parts[i]
			}
		}
	}
}
