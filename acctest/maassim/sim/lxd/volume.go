package lxd

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd/daemon"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

func volumeRoutes() []Route {
	const all = "1.0/storage-pools/{name}/volumes"
	return []Route{
		{http.MethodGet, all, AccessInProject, listVolumes},
		{http.MethodGet, all + "/custom", AccessInProject, listVolumes},
		{http.MethodPost, all, AccessInProject, createVolume},
		{http.MethodPost, all + "/custom", AccessInProject, createVolume},
		{http.MethodGet, all + "/custom/{volume}", AccessInProject, readVolume},
		{http.MethodPut, all + "/custom/{volume}", AccessInProject, putVolume},
		{http.MethodDelete, all + "/custom/{volume}", AccessInProject, deleteVolume},
	}
}

// volumeKey identifies a volume in the call's pool and project.
func volumeKey(c *Call, name string) world.VolumeKey {
	return world.VolumeKey{Pool: c.Vars["name"], Project: c.LXD.OwnerProject(c.Project, "features.storage.volumes"), Name: name}
}

// volumeUsers are the instances that a volume is attached to.
func volumeUsers(l *world.LXD, key world.VolumeKey) (found []*world.Instance) {
	for _, project := range rest.SortedValues(world.ProjectNames(l)) {
		if l.OwnerProject(project, "features.storage.volumes") != key.Project {
			continue
		}
		for _, i := range l.Instances(project) {
			for _, d := range i.ExpandedDevices() {
				if d["type"] == "disk" && d["pool"] == key.Pool && d["source"] == key.Name {
					found = append(found, i)
				}
			}
		}
	}
	return found
}

func isVolumeAttached(l *world.LXD, key world.VolumeKey) bool { return len(volumeUsers(l, key)) > 0 }

func volumeView(c *Call, key world.VolumeKey) api.StorageVolume {
	v := c.LXD.Volumes[key]
	view := api.StorageVolume{
		Name: key.Name, Description: v.Description, Type: "custom", Pool: key.Pool, ContentType: "block", Project: key.Project,
		Location: "none", CreatedAt: v.CreatedAt, Config: maps.Clone(v.Config), UsedBy: []string{},
	}
	view.Config["size"] = strconv.FormatInt(v.SizeBytes, 10)
	for _, i := range volumeUsers(c.LXD, key) {
		view.UsedBy = append(view.UsedBy, (&Call{Project: i.Project}).inProject("/1.0/instances/"+i.Name))
	}
	return view
}

func listVolumes(c *Call) rest.Reply {
	if _, bad := poolNamed(c); bad != nil {
		return *bad
	}
	names := map[string]world.VolumeKey{}
	for key := range c.LXD.Volumes {
		if volumeKey(c, key.Name) == key {
			names[key.Name] = key
		}
	}
	paths, views := []string{}, []api.StorageVolume{}
	for _, key := range rest.SortedValues(names) {
		paths = append(paths, c.inProject("/1.0/storage-pools/"+key.Pool+"/volumes/custom/"+key.Name))
		views = append(views, volumeView(c, key))
	}
	return c.answerList(paths, views)
}

func createVolume(c *Call) rest.Reply {
	if _, bad := poolNamed(c); bad != nil {
		return *bad
	}
	var in api.StorageVolumesPost
	if bad := c.readBody(&in); bad != nil {
		return *bad
	}
	key := volumeKey(c, in.Name)
	size, err := daemon.ReadSize(in.Config["size"])
	switch {
	case in.Name == "" || strings.ContainsAny(in.Name, "/ "):
		return BadRequestReply("Invalid storage volume name %q", in.Name)
	case in.Type != "" && in.Type != "custom", in.ContentType != "block":
		return BadRequestReply("maassim supports custom volumes with content type block only, not %q of %q", in.Type, in.ContentType)
	case err != nil:
		return BadRequestReply("%v", err)
	case c.LXD.Volumes[key] != nil:
		return conflictReply("Volume", in.Name)
	}
	v := &world.CustomVolume{SizeBytes: cmp.Or(size, world.VMDefaultDiskBytes), Description: in.Description, Config: map[string]string{}, CreatedAt: time.Now()}
	maps.Copy(v.Config, in.Config)
	c.LXD.Volumes[key] = v
	return c.answerChange(asyncProfiles, "Creating storage volume", createdReply(c.inProject("/1.0/storage-pools/"+key.Pool+"/volumes/custom/"+in.Name)))
}

// volumeNamed is the volume in the path.
func volumeNamed(c *Call) (world.VolumeKey, *rest.Reply) {
	_, bad := poolNamed(c)
	key := volumeKey(c, c.Vars["volume"])
	if bad == nil && c.LXD.Volumes[key] == nil {
		missing := notFoundReply("Storage volume")
		bad = &missing
	}
	return key, bad
}

func readVolume(c *Call) rest.Reply {
	key, bad := volumeNamed(c)
	if bad != nil {
		return *bad
	}
	view := volumeView(c, key)
	return taggedReply(view, key.Name, view.Type, view.Config)
}

// putVolume changes the description, the configuration and the size of a volume. A block
// volume cannot shrink.
func putVolume(c *Call) rest.Reply {
	key, bad := volumeNamed(c)
	if bad == nil {
		view := volumeView(c, key)
		bad = c.checkETag(key.Name, view.Type, view.Config)
	}
	var in api.StorageVolumePut
	if bad == nil {
		bad = c.readBody(&in)
	}
	if bad != nil {
		return *bad
	}
	v := c.LXD.Volumes[key]
	size, err := daemon.ReadSize(in.Config["size"])
	users := volumeUsers(c.LXD, key)
	switch {
	case err != nil:
		return BadRequestReply("%v", err)
	case size != 0 && size < v.SizeBytes:
		return InternalErrorReply("Block volumes cannot be shrunk")
	case size > v.SizeBytes && slices.ContainsFunc(users, func(i *world.Instance) bool { return i.Running }):
		return InternalErrorReply("In use")
	}
	v.Description, v.Config, v.SizeBytes = in.Description, map[string]string{}, cmp.Or(size, v.SizeBytes)
	maps.Copy(v.Config, in.Config)
	for _, i := range users {
		i.ApplyDefinition(c.World)
	}
	return c.answerChange(asyncProfiles, "Updating storage volume", doneReply())
}

func deleteVolume(c *Call) rest.Reply {
	key, bad := volumeNamed(c)
	switch {
	case bad != nil:
		return *bad
	case isVolumeAttached(c.LXD, key):
		return BadRequestReply("The storage volume is still in use")
	}
	delete(c.LXD.Volumes, key)
	return c.answerChange(asyncProfiles, "Deleting storage volume", doneReply())
}
