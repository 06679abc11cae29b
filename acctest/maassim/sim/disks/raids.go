package disks

import (
	"net/http"
	"slices"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/storage"
)

// raidRoutes are the operations on RAIDs (api/raid.py).
var raidRoutes = []request.Route{
	{Method: http.MethodGet, Path: "nodes/{id}/raids/", Handle: raids.listHandler()},
	{Method: http.MethodPost, Path: "nodes/{id}/raids/", Handle: requireReadyToCreate("Cannot create RAID because the machine is not Ready.", createRAID)},
	{Method: http.MethodGet, Path: "nodes/{id}/raid/{group}/", Handle: raids.onGroup(request.ViewAll, readGroup)},
	{Method: http.MethodPut, Path: "nodes/{id}/raid/{group}/", Handle: raids.onGroup(request.Admin, requireReady("Cannot update RAID because the machine is not Ready.", updateRAID))},
	{Method: http.MethodDelete, Path: "nodes/{id}/raid/{group}/", Handle: raids.onGroup(request.Admin, raids.deleteHandler())},
}

func createRAID(c *request.Call, m *world.Machine) rest.Reply {
	f := newForm(c)
	g := &storage.Group{Name: f.readText("name", false), UUID: f.readUUID(), Kind: f.readChoice("level", true, storage.RAIDLevels...)}
	disks, parts := f.readDevices("block_devices", freeDisks(m)), f.readDevices("partitions", freeParts(m))
	spareDisks, spareParts := f.readDevices("spare_devices", freeDisks(m)), f.readDevices("spare_partitions", freeParts(m))
	if len(f.errs["block_devices"])+len(f.errs["partitions"])+len(disks)+len(parts) == 0 {
		f.errs.Add("__all__", "At least one block device or partition must be added to the array.")
	}
	if bad := f.errorReply(); bad != nil {
		return *bad
	}
	return changeStorage(m, func() (any, *storage.Problem) {
		boot := m.Storage.EffectiveBootDisk()
		if boot != nil && (slices.Contains(disks, storage.Device(boot)) || slices.Contains(spareDisks, storage.Device(boot))) {
			newParts, bad := fillWithPartitions(m, disks)
			if bad != nil {
				return nil, bad
			}
			newSpares, bad := fillWithPartitions(m, spareDisks)
			if bad != nil {
				return nil, bad
			}
			disks, spareDisks, parts, spareParts = nil, nil, append(parts, newParts...), append(spareParts, newSpares...)
		}
		if bad := storage.MakeGroup(&m.Storage, g, slices.Concat(disks, parts), slices.Concat(spareDisks, spareParts)); bad != nil {
			return nil, bad
		}
		return view.Group(m, g), nil
	})
}

// raidEdit is the change that a call makes to a RAID's devices.
type raidEdit struct {
	add, spares    []storage.Device
	removedDevices []storage.Device
}

func (f form) readRAIDEdit(m *world.Machine, g *storage.Group) (e raidEdit) {
	ownDisks, ownParts := splitDevices(storage.DevicesOf(&m.Storage, g, ""))
	e.add = append(f.readDevices("add_block_devices", freeDisks(m)), f.readDevices("add_partitions", freeParts(m))...)
	e.spares = append(f.readDevices("add_spare_devices", freeDisks(m)), f.readDevices("add_spare_partitions", freeParts(m))...)
	e.removedDevices = slices.Concat(
		f.readDevices("remove_block_devices", ownDisks), f.readDevices("remove_spare_devices", ownDisks),
		f.readDevices("remove_partitions", ownParts), f.readDevices("remove_spare_partitions", ownParts))
	return e
}

