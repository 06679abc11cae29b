package sim

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/canonical/lxd/shared/api"
)

func lxdPoolRoutes() []lxdRoute {
	return []lxdRoute{
		{http.MethodGet, "1.0/storage-pools", lxdTrusted, listStoragePools},
		{http.MethodPost, "1.0/storage-pools", lxdAdmin, createStoragePool},
		{http.MethodGet, "1.0/storage-pools/{name}", lxdTrusted, readStoragePool},
		{http.MethodPut, "1.0/storage-pools/{name}", lxdAdmin, putStoragePool},
		{http.MethodDelete, "1.0/storage-pools/{name}", lxdAdmin, deleteStoragePool},
		{http.MethodGet, "1.0/storage-pools/{name}/resources", lxdTrusted, readPoolResources},
	}
}

// poolConfig is a pool's configuration: where it lies and how large it is.
func (l *lxdServer) poolConfig(p StoragePoolModel) map[string]string {
	config := maps.Clone(l.pool(p.Name).Config)
	if p.Driver != "dir" && config["size"] == "" && !strings.HasPrefix(config["source"], "/dev/") {
		config["size"] = fmt.Sprintf("%dB", p.SizeBytes)
	}
	if config["source"] == "" {
		config["source"] = "/var/snap/lxd/common/lxd/disks/" + p.Name + ".img"
		if p.Driver == "dir" {
			config["source"] = "/var/snap/lxd/common/lxd/storage-pools/" + p.Name
		}
	}
	return config
}

// poolView is a pool; what it is made of is for those without restriction.
func (c *lxdCall) poolView(p StoragePoolModel) api.StoragePool {
	view := api.StoragePool{Name: p.Name, Description: c.l.pool(p.Name).Description, Driver: p.Driver, Status: api.StoragePoolStatusCreated, UsedBy: []string{}, Locations: []string{"none"}}
	if !c.trust.restricted {
		view.Config = c.l.poolConfig(p)
	}
	for _, project := range sorted(projectNames(c.l)) {
		for _, i := range c.l.instances(project) {
			if c.trust.allows(project) && slices.ContainsFunc(i.disks, func(v volume) bool { return v.pool == p.Name }) {
				view.UsedBy = append(view.UsedBy, (&lxdCall{project: project}).inProject("/1.0/instances/"+i.name))
			}
		}
	}
	for key, profile := range c.l.profiles {
		for _, d := range profile.Devices {
			if d["type"] == "disk" && d["pool"] == p.Name && c.trust.allows(key.project) {
				view.UsedBy = append(view.UsedBy, (&lxdCall{project: key.project}).inProject("/1.0/profiles/"+key.name))
			}
		}
	}
	for key := range c.l.volumes {
		if key.pool == p.Name && c.trust.allows(key.project) {
			view.UsedBy = append(view.UsedBy, (&lxdCall{project: key.project}).inProject("/1.0/storage-pools/"+p.Name+"/volumes/custom/"+key.name))
		}
	}
	slices.Sort(view.UsedBy)
	return view
}

func listStoragePools(c *lxdCall) reply {
	paths, views := []string{}, []api.StoragePool{}
	for _, p := range c.l.pools {
		paths, views = append(paths, "/1.0/storage-pools/"+p.Name), append(views, c.poolView(p))
	}
	return c.listed(paths, views)
}

// poolNamed is the pool in the path.
func (c *lxdCall) poolNamed() (StoragePoolModel, *reply) {
	i := slices.IndexFunc(c.l.pools, func(p StoragePoolModel) bool { return p.Name == c.vars["name"] })
	if i < 0 {
		bad := lxdMissing("Storage pool")
		return StoragePoolModel{}, &bad
	}
	return c.l.pools[i], nil
}

// readStoragePool: the ETag does not know the description.
func readStoragePool(c *lxdCall) reply {
	p, bad := c.poolNamed()
	if bad != nil {
		return *bad
	}
	return tagged(c.poolView(p), p.Name, p.Driver, c.l.poolConfig(p))
}

// readPoolResources counts what instances and volumes hold as used.
func readPoolResources(c *lxdCall) reply {
	p, bad := c.poolNamed()
	if bad != nil {
		return *bad
	}
	used := c.l.use().PoolBytes[p.Name]
	for key, v := range c.l.volumes {
		if key.pool == p.Name && !c.l.attached(key) {
			used += v.sizeBytes
		}
	}
	return synced(api.ResourcesStoragePool{Space: api.ResourcesStoragePoolSpace{Used: uint64(min(used, p.SizeBytes)), Total: uint64(p.SizeBytes)}})
}

