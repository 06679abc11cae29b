package sim

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/canonical/lxd/shared/api"
)

func lxdVolumeRoutes() []lxdRoute {
	const all = "1.0/storage-pools/{name}/volumes"
	return []lxdRoute{
		{http.MethodGet, all, lxdInProject, listVolumes},
		{http.MethodGet, all + "/custom", lxdInProject, listVolumes},
		{http.MethodPost, all, lxdInProject, createVolume},
		{http.MethodPost, all + "/custom", lxdInProject, createVolume},
		{http.MethodGet, all + "/custom/{volume}", lxdInProject, readVolume},
		{http.MethodPut, all + "/custom/{volume}", lxdInProject, putVolume},
		{http.MethodDelete, all + "/custom/{volume}", lxdInProject, deleteVolume},
	}
}

// volumeKey is the name of a volume in the call's pool and project.
func (c *lxdCall) volumeKey(name string) volumeKey {
	return volumeKey{c.vars["name"], c.l.owner(c.project, "features.storage.volumes"), name}
}

// users are the instances that a volume is attached to.
func (l *lxdServer) users(key volumeKey) (found []*instance) {
	for _, project := range sorted(projectNames(l)) {
		if l.owner(project, "features.storage.volumes") != key.project {
			continue
		}
		for _, i := range l.instances(project) {
			for _, d := range i.expandedDevices() {
				if d["type"] == "disk" && d["pool"] == key.pool && d["source"] == key.name {
					found = append(found, i)
				}
			}
		}
	}
	return found
}

func (l *lxdServer) attached(key volumeKey) bool { return len(l.users(key)) > 0 }

func (c *lxdCall) volumeView(key volumeKey) api.StorageVolume {
	v := c.l.volumes[key]
	view := api.StorageVolume{
		Name: key.name, Description: v.description, Type: "custom", Pool: key.pool, ContentType: "block", Project: key.project,
		Location: "none", CreatedAt: v.made, Config: maps.Clone(v.config), UsedBy: []string{},
	}
	view.Config["size"] = strconv.FormatInt(v.sizeBytes, 10)
	for _, i := range c.l.users(key) {
		view.UsedBy = append(view.UsedBy, (&lxdCall{project: i.project}).inProject("/1.0/instances/"+i.name))
	}
	return view
}

func listVolumes(c *lxdCall) reply {
	if _, bad := c.poolNamed(); bad != nil {
		return *bad
	}
	names := map[string]volumeKey{}
	for key := range c.l.volumes {
		if c.volumeKey(key.name) == key {
			names[key.name] = key
		}
	}
	paths, views := []string{}, []api.StorageVolume{}
	for _, key := range sorted(names) {
		paths = append(paths, c.inProject("/1.0/storage-pools/"+key.pool+"/volumes/custom/"+key.name))
		views = append(views, c.volumeView(key))
	}
	return c.listed(paths, views)
}

func createVolume(c *lxdCall) reply {
	if _, bad := c.poolNamed(); bad != nil {
		return *bad
	}
	var in api.StorageVolumesPost
	if bad := c.read(&in); bad != nil {
		return *bad
	}
	key := c.volumeKey(in.Name)
	size, err := readSize(in.Config["size"])
	switch {
	case in.Name == "" || strings.ContainsAny(in.Name, "/ "):
		return lxdBad("Invalid storage volume name %q", in.Name)
	case in.Type != "" && in.Type != "custom", in.ContentType != "block":
		return lxdBad("maassim keeps custom volumes with content type block only, not %q of %q", in.Type, in.ContentType)
	case err != nil:
		return lxdBad("%v", err)
	case c.l.volumes[key] != nil:
		return lxdTaken("Volume", in.Name)
	}
	v := &customVolume{sizeBytes: or(size, vmDefaultDisk), description: in.Description, config: map[string]string{}, made: time.Now()}
	maps.Copy(v.config, in.Config)
	c.l.volumes[key] = v
	return c.settle(asyncProfiles, "Creating storage volume", madeAt(c.inProject("/1.0/storage-pools/"+key.pool+"/volumes/custom/"+in.Name)))
}

// volumeNamed is the volume in the path.
func (c *lxdCall) volumeNamed() (volumeKey, *reply) {
	_, bad := c.poolNamed()
	key := c.volumeKey(c.vars["volume"])
	if bad == nil && c.l.volumes[key] == nil {
		missing := lxdMissing("Storage volume")
		bad = &missing
	}
	return key, bad
}

func readVolume(c *lxdCall) reply {
	key, bad := c.volumeNamed()
	if bad != nil {
		return *bad
	}
	view := c.volumeView(key)
	return tagged(view, key.name, view.Type, view.Config)
}

// putVolume changes what is said of the volume, and its size: a block volume
// does not shrink.
func putVolume(c *lxdCall) reply {
	key, bad := c.volumeNamed()
	if bad == nil {
		view := c.volumeView(key)
		bad = c.unchanged(key.name, view.Type, view.Config)
	}
	var in api.StorageVolumePut
	if bad == nil {
		bad = c.read(&in)
	}
	if bad != nil {
		return *bad
	}
	v := c.l.volumes[key]
	size, err := readSize(in.Config["size"])
	users := c.l.users(key)
	switch {
	case err != nil:
		return lxdBad("%v", err)
	case size != 0 && size < v.sizeBytes:
		return lxdBroken("Block volumes cannot be shrunk")
	case size > v.sizeBytes && slices.ContainsFunc(users, func(i *instance) bool { return i.running }):
		return lxdBroken("In use")
	}
	v.description, v.config, v.sizeBytes = in.Description, map[string]string{}, or(size, v.sizeBytes)
	maps.Copy(v.config, in.Config)
	for _, i := range users {
		i.mean(c.w)
	}
	return c.settle(asyncProfiles, "Updating storage volume", done())
}

func deleteVolume(c *lxdCall) reply {
	key, bad := c.volumeNamed()
	switch {
	case bad != nil:
		return *bad
	case c.l.attached(key):
		return lxdBad("The storage volume is still in use")
	}
	delete(c.l.volumes, key)
	return c.settle(asyncProfiles, "Deleting storage volume", done())
}