// updateRAID removes devices that the RAID can do without, and then adds others
// (UpdateRaidForm).
func updateRAID(c *request.Call, m *world.Machine, g *storage.Group) rest.Reply {
	f := newForm(c)
	name, id := f.readText("name", false), f.readUUID()
	e := f.readRAIDEdit(m, g)
	if bad := f.errorReply(); bad != nil {
		return *bad
	}
	return changeStorage(m, func() (any, *storage.Problem) {
		for _, d := range e.removedDevices {
			storage.LeaveGroup(&m.Storage, g, d)
			if bad := storage.SaveGroup(&m.Storage, g); bad != nil {
				return nil, bad
			}
		}
		add, bad := withBootPartition(m, e.add, nil)
		if bad != nil {
			return nil, bad
		}
		spares, bad := withBootPartition(m, e.spares, nil)
		if bad != nil {
			return nil, bad
		}
		if bad := storage.AddMembers(&m.Storage, g, add, false); bad != nil {
			return nil, bad
		}
		if bad := storage.AddMembers(&m.Storage, g, spares, true); bad != nil {
			return nil, bad
		}
		renameGroup(g, name, id)
		return saveAndShowGroup(m, g)
	})
}

// datastoreRoutes are the operations on VMware's datastores (api/vmfs_datastores.py).
var datastoreRoutes = []request.Route{
	{Method: http.MethodGet, Path: "nodes/{id}/vmfs-datastores/", Handle: datastores.listHandler()},
	{Method: http.MethodPost, Path: "nodes/{id}/vmfs-datastores/", Handle: requireReadyToCreate("Cannot create VMFS group because the machine is not Ready.", createDatastore)},
	{Method: http.MethodGet, Path: "nodes/{id}/vmfs-datastore/{group}/", Handle: datastores.onGroup(request.ViewAll, readGroup)},
	{Method: http.MethodPut, Path: "nodes/{id}/vmfs-datastore/{group}/", Handle: datastores.onGroup(request.Admin, requireReady("Cannot update the VMFS datastore because the machine is not Ready.", updateDatastore))},
	{Method: http.MethodDelete, Path: "nodes/{id}/vmfs-datastore/{group}/", Handle: datastores.onGroup(request.Admin, datastores.deleteHandler())},
}

func createDatastore(c *request.Call, m *world.Machine) rest.Reply {
	f := newForm(c)
	g := &storage.Group{Name: f.readText("name", true), UUID: f.readUUID()}
	disks, parts := f.readMembers(m, g.Name)
	if storage.VMFSDisk(&m.Storage, "vmfs6") == nil && storage.VMFSDisk(&m.Storage, "vmfs7") == nil {
		f.errs["VMFS"] = []string{"VMFS Datastores may only be created after the VMFS6 or VMFS7 storage layout has been applied."}
	}
	if bad := f.errorReply(); bad != nil {
		return *bad
	}
	return changeStorage(m, func() (any, *storage.Problem) {
		made, bad := fillWithPartitions(m, disks)
		if bad != nil {
			return nil, bad
		}
		if bad := storage.AddDatastore(&m.Storage, g, append(parts, made...)); bad != nil {
			return nil, bad
		}
		return view.Group(m, g), nil
	})
}

func updateDatastore(c *request.Call, m *world.Machine, g *storage.Group) rest.Reply {
	f := newForm(c)
	ownDisks, ownParts := splitDevices(storage.DevicesOf(&m.Storage, g, ""))
	name, id := f.readText("name", false), f.readUUID()
	disks, parts := f.readDevices("add_block_devices", freeDisks(m)), f.readDevices("add_partitions", freeParts(m))
	f.readDevices("remove_block_devices", ownDisks)
	gone := f.readDevices("remove_partitions", ownParts)
	if bad := f.errorReply(); bad != nil {
		return *bad
	}
	return changeStorage(m, func() (any, *storage.Problem) {
		renameGroup(g, name, id)
		made, bad := fillWithPartitions(m, disks)
		if bad != nil {
			return nil, bad
		}
		if bad := storage.AddMembers(&m.Storage, g, append(made, parts...), false); bad != nil {
			return nil, bad
		}
		for _, d := range gone {
			storage.LeaveGroup(&m.Storage, g, d)
		}
		return saveAndShowGroup(m, g)
	})
}