func createStoragePool(c *lxdCall) reply {
	var in api.StoragePoolsPost
	if bad := c.read(&in); bad != nil {
		return *bad
	}
	switch {
	case in.Name == "" || strings.ContainsAny(in.Name, "/ "):
		return lxdBad("Invalid storage pool name %q", in.Name)
	case in.Driver == "":
		return lxdBad("No driver provided")
	case c.l.hasPool(in.Name):
		return lxdTaken("Storage pool", in.Name)
	}
	if problem := poolKeyProblem(in.Config); problem != nil {
		return lxdBroken("%v", problem)
	}
	b := c.l.asBooted()
	if err := b.addPool(in.Name, in.Driver, in.Config); err != nil {
		return lxdBroken("%v", err)
	}
	c.l.pools = append(slices.Clone(c.l.pools), b.pools[len(b.pools)-1])
	info := c.l.pool(in.Name)
	info.Description = in.Description
	maps.Copy(info.Config, in.Config)
	return c.settle(asyncPoolsAndNetworks, "Creating storage pool", madeAt("/1.0/storage-pools/"+in.Name))
}

// asBooted is the LXD as its user-data would see it, to make a pool on.
func (l *lxdServer) asBooted() *bootedLXD {
	b := &bootedLXD{version: l.version, config: map[string]map[string]string{}, pools: slices.Clone(l.pools)}
	m := or(l.metal, l.hostMachine)
	if m == nil {
		return b
	}
	for n, d := range m.disks {
		paths := []string{"/dev/" + d.name, "/dev/disk/by-dname/" + d.name, d.idPath}
		used := slices.ContainsFunc(l.pools, func(p StoragePoolModel) bool { return slices.Contains(paths, l.pool(p.Name).Config["source"]) })
		b.disks = append(b.disks, bootDisk{paths: paths, sizeBytes: d.sizeBytes, system: n == 0, used: used})
	}
	return b
}

// poolKeyProblem is an internal error in LXD.
func poolKeyProblem(config map[string]string) error {
	known := []string{"size", "source", "source.wipe", "source.recover", "rsync.bwlimit", "rsync.compression"}
	for _, key := range slices.Sorted(maps.Keys(config)) {
		area, _, _ := strings.Cut(key, ".")
		if !slices.Contains(known, key) && !slices.Contains([]string{"btrfs", "zfs", "lvm", "ceph", "cephfs", "user", "volume", "volatile"}, area) {
			return fmt.Errorf("invalid option for storage pool: %q", key)
		}
	}
	return nil
}

var errPoolSource = errors.New("cannot update config: the [source] properties cannot be changed")

// putStoragePool changes the description and the config, but not the source.
func putStoragePool(c *lxdCall) reply {
	p, bad := c.poolNamed()
	if bad == nil {
		bad = c.unchanged(p.Name, p.Driver, c.l.poolConfig(p))
	}
	var in api.StoragePoolPut
	if bad == nil {
		bad = c.read(&in)
	}
	if bad != nil {
		return *bad
	}
	if err := poolKeyProblem(in.Config); err != nil {
		return lxdBroken("%v", err)
	}
	old := c.l.poolConfig(p)
	if source := in.Config["source"]; source != "" && source != old["source"] {
		return lxdBroken("%v", errPoolSource)
	}
	info := c.l.pool(p.Name)
	info.Description, info.Config = in.Description, map[string]string{}
	maps.Copy(info.Config, in.Config)
	info.Config["source"] = old["source"]
	return c.settle(asyncPoolsAndNetworks, "Updating storage pool", done())
}

func deleteStoragePool(c *lxdCall) reply {
	p, bad := c.poolNamed()
	switch {
	case bad != nil:
		return *bad
	case len(c.poolView(p).UsedBy) > 0:
		return lxdBad("The storage pool is currently in use")
	}
	c.l.pools = slices.DeleteFunc(slices.Clone(c.l.pools), func(other StoragePoolModel) bool { return other.Name == p.Name })
	delete(c.l.poolInfo, p.Name)
	return c.settle(asyncPoolsAndNetworks, "Deleting storage pool", done())
}
