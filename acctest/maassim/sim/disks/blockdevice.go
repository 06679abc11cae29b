package disks

import (
	"slices"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/storage"
)

// createDisk adds a disk to the record of a machine in any status (forms,
// CreatePhysicalBlockDeviceForm).
func createDisk(c *request.Call, m *world.Machine) rest.Reply {
	f := newForm(c)
	d := &storage.Disk{}
	d.Name = f.readText("name", true)
	f.readPhysical(d, true)
	if bad := f.errorReply(); bad != nil {
		return *bad
	}
	return changeStorage(m, func() (any, *storage.Problem) {
		if isNameTaken(m, d) {
			return nil, &storage.Problem{Field: "__all__", Text: storage.NameTakenText}
		}
		m.Storage.AddDisk(d)
		return view.Disk(m, d), nil
	})
}

func isNameTaken(m *world.Machine, d *storage.Disk) bool {
	return slices.ContainsFunc(m.Storage.AllDisks(), func(other *storage.Disk) bool { return other != d && other.Name == d.Name })
}

// readPhysical reads the attributes of a disk. An attribute that was not given stays.
func (f form) readPhysical(d *storage.Disk, isNew bool) {
	f.checkLength("name", d.Name, 0, 255)
	for field, value := range map[string]*string{"model": &d.Model, "serial": &d.Serial} {
		if f.HasField(field) {
			*value = f.readText(field, false)
			f.checkLength(field, *value, 0, 255)
		}
	}
	if f.HasField("id_path") {
		d.IDPath = f.readPath("id_path", false)
	}
	if size := f.readSize("size", isNew); size != nil {
		d.SizeBytes = *size
		if *size < storage.MinDiskBytes {
			f.errs.Add("size", atLeast(storage.MinDiskBytes))
		}
	}
	if size := f.readSize("block_size", isNew); size != nil {
		d.BlockSize = int(*size)
		if *size < storage.MinBlockSize {
			f.errs.Add("block_size", atLeast(storage.MinBlockSize))
		}
	}
	f.checkNUMANode()
	f.checkIdentity(d)
}

// checkIdentity refuses a disk that nothing distinguishes from others
// (models/physicalblockdevice.py).
func (f form) checkIdentity(d *storage.Disk) {
	if d.IDPath == "" && (d.Model == "" || d.Serial == "") {
		f.errs.Add("__all__", "serial/model are required if id_path is not provided.")
	}
}

// checkNUMANode checks the index of a NUMA node. A simulated machine has one.
func (f form) checkNUMANode() {
	text := strings.TrimSpace(f.Field("numa_node"))
	n, err := strconv.Atoi(text)
	switch {
	case text == "":
	case err != nil:
		f.errs.Add("numa_node", rest.MsgWhole)
	case n < 0:
		f.errs.Add("numa_node", atLeast(0))
	case n > 0:
		f.errs.Add("numa_node", "Invalid NUMA node")
	}
}

// updateDisk changes the record of a block device. On a Deployed machine only the fields
// that identify the device can change.
func updateDisk(c *request.Call, m *world.Machine, d *storage.Disk) rest.Reply {
	deployed := m.Status == world.StatusDeployed
	switch {
	case m.Status != world.StatusReady && !deployed:
		return rest.ConflictReply("Cannot update block device because the machine is not Ready.")
	case deployed && !d.IsPhysical():
		return rest.ConflictReply("Cannot update virtual block device because the machine is Deployed.")
	}
	f, edited := newForm(c), *d
	if name := f.readText("name", false); name != "" {
		edited.Name = name
	}
	switch {
	case !d.IsPhysical():
		f.readVirtual(d, &edited)
	case deployed:
		for _, field := range []string{"size", "block_size", "numa_node"} {
			c.Form.Del(field)
		}
		f.readPhysical(&edited, false)
	default:
		f.readPhysical(&edited, false)
	}
	table := ""
	if !deployed {
		table = f.readTableType(d)
	}
	if bad := f.errorReply(); bad != nil {
		return *bad
	}
	return changeStorage(m, func() (any, *storage.Problem) {
		if bad := saveDisk(m, d, edited, table); bad != nil {
			return nil, bad
		}
		return view.Disk(m, d), nil
	})
}

// saveDisk writes an edited block device.
func saveDisk(m *world.Machine, d *storage.Disk, edited storage.Disk, table string) *storage.Problem {
	wanted := edited.SizeBytes
	isVolume := d.Group != nil && d.Group.Kind == storage.VolumeGroup
	if isVolume {
		edited.SizeBytes = d.SizeBytes
	}
	*d = edited
	if isNameTaken(m, d) {
		return &storage.Problem{Field: "__all__", Text: storage.NameTakenText}
	}
	if isVolume {
		if bad := storage.ResizeLogicalVolume(&m.Storage, d, wanted); bad != nil {
			return bad
		}
	}
	if table != "" {
		d.Table.Type = table
	}
	return m.Storage.ApplyDiskSize(d)
}

// readVirtual reads the attributes of a group's block device that can change
// (UpdateVirtualBlockDeviceForm).
func (f form) readVirtual(d, edited *storage.Disk) {
	if id := f.readUUID(); id != "" {
		edited.UUID = id
	}
	size := f.readSize("size", false)
	switch {
	case size == nil:
	case *size != d.SizeBytes && d.Group.Kind != storage.VolumeGroup:
		f.errs["size"] = []string{"Size cannot be changed on this device."}
	case *size < storage.MinDiskBytes:
		f.errs.Add("size", atLeast(storage.MinDiskBytes))
	default:
		edited.SizeBytes = *size
	}
}

// readTableType reads the type of a partition table, which is required.
func (f form) readTableType(d *storage.Disk) string {
	kind := f.readChoice("partition_table_type", false, "MBR", "GPT")
	if kind != "" && d.Table == nil {
		f.errs.Add("partition_table_type", "Block device has no partition table")
	}
	return kind
}
