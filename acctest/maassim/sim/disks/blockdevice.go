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

// createDisk adds a disk to the record of a machine, in any status (forms,
// CreatePhysicalBlockDeviceForm).
func createDisk(c *request.Call, m *world.Machine) rest.Reply {
	f := newForm(c)
	d := &storage.Disk{}
	d.Name = f.text("name", true)
	f.physical(d, true)
	if bad := f.refused(); bad != nil {
		return *bad
	}
	return change(m, func() (any, *storage.Problem) {
		if isTaken(m, d) {
			return nil, &storage.Problem{Field: "__all__", Text: storage.NameTaken}
		}
		m.Storage.AddDisk(d)
		return view.Disk(m, d), nil
	})
}

func isTaken(m *world.Machine, d *storage.Disk) bool {
	return slices.ContainsFunc(m.Storage.All(), func(other *storage.Disk) bool { return other != d && other.Name == d.Name })
}

// physical reads what a disk is. What is not given stays.
func (f form) physical(d *storage.Disk, isNew bool) {
	f.length("name", d.Name, 0, 255)
	for field, value := range map[string]*string{"model": &d.Model, "serial": &d.Serial} {
		if f.Has(field) {
			*value = f.text(field, false)
			f.length(field, *value, 0, 255)
		}
	}
	if f.Has("id_path") {
		d.IDPath = f.path("id_path", false)
	}
	if size := f.size("size", isNew); size != nil {
		d.SizeBytes = *size
		if *size < storage.LeastDisk {
			f.errs.Add("size", atLeast(storage.LeastDisk))
		}
	}
	if size := f.size("block_size", isNew); size != nil {
		d.BlockSize = int(*size)
		if *size < storage.LeastBlock {
			f.errs.Add("block_size", atLeast(storage.LeastBlock))
		}
	}
	f.numaNode()
	f.identity(d)
}

// identity refuses a disk that nothing tells from others (models/physicalblockdevice.py).
func (f form) identity(d *storage.Disk) {
	if d.IDPath == "" && (d.Model == "" || d.Serial == "") {
		f.errs.Add("__all__", "serial/model are required if id_path is not provided.")
	}
}

// numaNode checks the index of a NUMA node: a machine has one.
func (f form) numaNode() {
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

// updateDisk changes the record of a block device. Of one of a machine that is
// deployed only what it is known by can change.
func updateDisk(c *request.Call, m *world.Machine, d *storage.Disk) rest.Reply {
	deployed := m.Status == world.StatusDeployed
	switch {
	case m.Status != world.StatusReady && !deployed:
		return rest.Conflict("Cannot update block device because the machine is not Ready.")
	case deployed && !d.IsPhysical():
		return rest.Conflict("Cannot update virtual block device because the machine is Deployed.")
	}
	f, edited := newForm(c), *d
	if name := f.text("name", false); name != "" {
		edited.Name = name
	}
	switch {
	case !d.IsPhysical():
		f.virtual(d, &edited)
	case deployed:
		for _, field := range []string{"size", "block_size", "numa_node"} {
			c.Form.Del(field)
		}
		f.physical(&edited, false)
	default:
		f.physical(&edited, false)
	}
	table := ""
	if !deployed {
		table = f.tableType(d)
	}
	if bad := f.refused(); bad != nil {
		return *bad
	}
	return change(m, func() (any, *storage.Problem) {
		if bad := save(m, d, edited, table); bad != nil {
			return nil, bad
		}
		return view.Disk(m, d), nil
	})
}

// save writes an edited block device.
func save(m *world.Machine, d *storage.Disk, edited storage.Disk, table string) *storage.Problem {
	wanted := edited.SizeBytes
	isVolume := d.Group != nil && d.Group.Kind == storage.VolumeGroup
	if isVolume {
		edited.SizeBytes = d.SizeBytes
	}
	*d = edited
	if isTaken(m, d) {
		return &storage.Problem{Field: "__all__", Text: storage.NameTaken}
	}
	if isVolume {
		if bad := storage.Resize(&m.Storage, d, wanted); bad != nil {
			return bad
		}
	}
	if table != "" {
		d.Table.Type = table
	}
	return m.Storage.Resized(d)
}

// virtual reads what can change of what a group makes (UpdateVirtualBlockDeviceForm).
func (f form) virtual(d, edited *storage.Disk) {
	if id := f.uuid(); id != "" {
		edited.UUID = id
	}
	size := f.size("size", false)
	switch {
	case size == nil:
	case *size != d.SizeBytes && d.Group.Kind != storage.VolumeGroup:
		f.errs["size"] = []string{"Size cannot be changed on this device."}
	case *size < storage.LeastDisk:
		f.errs.Add("size", atLeast(storage.LeastDisk))
	default:
		edited.SizeBytes = *size
	}
}

// tableType reads the kind of a partition table, which must be there.
func (f form) tableType(d *storage.Disk) string {
	kind := f.choice("partition_table_type", false, "MBR", "GPT")
	if kind != "" && d.Table == nil {
		f.errs.Add("partition_table_type", "Block device has no partition table")
	}
	return kind
}
