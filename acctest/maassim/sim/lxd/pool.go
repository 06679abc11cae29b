package lxd

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/boot"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd/daemon"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

func poolRoutes() []Route {
	return []Route{
		{http.MethodGet, "1.0/storage-pools", accessTrusted, listStoragePools},
		{http.MethodPost, "1.0/storage-pools", accessAdmin, createStoragePool},
		{http.MethodGet, "1.0/storage-pools/{name}", accessTrusted, readStoragePool},
		{http.MethodPut, "1.0/storage-pools/{name}", accessAdmin, putStoragePool},
		{http.MethodDelete, "1.0/storage-pools/{name}", accessAdmin, deleteStoragePool},
		{http.MethodGet, "1.0/storage-pools/{name}/resources", accessTrusted, readPoolResources},
	}
}

// poolConfig is a pool's configuration: its location and its size.
func poolConfig(l *world.LXD, p daemon.StoragePool) map[string]string {
	config := maps.Clone(l.EnsurePoolInfo(p.Name).Config)
	if p.Driver != "dir" && config["size"] == "" && !strings.HasPrefix(config["source"], "/dev/") {
		config["size"] = fmt.Sprintf("%dB", p.SizeBytes)
	}
	if config["source"] == "" {
		config["source"] = "/var/snap/lxd/common/lxd/disks/" + p.Name + ".img"
		if p.Driver == "dir" {
			config["source"] = p.StoragePath()
		}
	}
	return config
}

// poolView is a pool. Only clients without restriction see its configuration.
func poolView(c *Call, p daemon.StoragePool) api.StoragePool {
	view := api.StoragePool{Name: p.Name, Description: c.LXD.EnsurePoolInfo(p.Name).Description, Driver: p.Driver, Status: api.StoragePoolStatusCreated, UsedBy: []string{}, Locations: []string{"none"}}
	if !c.trust.Restricted {
		view.Config = poolConfig(c.LXD, p)
	}
	for _, project := range rest.SortedValues(world.ProjectNames(c.LXD)) {
		for _, i := range c.LXD.Instances(project) {
			if c.trust.AllowsProject(project) && slices.ContainsFunc(i.Disks, func(v world.Volume) bool { return v.Pool == p.Name }) {
				view.UsedBy = append(view.UsedBy, (&Call{Project: project}).inProject("/1.0/instances/"+i.Name))
			}
		}
	}
	for key, profile := range c.LXD.Profiles {
		for _, d := range profile.Devices {
			if d["type"] == "disk" && d["pool"] == p.Name && c.trust.AllowsProject(key.Project) {
				view.UsedBy = append(view.UsedBy, (&Call{Project: key.Project}).inProject("/1.0/profiles/"+key.Name))
			}
		}
	}
	for key := range c.LXD.Volumes {
		if key.Pool == p.Name && c.trust.AllowsProject(key.Project) {
			view.UsedBy = append(view.UsedBy, (&Call{Project: key.Project}).inProject("/1.0/storage-pools/"+p.Name+"/volumes/custom/"+key.Name))
		}
	}
	slices.Sort(view.UsedBy)
	return view
}

func listStoragePools(c *Call) rest.Reply {
	paths, views := []string{}, []api.StoragePool{}
	for _, p := range c.LXD.Pools {
		paths, views = append(paths, "/1.0/storage-pools/"+p.Name), append(views, poolView(c, p))
	}
	return c.answerList(paths, views)
}

// poolNamed is the pool in the path.
func poolNamed(c *Call) (daemon.StoragePool, *rest.Reply) {
	i := slices.IndexFunc(c.LXD.Pools, func(p daemon.StoragePool) bool { return p.Name == c.Vars["name"] })
	if i < 0 {
		bad := notFoundReply("Storage pool")
		return daemon.StoragePool{}, &bad
	}
	return c.LXD.Pools[i], nil
}

// readStoragePool shows a pool. As in LXD, the ETag does not cover the description.
func readStoragePool(c *Call) rest.Reply {
	p, bad := poolNamed(c)
	if bad != nil {
		return *bad
	}
	return taggedReply(poolView(c, p), p.Name, p.Driver, poolConfig(c.LXD, p))
}

