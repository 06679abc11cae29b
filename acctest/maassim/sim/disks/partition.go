package disks

import (
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/storage"
)

// listPartitions shows the partitions of a block device. MAAS answers with an internal
// error for a device without a partition table.
func listPartitions(_ *request.Call, m *world.Machine, d *storage.Disk) rest.Reply {
	if d.Table == nil {
		return rest.InternalErrorReply("PartitionTable matching query does not exist.")
	}
	return rest.OKReply(view.Partitions(m, d))
}

func createPartition(c *request.Call, m *world.Machine, d *storage.Disk) rest.Reply {
	if bad := notReadyReply(m, "Cannot create partition because the node is not Ready."); bad != nil {
		return *bad
	}
	f := newForm(c)
	id, size := f.readUUID(), f.readSize("size", false)
	f.checkSizeBounds("size", size, storage.MinPartitionBytes, d.SizeBytes)
	if bad := f.errorReply(); bad != nil {
		return *bad
	}
	return changeStorage(m, func() (any, *storage.Problem) {
		p, bad := m.Storage.AddPartition(d, size, f.readCheckbox("bootable"), id)
		if bad != nil {
			return nil, bad
		}
		return view.Partition(m, p), nil
	})
}

func readPartition(_ *request.Call, m *world.Machine, p *storage.Partition) rest.Reply {
	return rest.OKReply(view.Partition(m, p))
}

func deletePartition(c *request.Call, m *world.Machine, d *storage.Disk) rest.Reply {
	if d.Table == nil {
		return rest.NoObjectReply("PartitionTable")
	}
	if bad := notReadyReply(m, "Cannot delete block device because the node is not Ready."); bad != nil {
		return *bad
	}
	p := findPartition(m, c.Vars["part"])
	if p == nil {
		return notFoundReply()
	}
	return removeFromStorage(m, func() *storage.Problem { return m.Storage.DeletePartition(d, p) })
}

func tagPartition(c *request.Call, m *world.Machine, p *storage.Partition) rest.Reply {
	return retagPartition(c, m, p, withTag)
}

func untagPartition(c *request.Call, m *world.Machine, p *storage.Partition) rest.Reply {
	return retagPartition(c, m, p, withoutTag)
}

func retagPartition(c *request.Call, m *world.Machine, p *storage.Partition, how func([]string, string) []string) rest.Reply {
	if !c.HasField("tag") {
		return rest.BadTextReply("No provided tag!")
	}
	p.Tags = how(p.Tags, c.Field("tag"))
	return rest.OKReply(view.Partition(m, p))
}
