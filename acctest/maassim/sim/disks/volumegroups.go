package disks

import (
	"fmt"
	"net/http"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/storage"
)

// groupKind is a kind of group, with MAAS's names for it.
type groupKind struct {
	model    string // "VolumeGroup"
	words    string // "volume group"
	isOfKind func(*storage.Group) bool
}

var (
	volumeGroups = groupKind{"VolumeGroup", "volume group", func(g *storage.Group) bool { return g.Kind == storage.VolumeGroup }}
	raids        = groupKind{"RAID", "RAID", (*storage.Group).IsRAID}
	bcaches      = groupKind{"Bcache", "Bcache", func(g *storage.Group) bool { return g.Kind == storage.Bcache }}
	datastores   = groupKind{"VMFS", "VMFS datastore", func(g *storage.Group) bool { return g.Kind == storage.Datastore }}
)

// listHandler makes the handler that lists the groups of the kind.
func (k groupKind) listHandler() func(*request.Call) rest.Reply {
	return request.OnMachine(request.ViewAll, func(_ *request.Call, m *world.Machine) rest.Reply {
		views := []rest.Object{}
		for _, g := range storage.Groups(&m.Storage) {
			if k.isOfKind(g) {
				views = append(views, view.Group(m, g))
			}
		}
		return rest.OKReply(views)
	})
}

type groupHandler func(*request.Call, *world.Machine, *storage.Group) rest.Reply

// onGroup looks up the group of the path by its id or its name, among the groups of all
// machines (get_object_or_404).
func (k groupKind) onGroup(need request.Permission, f groupHandler) func(*request.Call) rest.Reply {
	return func(c *request.Call) rest.Reply {
		id, isNumber := parseWholeNumber(c.Vars["group"])
		var of *world.Machine
		var found *storage.Group
		count := 0
		for _, m := range world.SortedMachines(c.World.Machines) {
			for _, g := range storage.Groups(&m.Storage) {
				if k.isOfKind(g) && (isNumber && g.ID == id || !isNumber && g.Name == c.Vars["group"]) {
					of, found, count = m, g, count+1
				}
			}
		}
		switch {
		case count == 0:
			return rest.NoObjectReply(k.model)
		case count > 1:
			return rest.InternalErrorReply(fmt.Sprintf("get() returned more than one %s -- it returned %d!", k.model, count))
		case of.SystemID != c.Vars["id"]:
			return notFoundReply()
		case !c.HasPermission(need, of):
			return rest.ForbiddenReply()
		}
		return f(c, of, found)
	}
}

func readGroup(_ *request.Call, m *world.Machine, g *storage.Group) rest.Reply {
	return rest.OKReply(view.Group(m, g))
}

// deleteHandler makes the handler that deletes a group.
func (k groupKind) deleteHandler() groupHandler {
	return func(_ *request.Call, m *world.Machine, g *storage.Group) rest.Reply {
		if bad := notReadyReply(m, "Cannot delete "+k.words+" because the machine is not Ready."); bad != nil {
			return *bad
		}
		return removeFromStorage(m, func() *storage.Problem { return storage.DeleteGroup(&m.Storage, g) })
	}
}

// requireReady limits f to Ready machines.
func requireReady(sentence string, f groupHandler) groupHandler {
	return func(c *request.Call, m *world.Machine, g *storage.Group) rest.Reply {
		if bad := notReadyReply(m, sentence); bad != nil {
			return *bad
		}
		return f(c, m, g)
	}
}

// requireReadyToCreate limits f to Ready machines, and to users who may change them.
func requireReadyToCreate(sentence string, f func(*request.Call, *world.Machine) rest.Reply) func(*request.Call) rest.Reply {
	return request.OnMachine(request.Admin, func(c *request.Call, m *world.Machine) rest.Reply {
		if bad := notReadyReply(m, sentence); bad != nil {
			return *bad
		}
		return f(c, m)
	})
}

// saveAndShowGroup checks a changed group and shows it.
func saveAndShowGroup(m *world.Machine, g *storage.Group) (any, *storage.Problem) {
	if bad := storage.SaveGroup(&m.Storage, g); bad != nil {
		return nil, bad
	}
	return view.Group(m, g), nil
}

// renameGroup sets a group's name and UUID, if they were given.
func renameGroup(g *storage.Group, name, id string) {
	if name != "" {
		g.Name = name
	}
	if id != "" {
		g.UUID = id
	}
}

