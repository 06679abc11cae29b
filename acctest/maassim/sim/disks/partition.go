package disks

import (
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/storage"
)

// listPartitions shows the partitions of a block device. MAAS trips over one without
// a partition table.
func listPartitions(_ *request.Call, m *world.Machine, d *storage.Disk) rest.Reply {
	if d.Table == nil {
		return rest.InternalError("PartitionTable matching query does not exist.")
	}
	return rest.OK(view.Partitions(m, d))
}

func createPartition(c *request.Call, m *world.Machine, d *storage.Disk) rest.Reply {
	if bad := notReady(m, "Cannot create partition because the node is not Ready."); bad != nil {
		return *bad
	}
	f := newForm(c)
	id, size := f.uuid(), f.size("size", false)
	f.between("size", size, storage.LeastPart, d.SizeBytes)
	if bad := f.refused(); bad != nil {
		return *bad
	}
	return change(m, func() (any, *storage.Problem) {
		p, bad := m.Storage.AddPartition(d, size, f.truth("bootable"), id)
		if bad != nil {
			return nil, bad
		}
		return view.Partition(m, p), nil
	})
}

func readPartition(_ *request.Call, m *world.Machine, p *storage.Partition) rest.Reply {
	return rest.OK(view.Partition(m, p))
}

func deletePartition(c *request.Call, m *world.Machine, d *storage.Disk) rest.Reply {
	if d.Table == nil {
		return rest.NoObject("PartitionTable")
	}
	if bad := notReady(m, "Cannot delete block device because the node is not Ready."); bad != nil {
		return *bad
	}
	p := partitionCalled(m, c.Vars["part"])
	if p == nil {
		return nothing()
	}
	return remove(m, func() *storage.Problem { return m.Storage.DeletePartition(d, p) })
}

func tagPartition(c *request.Call, m *world.Machine, p *storage.Partition) rest.Reply {
	return retagPartition(c, m, p, withTag)
}

func untagPartition(c *request.Call, m *world.Machine, p *storage.Partition) rest.Reply {
	return retagPartition(c, m, p, withoutTag)
}

func retagPartition(c *request.Call, m *world.Machine, p *storage.Partition, how func([]string, string) []string) rest.Reply {
	if !c.Has("tag") {
		return rest.BadText("No provided tag!")
	}
	p.Tags = how(p.Tags, c.Field("tag"))
	return rest.OK(view.Partition(m, p))
}
