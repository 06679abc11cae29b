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

// kind is a kind of groups, with MAAS's names for it.
type kind struct {
	model string // "VolumeGroup"
	words string // "volume group"
	is    func(*storage.Group) bool
}

var (
	volumeGroups = kind{"VolumeGroup", "volume group", func(g *storage.Group) bool { return g.Kind == storage.VolumeGroup }}
	raids        = kind{"RAID", "RAID", (*storage.Group).IsRAID}
	bcaches      = kind{"Bcache", "Bcache", func(g *storage.Group) bool { return g.Kind == storage.Bcache }}
	datastores   = kind{"VMFS", "VMFS datastore", func(g *storage.Group) bool { return g.Kind == storage.Datastore }}
)

// list shows the groups of the kind.
func (k kind) list() func(*request.Call) rest.Reply {
	return request.OnMachine(request.ViewAll, func(_ *request.Call, m *world.Machine) rest.Reply {
		views := []rest.Object{}
		for _, g := range storage.Groups(&m.Storage) {
			if k.is(g) {
				views = append(views, view.Group(m, g))
			}
		}
		return rest.OK(views)
	})
}

type groupHandler func(*request.Call, *world.Machine, *storage.Group) rest.Reply

// on looks up the group of the path, by its id or its name, among those of all
// machines (get_object_or_404).
func (k kind) on(need request.Permission, f groupHandler) func(*request.Call) rest.Reply {
	return func(c *request.Call) rest.Reply {
		id, isNumber := whole(c.Vars["group"])
		var of *world.Machine
		var found *storage.Group
		count := 0
		for _, m := range world.SortedMachines(c.World.Machines) {
			for _, g := range storage.Groups(&m.Storage) {
				if k.is(g) && (isNumber && g.ID == id || !isNumber && g.Name == c.Vars["group"]) {
					of, found, count = m, g, count+1
				}
			}
		}
		switch {
		case count == 0:
			return rest.NoObject(k.model)
		case count > 1:
			return rest.InternalError(fmt.Sprintf("get() returned more than one %s -- it returned %d!", k.model, count))
		case of.SystemID != c.Vars["id"]:
			return nothing()
		case !c.May(need, of):
			return rest.Forbidden()
		}
		return f(c, of, found)
	}
}

func readGroup(_ *request.Call, m *world.Machine, g *storage.Group) rest.Reply {
	return rest.OK(view.Group(m, g))
}

// remove deletes the group.
func (k kind) remove() groupHandler {
	return func(_ *request.Call, m *world.Machine, g *storage.Group) rest.Reply {
		if bad := notReady(m, "Cannot delete "+k.words+" because the machine is not Ready."); bad != nil {
			return *bad
		}
		return remove(m, func() *storage.Problem { return storage.DeleteGroup(&m.Storage, g) })
	}
}

// ready is f for Ready machines.
func ready(sentence string, f groupHandler) groupHandler {
	return func(c *request.Call, m *world.Machine, g *storage.Group) rest.Reply {
		if bad := notReady(m, sentence); bad != nil {
			return *bad
		}
		return f(c, m, g)
	}
}

// creation is f for Ready machines and those who may change them.
func creation(sentence string, f func(*request.Call, *world.Machine) rest.Reply) func(*request.Call) rest.Reply {
	return request.OnMachine(request.Admin, func(c *request.Call, m *world.Machine) rest.Reply {
		if bad := notReady(m, sentence); bad != nil {
			return *bad
		}
		return f(c, m)
	})
}

// shownGroup ends a change of a group: it is checked, and shown.
func shownGroup(m *world.Machine, g *storage.Group) (any, *storage.Problem) {
	if bad := storage.SaveGroup(&m.Storage, g); bad != nil {
		return nil, bad
	}
	return view.Group(m, g), nil
}

// rename gives a group what of a name and a UUID was given.
func rename(g *storage.Group, name, id string) {
	if name != "" {
		g.Name = name
	}
	if id != "" {
		g.UUID = id
	}
}

