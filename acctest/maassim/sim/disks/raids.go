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
	{Method: http.MethodGet, Path: "nodes/{id}/raids/", Handle: raids.list()},
	{Method: http.MethodPost, Path: "nodes/{id}/raids/", Handle: creation("Cannot create RAID because the machine is not Ready.", createRAID)},
	{Method: http.MethodGet, Path: "nodes/{id}/raid/{group}/", Handle: raids.on(request.ViewAll, readGroup)},
	{Method: http.MethodPut, Path: "nodes/{id}/raid/{group}/", Handle: raids.on(request.Admin, ready("Cannot update RAID because the machine is not Ready.", updateRAID))},
	{Method: http.MethodDelete, Path: "nodes/{id}/raid/{group}/", Handle: raids.on(request.Admin, raids.remove())},
}

func createRAID(c *request.Call, m *world.Machine) rest.Reply {
	f := newForm(c)
	g := &storage.Group{Name: f.text("name", false), UUID: f.uuid(), Kind: f.choice("level", true, storage.RAIDLevels...)}
	disks, parts := f.many("block_devices", freeDisks(m)), f.many("partitions", freeParts(m))
	spareDisks, spareParts := f.many("spare_devices", freeDisks(m)), f.many("spare_partitions", freeParts(m))
	if len(f.errs["block_devices"])+len(f.errs["partitions"])+len(disks)+len(parts) == 0 {
		f.errs.Add("__all__", "At least one block device or partition must be added to the array.")
	}
	if bad := f.refused(); bad != nil {
		return *bad
	}
	return change(m, func() (any, *storage.Problem) {
		boot := m.Storage.Boot()
		if boot != nil && (slices.Contains(disks, storage.Device(boot)) || slices.Contains(spareDisks, storage.Device(boot))) {
			newParts, bad := filled(m, disks)
			if bad != nil {
				return nil, bad
			}
			newSpares, bad := filled(m, spareDisks)
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

// raidEdit is what a call changes of a RAID's devices.
type raidEdit struct {
	add, spares []storage.Device
	gone        []storage.Device
}

func (f form) raidEdit(m *world.Machine, g *storage.Group) (e raidEdit) {
	ownDisks, ownParts := among(storage.DevicesOf(&m.Storage, g, ""))
	e.add = append(f.many("add_block_devices", freeDisks(m)), f.many("add_partitions", freeParts(m))...)
	e.spares = append(f.many("add_spare_devices", freeDisks(m)), f.many("add_spare_partitions", freeParts(m))...)
	e.gone = slices.Concat(
		f.many("remove_block_devices", ownDisks), f.many("remove_spare_devices", ownDisks),
		f.many("remove_partitions", ownParts), f.many("remove_spare_partitions", ownParts))
	return e
}

// updateRAID takes devices out, each of which the RAID must be able to miss, and then
// adds others (UpdateRaidForm).
func updateRAID(c *request.Call, m *world.Machine, g *storage.Group) rest.Reply {
	f := newForm(c)
	name, id := f.text("name", false), f.uuid()
	e := f.raidEdit(m, g)
	if bad := f.refused(); bad != nil {
		return *bad
	}
	return change(m, func() (any, *storage.Problem) {
		for _, d := range e.gone {
			storage.Leave(&m.Storage, g, d)
			if bad := storage.SaveGroup(&m.Storage, g); bad != nil {
				return nil, bad
			}
		}
		add, bad := withBoot(m, e.add, nil)
		if bad != nil {
			return nil, bad
		}
		spares, bad := withBoot(m, e.spares, nil)
		if bad != nil {
			return nil, bad
		}
		if bad := storage.AddMembers(&m.Storage, g, add, false); bad != nil {
			return nil, bad
		}
		if bad := storage.AddMembers(&m.Storage, g, spares, true); bad != nil {
			return nil, bad
		}
		rename(g, name, id)
		return shownGroup(m, g)
	})
}

// datastoreRoutes are the operations on VMware's datastores (api/vmfs_datastores.py).
var datastoreRoutes = []request.Route{
	{Method: http.MethodGet, Path: "nodes/{id}/vmfs-datastores/", Handle: datastores.list()},
	{Method: http.MethodPost, Path: "nodes/{id}/vmfs-datastores/", Handle: creation("Cannot create VMFS group because the machine is not Ready.", createDatastore)},
	{Method: http.MethodGet, Path: "nodes/{id}/vmfs-datastore/{group}/", Handle: datastores.on(request.ViewAll, readGroup)},
	{Method: http.MethodPut, Path: "nodes/{id}/vmfs-datastore/{group}/", Handle: datastores.on(request.Admin, ready("Cannot update the VMFS datastore because the machine is not Ready.", updateDatastore))},
	{Method: http.MethodDelete, Path: "nodes/{id}/vmfs-datastore/{group}/", Handle: datastores.on(request.Admin, datastores.remove())},
}

func createDatastore(c *request.Call, m *world.Machine) rest.Reply {
	f := newForm(c)
	g := &storage.Group{Name: f.text("name", true), UUID: f.uuid()}
	disks, parts := f.members(m, g.Name)
	if storage.VMFSDisk(&m.Storage, "vmfs6") == nil && storage.VMFSDisk(&m.Storage, "vmfs7") == nil {
		f.errs["VMFS"] = []string{"VMFS Datastores may only be created after the VMFS6 or VMFS7 storage layout has been applied."}
	}
	if bad := f.refused(); bad != nil {
		return *bad
	}
	return change(m, func() (any, *storage.Problem) {
		made, bad := filled(m, disks)
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
	ownDisks, ownParts := among(storage.DevicesOf(&m.Storage, g, ""))
	name, id := f.text("name", false), f.uuid()
	disks, parts := f.many("add_block_devices", freeDisks(m)), f.many("add_partitions", freeParts(m))
	f.many("remove_block_devices", ownDisks)
	gone := f.many("remove_partitions", ownParts)
	if bad := f.refused(); bad != nil {
		return *bad
	}
	return change(m, func() (any, *storage.Problem) {
		rename(g, name, id)
		made, bad := filled(m, disks)
		if bad != nil {
			return nil, bad
		}
		if bad := storage.AddMembers(&m.Storage, g, append(made, parts...), false); bad != nil {
			return nil, bad
		}
		for _, d := range gone {
			storage.Leave(&m.Storage, g, d)
		}
		return shownGroup(m, g)
	})
}