// volumeGroupRoutes are the operations on volume groups (api/volume_groups.py).
var volumeGroupRoutes = []request.Route{
	{Method: http.MethodGet, Path: "nodes/{id}/volume-groups/", Handle: volumeGroups.listHandler()},
	{Method: http.MethodPost, Path: "nodes/{id}/volume-groups/", Handle: requireReadyToCreate("Cannot create volume group because the machine is not Ready.", createVolumeGroup)},
	{Method: http.MethodGet, Path: "nodes/{id}/volume-group/{group}/", Handle: volumeGroups.onGroup(request.ViewAll, readGroup)},
	{Method: http.MethodPut, Path: "nodes/{id}/volume-group/{group}/", Handle: volumeGroups.onGroup(request.Admin, requireReady("Cannot update volume group because the machine is not Ready.", updateVolumeGroup))},
	{Method: http.MethodDelete, Path: "nodes/{id}/volume-group/{group}/", Handle: volumeGroups.onGroup(request.Admin, volumeGroups.deleteHandler())},
	{Method: http.MethodPost, Path: "nodes/{id}/volume-group/{group}/", Op: "create_logical_volume", Handle: volumeGroups.onGroup(request.Admin, requireReady("Cannot create logical volume because the machine is not Ready.", createLogicalVolume))},
	{Method: http.MethodPost, Path: "nodes/{id}/volume-group/{group}/", Op: "delete_logical_volume", Handle: volumeGroups.onGroup(request.Admin, requireReady("Cannot delete logical volume because the machine is not Ready.", deleteLogicalVolume))},
}

// readMembers reads the devices of a new volume group or datastore
// (CreateVolumeGroupForm).
func (f form) readMembers(m *world.Machine, name string) (disks, parts []storage.Device) {
	disks, parts = f.readDevices("block_devices", freeDisks(m)), f.readDevices("partitions", freeParts(m))
	misread := len(f.errs["block_devices"]) + len(f.errs["partitions"])
	if name != "" && len(disks)+len(parts)+misread == 0 {
		f.errs.Add("__all__", "At least one valid block device or partition is required.")
	}
	return disks, parts
}

func createVolumeGroup(c *request.Call, m *world.Machine) rest.Reply {
	f := newForm(c)
	g := &storage.Group{Kind: storage.VolumeGroup, Name: f.readText("name", true), UUID: f.readUUID()}
	disks, parts := f.readMembers(m, g.Name)
	if bad := f.errorReply(); bad != nil {
		return *bad
	}
	return changeStorage(m, func() (any, *storage.Problem) {
		devices, bad := withBootPartition(m, disks, parts)
		if bad != nil {
			return nil, bad
		}
		if bad := storage.MakeGroup(&m.Storage, g, devices, nil); bad != nil {
			return nil, bad
		}
		return view.Group(m, g), nil
	})
}

func updateVolumeGroup(c *request.Call, m *world.Machine, g *storage.Group) rest.Reply {
	f := newForm(c)
	ownDisks, ownParts := splitDevices(storage.DevicesOf(&m.Storage, g, ""))
	name, id := f.readText("name", false), f.readUUID()
	addDisks, addParts := f.readDevices("add_block_devices", freeDisks(m)), f.readDevices("add_partitions", freeParts(m))
	gone := append(f.readDevices("remove_block_devices", ownDisks), f.readDevices("remove_partitions", ownParts)...)
	if bad := f.errorReply(); bad != nil {
		return *bad
	}
	return changeStorage(m, func() (any, *storage.Problem) {
		renameGroup(g, name, id)
		added, bad := withBootPartition(m, addDisks, addParts)
		if bad != nil {
			return nil, bad
		}
		for _, d := range gone {
			storage.LeaveGroup(&m.Storage, g, d)
		}
		if bad := storage.AddMembers(&m.Storage, g, added, false); bad != nil {
			return nil, bad
		}
		return saveAndShowGroup(m, g)
	})
}

func createLogicalVolume(c *request.Call, m *world.Machine, g *storage.Group) rest.Reply {
	f, free := newForm(c), storage.FreeSize(&m.Storage, g)
	name, id, size := f.readText("name", true), f.readUUID(), f.readSize("size", false)
	f.checkSizeBounds("size", size, storage.MinDiskBytes, free)
	if free < storage.MinDiskBytes {
		delete(f.errs, "size")
		f.errs.Add("__all__", fmt.Sprintf("Volume group (%s) cannot hold any more logical volumes, because it doesn't have enough free space.", g.Name))
	}
	if bad := f.errorReply(); bad != nil {
		return *bad
	}
	return changeStorage(m, func() (any, *storage.Problem) {
		d, bad := storage.AddLogicalVolume(&m.Storage, g, name, id, size)
		if bad != nil {
			return nil, bad
		}
		return view.NewVolume(m, d), nil
	})
}

// deleteLogicalVolume removes a logical volume. Removing an unknown one succeeds.
func deleteLogicalVolume(c *request.Call, m *world.Machine, g *storage.Group) rest.Reply {
	if !c.HasField("id") {
		return rest.BadTextReply("No provided id!")
	}
	id, wrong := rest.ReadID(c.Field("id"))
	if wrong != nil {
		return *wrong
	}
	for _, d := range storage.GroupDisks(&m.Storage, g) {
		if d.ID == id {
			return removeFromStorage(m, func() *storage.Problem { return m.Storage.DeleteDisk(d) })
		}
	}
	return rest.DeletedReply()
}
