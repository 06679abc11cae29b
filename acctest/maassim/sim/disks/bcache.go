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
	{Method: http.MethodGet, Path: "nodes/{id}/bcaches/", Handle: bcaches.list()},
	{Method: http.MethodPost, Path: "nodes/{id}/bcaches/", Handle: creation("Cannot create Bcache because the machine is not Ready.", createBcache)},
	{Method: http.MethodGet, Path: "nodes/{id}/bcache/{group}/", Handle: bcaches.on(request.ViewAll, readGroup)},
	{Method: http.MethodPut, Path: "nodes/{id}/bcache/{group}/", Handle: bcaches.on(request.Admin, ready("Cannot update Bcache because the machine is not Ready.", updateBcache))},
	{Method: http.MethodDelete, Path: "nodes/{id}/bcache/{group}/", Handle: bcaches.on(request.Admin, bcaches.remove())},
	{Method: http.MethodGet, Path: "nodes/{id}/bcache-cache-sets/", Handle: request.OnMachine(request.ViewAll, listCacheSets)},
	{Method: http.MethodPost, Path: "nodes/{id}/bcache-cache-sets/", Handle: creation("Cannot create cache set because the node is not Ready.", createCacheSet)},
	{Method: http.MethodGet, Path: "nodes/{id}/bcache-cache-set/{set}/", Handle: onCacheSet(request.ViewAll, readCacheSet)},
	{Method: http.MethodPut, Path: "nodes/{id}/bcache-cache-set/{set}/", Handle: onCacheSet(request.Admin, updateCacheSet)},
	{Method: http.MethodDelete, Path: "nodes/{id}/bcache-cache-set/{set}/", Handle: onCacheSet(request.Admin, deleteCacheSet)},
}

