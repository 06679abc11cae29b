package driver

import (
	"cmp"
	"log"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// SyncInstances updates the known instances from LXD's current list.
func (r *Lent) SyncInstances() {
	if r.returned {
		return
	}
	l := r.server
	var listed []api.Instance
	if err := r.admin.call(http.MethodGet, "/1.0/instances?recursion=1&all-projects=true", nil, &listed); err != nil {
		log.Printf("maassim: the LXD %s: %v", l.Name, err)
		return
	}
	before := l.Projects
	l.Projects = map[string]map[string]*world.Instance{}
	for project := range before {
		l.Projects[project] = map[string]*world.Instance{}
	}
	for _, found := range listed {
		if l.Projects[found.Project] == nil {
			l.Projects[found.Project] = map[string]*world.Instance{}
			l.InitProject(found.Project)
		}
		l.Projects[found.Project][found.Name] = r.updateInstance(before, found)
	}
	r.world.MeasureUse(l)
}

// updateInstance updates a known instance, or makes a new one.
func (r *Lent) updateInstance(before map[string]map[string]*world.Instance, found api.Instance) *world.Instance {
	l, uuid := r.server, found.Config["volatile.uuid"]
	i := &world.Instance{Server: l, Definition: world.Definition{UUID: uuid, CreatedAt: found.CreatedAt}}
	for _, project := range before {
		for _, old := range project {
			if old.UUID == uuid {
				i = old
			}
		}
	}
	if i.Number == 0 {
		i.Number = r.world.NextID("instance")
	}
	i.Project, i.Name, i.Description, i.Profiles = found.Project, found.Name, found.Description, found.Profiles
	i.Config, i.Devices = found.Config, found.Devices
	if r.CanBoot() {
		i.Running = found.StatusCode == api.Running
	}
	i.Cores = world.CoresIn(found.ExpandedConfig["limits.cpu"])
	i.MemoryMiB = l.MemoryIn(found.ExpandedConfig["limits.memory"])
	r.readDevices(i, found)
	return i
}

// readDevices reads the disks and the NICs of an instance.
func (r *Lent) readDevices(i *world.Instance, found api.Instance) {
	l := r.server
	sizes := map[string]int64{}
	for n, v := range i.Disks {
		sizes[v.Source] = i.Disks[n].SizeBytes
	}
	i.Disks, i.NICNames, i.MACs, i.Subnets = nil, nil, nil, nil
	for _, name := range slices.Sorted(maps.Keys(found.ExpandedDevices)) {
		d := found.ExpandedDevices[name]
		switch {
		case d["type"] == "nic":
			mac := cmp.Or(d["hwaddr"], found.ExpandedConfig["volatile."+name+".hwaddr"])
			i.NICNames, i.MACs = append(i.NICNames, name), append(i.MACs, strings.ToLower(mac))
			i.Subnets = append(i.Subnets, l.SubnetOf(map[string]string{"parent": cmp.Or(d["parent"], d["network"])}))
		case world.IsRoot(d):
			i.Disks = slices.Insert(i.Disks, 0, world.Volume{SizeBytes: world.SizeOr(d["size"], world.VMDefaultDiskBytes), Pool: d["pool"]})
		case d["type"] == "disk" && d["pool"] != "":
			i.Disks = append(i.Disks, world.Volume{SizeBytes: r.volumeSize(i.Project, d), Pool: d["pool"], Source: d["source"]})
		}
	}
}

// volumeSize reads the size of a custom volume from LXD.
func (r *Lent) volumeSize(project string, d map[string]string) int64 {
	var v api.StorageVolume
	if err := r.admin.call(http.MethodGet, inProject("/1.0/storage-pools/"+d["pool"]+"/volumes/custom/"+d["source"], project), nil, &v); err != nil {
		return 0
	}
	return world.SizeOr(v.Config["size"], 0)
}

// Remove removes an instance by force, and its volumes after it, as MAAS's driver does
// (drivers/pod/lxd.py, decompose). If removing one fails, it stays.
func (r *Lent) Remove(i *world.Instance) {
	l := r.server
	if i.Running {
		r.SetRunning(i, false)
	}
	path := inProject("/1.0/instances/"+i.Name, i.Project)
	if err := r.admin.call(http.MethodDelete, path, nil, nil); err != nil {
		log.Printf("maassim: the LXD %s keeps %s: %v", l.Name, i.Name, err)
		return
	}
	delete(l.Projects[i.Project], i.Name)
	for _, v := range i.Disks {
		if v.Source != "" {
			// MAAS also leaves a volume that it cannot remove.
			_ = r.admin.call(http.MethodDelete, inProject("/1.0/storage-pools/"+v.Pool+"/volumes/custom/"+v.Source, i.Project), nil, nil)
		}
	}
}

// SetRunning starts or stops an instance.
func (r *Lent) SetRunning(i *world.Instance, on bool) {
	if !r.CanBoot() || r.returned {
		return
	}
	want := api.InstanceStatePut{Action: "start"}
	if !on {
		want = api.InstanceStatePut{Action: "stop", Force: true}
	}
	if err := r.admin.call(http.MethodPut, inProject("/1.0/instances/"+i.Name+"/state", i.Project), want, nil); err != nil {
		log.Printf("maassim: the LXD %s: %s: %v", i.Server.Name, i.Name, err)
	}
}