// readPoolResources shows the space that instances and volumes hold as used.
func readPoolResources(c *Call) rest.Reply {
	p, bad := poolNamed(c)
	if bad != nil {
		return *bad
	}
	used := c.LXD.CurrentUse().PoolBytes[p.Name]
	for key, v := range c.LXD.Volumes {
		if key.Pool == p.Name && !isVolumeAttached(c.LXD, key) {
			used += v.SizeBytes
		}
	}
	return syncReply(api.ResourcesStoragePool{Space: api.ResourcesStoragePoolSpace{Used: uint64(min(used, p.SizeBytes)), Total: uint64(p.SizeBytes)}})
}

func createStoragePool(c *Call) rest.Reply {
	var in api.StoragePoolsPost
	if bad := c.readBody(&in); bad != nil {
		return *bad
	}
	switch {
	case in.Name == "" || strings.ContainsAny(in.Name, "/ "):
		return BadRequestReply("Invalid storage pool name %q", in.Name)
	case in.Driver == "":
		return BadRequestReply("No driver provided")
	case c.LXD.HasPool(in.Name):
		return conflictReply("Storage pool", in.Name)
	}
	if problem := daemon.PoolKeyError(in.Config); problem != nil {
		return InternalErrorReply("%v", problem)
	}
	b := bootStateOf(c.LXD)
	if err := b.AddPool(in.Name, in.Driver, in.Config); err != nil {
		return InternalErrorReply("%v", err)
	}
	c.LXD.Pools = append(slices.Clone(c.LXD.Pools), b.Pools[len(b.Pools)-1])
	info := c.LXD.EnsurePoolInfo(in.Name)
	info.Description = in.Description
	maps.Copy(info.Config, in.Config)
	return c.answerChange(asyncPoolsAndNetworks, "Creating storage pool", createdReply("/1.0/storage-pools/"+in.Name))
}

// bootStateOf is the LXD in the form that user-data works with, so that a pool can be made
// in it.
func bootStateOf(l *world.LXD) *boot.LXD {
	b := &boot.LXD{Version: l.Version, Config: map[string]map[string]string{}, Pools: slices.Clone(l.Pools)}
	m := cmp.Or(l.Metal, l.HostMachine)
	if m == nil {
		return b
	}
	for n, d := range m.Storage.Disks {
		paths := []string{"/dev/" + d.Name, "/dev/disk/by-dname/" + d.Name, d.IDPath}
		used := slices.ContainsFunc(l.Pools, func(p daemon.StoragePool) bool {
			return slices.Contains(paths, l.EnsurePoolInfo(p.Name).Config["source"])
		})
		b.Disks = append(b.Disks, boot.Disk{Paths: paths, SizeBytes: d.SizeBytes, System: n == 0, Used: used})
	}
	return b
}

var errPoolSource = errors.New("cannot update config: the [source] properties cannot be changed")

// putStoragePool changes the description and the configuration, except for the source.
func putStoragePool(c *Call) rest.Reply {
	p, bad := poolNamed(c)
	if bad == nil {
		bad = c.checkETag(p.Name, p.Driver, poolConfig(c.LXD, p))
	}
	var in api.StoragePoolPut
	if bad == nil {
		bad = c.readBody(&in)
	}
	if bad != nil {
		return *bad
	}
	if err := daemon.PoolKeyError(in.Config); err != nil {
		return InternalErrorReply("%v", err)
	}
	old := poolConfig(c.LXD, p)
	if source := in.Config["source"]; source != "" && source != old["source"] {
		return InternalErrorReply("%v", errPoolSource)
	}
	info := c.LXD.EnsurePoolInfo(p.Name)
	info.Description, info.Config = in.Description, map[string]string{}
	maps.Copy(info.Config, in.Config)
	info.Config["source"] = old["source"]
	return c.answerChange(asyncPoolsAndNetworks, "Updating storage pool", doneReply())
}

func deleteStoragePool(c *Call) rest.Reply {
	p, bad := poolNamed(c)
	switch {
	case bad != nil:
		return *bad
	case len(poolView(c, p).UsedBy) > 0:
		return BadRequestReply("The storage pool is currently in use")
	}
	c.LXD.Pools = slices.DeleteFunc(slices.Clone(c.LXD.Pools), func(other daemon.StoragePool) bool { return other.Name == p.Name })
	delete(c.LXD.PoolInfo, p.Name)
	return c.answerChange(asyncPoolsAndNetworks, "Deleting storage pool", doneReply())
}