// volumeRoutes are the operations on volume groups (api/volume_groups.py).
var volumeRoutes = []request.Route{
	{Method: http.MethodGet, Path: "nodes/{id}/volume-groups/", Handle: volumeGroups.list()},
	{Method: http.MethodPost, Path: "nodes/{id}/volume-groups/", Handle: creation("Cannot create volume group because the machine is not Ready.", createVolumes)},
	{Method: http.MethodGet, Path: "nodes/{id}/volume-group/{group}/", Handle: volumeGroups.on(request.ViewAll, readGroup)},
	{Method: http.MethodPut, Path: "nodes/{id}/volume-group/{group}/", Handle: volumeGroups.on(request.Admin, ready("Cannot update volume group because the machine is not Ready.", updateVolumes))},
	{Method: http.MethodDelete, Path: "nodes/{id}/volume-group/{group}/", Handle: volumeGroups.on(request.Admin, volumeGroups.remove())},
	{Method: http.MethodPost, Path: "nodes/{id}/volume-group/{group}/", Op: "create_logical_volume", Handle: volumeGroups.on(request.Admin, ready("Cannot create logical volume because the machine is not Ready.", createVolume))},
	{Method: http.MethodPost, Path: "nodes/{id}/volume-group/{group}/", Op: "delete_logical_volume", Handle: volumeGroups.on(request.Admin, ready("Cannot delete logical volume because the machine is not Ready.", deleteVolume))},
}

// members reads the devices of a new volume group or datastore
// (CreateVolumeGroupForm).
func (f form) members(m *world.Machine, name string) (disks, parts []storage.Device) {
	disks, parts = f.many("block_devices", freeDisks(m)), f.many("partitions", freeParts(m))
	misread := len(f.errs["block_devices"]) + len(f.errs["partitions"])
	if name != "" && len(disks)+len(parts)+misread == 0 {
		f.errs.Add("__all__", "At least one valid block device or partition is required.")
	}
	return disks, parts
}

func createVolumes(c *request.Call, m *world.Machine) rest.Reply {
	f := newForm(c)
	g := &storage.Group{Kind: storage.VolumeGroup, Name: f.text("name", true), UUID: f.uuid()}
	disks, parts := f.members(m, g.Name)
	if bad := f.refused(); bad != nil {
		return *bad
	}
	return change(m, func() (any, *storage.Problem) {
		devices, bad := withBoot(m, disks, parts)
		if bad != nil {
			return nil, bad
		}
		if bad := storage.MakeGroup(&m.Storage, g, devices, nil); bad != nil {
			return nil, bad
		}
		return view.Group(m, g), nil
	})
}

func updateVolumes(c *request.Call, m *world.Machine, g *storage.Group) rest.Reply {
	f := newForm(c)
	ownDisks, ownParts := among(storage.DevicesOf(&m.Storage, g, ""))
	name, id := f.text("name", false), f.uuid()
	addDisks, addParts := f.many("add_block_devices", freeDisks(m)), f.many("add_partitions", freeParts(m))
	gone := append(f.many("remove_block_devices", ownDisks), f.many("remove_partitions", ownParts)...)
	if bad := f.refused(); bad != nil {
		return *bad
	}
	return change(m, func() (any, *storage.Problem) {
		rename(g, name, id)
		added, bad := withBoot(m, addDisks, addParts)
		if bad != nil {
			return nil, bad
		}
		for _, d := range gone {
			storage.Leave(&m.Storage, g, d)
		}
		if bad := storage.AddMembers(&m.Storage, g, added, false); bad != nil {
			return nil, bad
		}
		return shownGroup(m, g)
	})
}

func createVolume(c *request.Call, m *world.Machine, g *storage.Group) rest.Reply {
	f, free := newForm(c), storage.FreeSize(&m.Storage, g)
	name, id, size := f.text("name", true), f.uuid(), f.size("size", false)
	f.between("size", size, storage.LeastDisk, free)
	if free < storage.LeastDisk {
		delete(f.errs, "size")
		f.errs.Add("__all__", fmt.Sprintf("Volume group (%s) cannot hold any more logical volumes, because it doesn't have enough free space.", g.Name))
	}
	if bad := f.refused(); bad != nil {
		return *bad
	}
	return change(m, func() (any, *storage.Problem) {
		d, bad := storage.AddVolume(&m.Storage, g, name, id, size)
		if bad != nil {
			return nil, bad
		}
		return view.NewVolume(m, d), nil
	})
}

// deleteVolume removes a logical volume; one that is not there is removed already.
func deleteVolume(c *request.Call, m *world.Machine, g *storage.Group) rest.Reply {
	if !c.Has("id") {
		return rest.BadText("No provided id!")
	}
	id, wrong := rest.Number(c.Field("id"))
	if wrong != nil {
		return *wrong
	}
	for _, d := range storage.Made(&m.Storage, g) {
		if d.ID == id {
			return remove(m, func() *storage.Problem { return m.Storage.DeleteDisk(d) })
		}
	}
	return rest.Deleted()
}
