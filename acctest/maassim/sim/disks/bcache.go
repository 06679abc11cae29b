package disks

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/storage"
)

// bcacheRoutes are the operations on bcaches and their cache sets (api/bcache.py and
// bcache_cacheset.py).
var bcacheRoutes = []request.Route{
	{Method: http.MethodGet, Path: "nodes/{id}/bcaches/", Handle: bcaches.listHandler()},
	{Method: http.MethodPost, Path: "nodes/{id}/bcaches/", Handle: requireReadyToCreate("Cannot create Bcache because the machine is not Ready.", createBcache)},
	{Method: http.MethodGet, Path: "nodes/{id}/bcache/{group}/", Handle: bcaches.onGroup(request.ViewAll, readGroup)},
	{Method: http.MethodPut, Path: "nodes/{id}/bcache/{group}/", Handle: bcaches.onGroup(request.Admin, requireReady("Cannot update Bcache because the machine is not Ready.", updateBcache))},
	{Method: http.MethodDelete, Path: "nodes/{id}/bcache/{group}/", Handle: bcaches.onGroup(request.Admin, bcaches.deleteHandler())},
	{Method: http.MethodGet, Path: "nodes/{id}/bcache-cache-sets/", Handle: request.OnMachine(request.ViewAll, listCacheSets)},
	{Method: http.MethodPost, Path: "nodes/{id}/bcache-cache-sets/", Handle: requireReadyToCreate("Cannot create cache set because the node is not Ready.", createCacheSet)},
	{Method: http.MethodGet, Path: "nodes/{id}/bcache-cache-set/{set}/", Handle: onCacheSet(request.ViewAll, readCacheSet)},
	{Method: http.MethodPut, Path: "nodes/{id}/bcache-cache-set/{set}/", Handle: onCacheSet(request.Admin, updateCacheSet)},
	{Method: http.MethodDelete, Path: "nodes/{id}/bcache-cache-set/{set}/", Handle: onCacheSet(request.Admin, deleteCacheSet)},
}

func createBcache(c *request.Call, m *world.Machine) rest.Reply {
	f := newForm(c)
	g := &storage.Group{Kind: storage.Bcache, Name: f.readText("name", false), UUID: f.readUUID(), CacheMode: f.readChoice("cache_mode", true, storage.CacheModes...)}
	disk, part := f.readDevice("backing_device", freeDisks(m)), f.readDevice("backing_partition", freeParts(m))
	g.Cache = f.readCacheSet(m, true)
	switch {
	case g.Cache == nil:
		f.errs.Add("__all__", "Bcache requires a cache_set.")
	case disk != nil && part != nil:
		f.errs.Add("__all__", "A Bcache can have either a backing device or partition.")
	case disk == nil && part == nil:
		f.errs.Add("__all__", "Either backing_device or backing_partition must be specified.")
	}
	if bad := f.errorReply(); bad != nil {
		return *bad
	}
	return changeStorage(m, func() (any, *storage.Problem) {
		backing, bad := backingOf(m, disk, part)
		if bad != nil {
			return nil, bad
		}
		if bad := storage.MakeGroup(&m.Storage, g, []storage.Device{backing}, nil); bad != nil {
			return nil, bad
		}
		return view.NewBcache(m, g), nil
	})
}

// backingOf is the new backing device of a bcache: a disk or a partition.
func backingOf(m *world.Machine, disk, part storage.Device) (storage.Device, *storage.Problem) {
	if disk != nil {
		return partitionIfBootDisk(m, disk)
	}
	return part, nil
}

// readCacheSet reads a cache set, by its id or its name.
func (f form) readCacheSet(m *world.Machine, required bool) *storage.CacheSet {
	value := f.Field("cache_set")
	if value == "" {
		if required {
			f.errs.Add("cache_set", rest.MsgRequired)
		}
		return nil
	}
	for _, set := range storage.CacheSets(&m.Storage) {
		if value == strconv.Itoa(set.ID) || value == storage.CacheSetName(&m.Storage, set) {
			return set
		}
	}
	f.errs.Add("cache_set", rest.ChoiceProblem(value))
	return nil
}

// updateBcache changes the given fields (UpdateBcacheForm). The bcache's own disk cannot
// be its backing device.
func updateBcache(c *request.Call, m *world.Machine, g *storage.Group) rest.Reply {
	f := newForm(c)
	name, id := f.readText("name", false), f.readUUID()
	ownDisks, ownParts := splitDevices(storage.DevicesOf(&m.Storage, g, ""))
	free := slices.DeleteFunc(freeDisks(m), func(d storage.Device) bool {
		return slices.Contains(storage.GroupDisks(&m.Storage, g), d.(*storage.Disk))
	})
	disk, part := f.readDevice("backing_device", append(free, ownDisks...)), f.readDevice("backing_partition", append(freeParts(m), ownParts...))
	set, mode := f.readCacheSet(m, false), f.readChoice("cache_mode", false, storage.CacheModes...)
	if bad := f.errorReply(); bad != nil {
		return *bad
	}
	return changeStorage(m, func() (any, *storage.Problem) {
		if bad := setBackingDevice(m, g, disk, part); bad != nil {
			return nil, bad
		}
		renameGroup(g, name, id)
		if mode != "" {
			g.CacheMode = mode
		}
		if set != nil {
			g.Cache = set
		}
		return saveAndShowGroup(m, g)
	})
}