func createBcache(c *request.Call, m *world.Machine) rest.Reply {
	f := newForm(c)
	g := &storage.Group{Kind: storage.Bcache, Name: f.text("name", false), UUID: f.uuid(), CacheMode: f.choice("cache_mode", true, storage.Modes...)}
	disk, part := f.one("backing_device", freeDisks(m)), f.one("backing_partition", freeParts(m))
	g.Cache = f.cacheSet(m, true)
	switch {
	case g.Cache == nil:
		f.errs.Add("__all__", "Bcache requires a cache_set.")
	case disk != nil && part != nil:
		f.errs.Add("__all__", "A Bcache can have either a backing device or partition.")
	case disk == nil && part == nil:
		f.errs.Add("__all__", "Either backing_device or backing_partition must be specified.")
	}
	if bad := f.refused(); bad != nil {
		return *bad
	}
	return change(m, func() (any, *storage.Problem) {
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

// backingOf is the device that a bcache is to have, of which one was given.
func backingOf(m *world.Machine, disk, part storage.Device) (storage.Device, *storage.Problem) {
	if disk != nil {
		return partitioned(m, disk)
	}
	return part, nil
}

// cacheSet reads a cache set, by its id or its name.
func (f form) cacheSet(m *world.Machine, required bool) *storage.CacheSet {
	value := f.Field("cache_set")
	if value == "" {
		if required {
			f.errs.Add("cache_set", rest.MsgRequired)
		}
		return nil
	}
	for _, set := range storage.Caches(&m.Storage) {
		if value == strconv.Itoa(set.ID) || value == storage.CacheName(&m.Storage, set) {
			return set
		}
	}
	f.errs.Add("cache_set", rest.ChoiceProblem(value))
	return nil
}

// updateBcache changes what was given (UpdateBcacheForm). What the bcache makes is no
// backing device of it.
func updateBcache(c *request.Call, m *world.Machine, g *storage.Group) rest.Reply {
	f := newForm(c)
	name, id := f.text("name", false), f.uuid()
	ownDisks, ownParts := among(storage.DevicesOf(&m.Storage, g, ""))
	free := slices.DeleteFunc(freeDisks(m), func(d storage.Device) bool { return slices.Contains(storage.Made(&m.Storage, g), d.(*storage.Disk)) })
	disk, part := f.one("backing_device", append(free, ownDisks...)), f.one("backing_partition", append(freeParts(m), ownParts...))
	set, mode := f.cacheSet(m, false), f.choice("cache_mode", false, storage.Modes...)
	if bad := f.refused(); bad != nil {
		return *bad
	}
	return change(m, func() (any, *storage.Problem) {
		if bad := rebase(m, g, disk, part); bad != nil {
			return nil, bad
		}
		rename(g, name, id)
		if mode != "" {
			g.CacheMode = mode
		}
		if set != nil {
			g.Cache = set
		}
		return shownGroup(m, g)
	})
}

// rebase gives a bcache another backing device, if one was given.
func rebase(m *world.Machine, g *storage.Group, disk, part storage.Device) *storage.Problem {
	if disk == nil && part == nil {
		return nil
	}
	backing, bad := backingOf(m, disk, part)
	if bad != nil {
		return bad
	}
	for _, d := range storage.DevicesOf(&m.Storage, g, "") {
		storage.Leave(&m.Storage, g, d)
	}
	return storage.AddMembers(&m.Storage, g, []storage.Device{backing}, false)
}

type cacheSetHandler func(*request.Call, *world.Machine, *storage.CacheSet) rest.Reply

// onCacheSet looks up the cache set of the path, by its id or its name.
func onCacheSet(need request.Permission, f cacheSetHandler) func(*request.Call) rest.Reply {
	return request.OnMachine(need, func(c *request.Call, m *world.Machine) rest.Reply {
		id, isNumber := whole(c.Vars["set"])
		for _, set := range storage.Caches(&m.Storage) {
			if isNumber && set.ID == id || strings.HasSuffix(c.Vars["set"], storage.CacheName(&m.Storage, set)) {
				return f(c, m, set)
			}
		}
		return nothing()
	})
}

func listCacheSets(_ *request.Call, m *world.Machine) rest.Reply {
	views := []rest.Object{}
	for _, set := range storage.Caches(&m.Storage) {
		views = append(views, view.CacheSet(m, set))
	}
	return rest.OK(views)
}

func readCacheSet(_ *request.Call, m *world.Machine, set *storage.CacheSet) rest.Reply {
	return rest.OK(view.CacheSet(m, set))
}

func createCacheSet(c *request.Call, m *world.Machine) rest.Reply {
	f := newForm(c)
	disk, part := f.one("cache_device", freeDisks(m)), f.one("cache_partition", freeParts(m))
	switch {
	case disk != nil && part != nil:
		f.errs.Add("__all__", "Cannot set both cache_device and cache_partition.")
	case disk == nil && part == nil:
		f.errs.Add("__all__", "Either cache_device or cache_partition must be specified.")
	}
	if bad := f.refused(); bad != nil {
		return *bad
	}
	return change(m, func() (any, *storage.Problem) {
		device, bad := backingOf(m, disk, part)
		if bad != nil {
			return nil, bad
		}
		set, bad := storage.AddCache(&m.Storage, device)
		if bad != nil {
			return nil, bad
		}
		return view.CacheSet(m, set), nil
	})
}

func updateCacheSet(c *request.Call, m *world.Machine, set *storage.CacheSet) rest.Reply {
	if bad := notReady(m, "Cannot update cache set because the machine is not Ready."); bad != nil {
		return *bad
	}
	f := newForm(c)
	ownDisks, ownParts := among([]storage.Device{storage.CacheDevice(&m.Storage, set)})
	disk, part := f.one("cache_device", append(freeDisks(m), ownDisks...)), f.one("cache_partition", append(freeParts(m), ownParts...))
	if disk != nil && part != nil {
		for _, field := range []string{"cache_device", "cache_partition"} {
			f.errs[field] = []string{"Cannot set both cache_device and cache_partition."}
		}
	}
	if bad := f.refused(); bad != nil {
		return *bad
	}
	return change(m, func() (any, *storage.Problem) {
		if disk == nil && part == nil {
			return view.CacheSet(m, set), nil
		}
		device, bad := backingOf(m, disk, part)
		if bad != nil {
			return nil, bad
		}
		if bad := storage.MoveCache(&m.Storage, set, device); bad != nil {
			return nil, bad
		}
		return view.CacheSet(m, set), nil
	})
}

func deleteCacheSet(_ *request.Call, m *world.Machine, set *storage.CacheSet) rest.Reply {
	if bad := notReady(m, "Cannot delete cache set because the machine is not Ready."); bad != nil {
		return *bad
	}
	if len(storage.Users(&m.Storage, set)) > 0 {
		return rest.BadText("Cannot delete cache set; it's currently in use.")
	}
	storage.DropCache(&m.Storage, set)
	return rest.Deleted()
}