// setBackingDevice changes the backing device of a bcache, if one was given.
func setBackingDevice(m *world.Machine, g *storage.Group, disk, part storage.Device) *storage.Problem {
	if disk == nil && part == nil {
		return nil
	}
	backing, bad := backingOf(m, disk, part)
	if bad != nil {
		return bad
	}
	for _, d := range storage.DevicesOf(&m.Storage, g, "") {
		storage.LeaveGroup(&m.Storage, g, d)
	}
	return storage.AddMembers(&m.Storage, g, []storage.Device{backing}, false)
}

type cacheSetHandler func(*request.Call, *world.Machine, *storage.CacheSet) rest.Reply

// onCacheSet looks up the cache set of the path, by its id or its name.
func onCacheSet(need request.Permission, f cacheSetHandler) func(*request.Call) rest.Reply {
	return request.OnMachine(need, func(c *request.Call, m *world.Machine) rest.Reply {
		id, isNumber := parseWholeNumber(c.Vars["set"])
		for _, set := range storage.CacheSets(&m.Storage) {
			if isNumber && set.ID == id || strings.HasSuffix(c.Vars["set"], storage.CacheSetName(&m.Storage, set)) {
				return f(c, m, set)
			}
		}
		return notFoundReply()
	})
}

func listCacheSets(_ *request.Call, m *world.Machine) rest.Reply {
	views := []rest.Object{}
	for _, set := range storage.CacheSets(&m.Storage) {
		views = append(views, view.CacheSet(m, set))
	}
	return rest.OKReply(views)
}

func readCacheSet(_ *request.Call, m *world.Machine, set *storage.CacheSet) rest.Reply {
	return rest.OKReply(view.CacheSet(m, set))
}

func createCacheSet(c *request.Call, m *world.Machine) rest.Reply {
	f := newForm(c)
	disk, part := f.readDevice("cache_device", freeDisks(m)), f.readDevice("cache_partition", freeParts(m))
	switch {
	case disk != nil && part != nil:
		f.errs.Add("__all__", "Cannot set both cache_device and cache_partition.")
	case disk == nil && part == nil:
		f.errs.Add("__all__", "Either cache_device or cache_partition must be specified.")
	}
	if bad := f.errorReply(); bad != nil {
		return *bad
	}
	return changeStorage(m, func() (any, *storage.Problem) {
		device, bad := backingOf(m, disk, part)
		if bad != nil {
			return nil, bad
		}
		set, bad := storage.AddCacheSet(&m.Storage, device)
		if bad != nil {
			return nil, bad
		}
		return view.CacheSet(m, set), nil
	})
}

func updateCacheSet(c *request.Call, m *world.Machine, set *storage.CacheSet) rest.Reply {
	if bad := notReadyReply(m, "Cannot update cache set because the machine is not Ready."); bad != nil {
		return *bad
	}
	f := newForm(c)
	ownDisks, ownParts := splitDevices([]storage.Device{storage.CacheSetDevice(&m.Storage, set)})
	disk, part := f.readDevice("cache_device", append(freeDisks(m), ownDisks...)), f.readDevice("cache_partition", append(freeParts(m), ownParts...))
	if disk != nil && part != nil {
		for _, field := range []string{"cache_device", "cache_partition"} {
			f.errs[field] = []string{"Cannot set both cache_device and cache_partition."}
		}
	}
	if bad := f.errorReply(); bad != nil {
		return *bad
	}
	return changeStorage(m, func() (any, *storage.Problem) {
		if disk == nil && part == nil {
			return view.CacheSet(m, set), nil
		}
		device, bad := backingOf(m, disk, part)
		if bad != nil {
			return nil, bad
		}
		if bad := storage.MoveCacheSet(&m.Storage, set, device); bad != nil {
			return nil, bad
		}
		return view.CacheSet(m, set), nil
	})
}

func deleteCacheSet(_ *request.Call, m *world.Machine, set *storage.CacheSet) rest.Reply {
	if bad := notReadyReply(m, "Cannot delete cache set because the machine is not Ready."); bad != nil {
		return *bad
	}
	if len(storage.CacheSetUsers(&m.Storage, set)) > 0 {
		return rest.BadTextReply("Cannot delete cache set; it's currently in use.")
	}
	storage.RemoveCacheSet(&m.Storage, set)
	return rest.DeletedReply()
}
