package sim

import (
	"log"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/canonical/lxd/shared/api"
)

// look makes what is known of the instances of a real LXD agree with what it
// lists now.
func (l *lxdServer) look() {
	if l.lent == nil || l.lent.given {
		return
	}
	var listed []api.Instance
	if err := l.lent.admin.do(http.MethodGet, "/1.0/instances?recursion=1&all-projects=true", nil, &listed); err != nil {
		log.Printf("maassim: the LXD %s: %v", l.name, err)
		return
	}
	before := l.projects
	l.projects = map[string]map[string]*instance{}
	for project := range before {
		l.projects[project] = map[string]*instance{}
	}
	for _, found := range listed {
		if l.projects[found.Project] == nil {
			l.projects[found.Project] = map[string]*instance{}
			l.describeProject(found.Project)
		}
		l.projects[found.Project][found.Name] = l.known(before, found)
	}
	l.lent.w.measure(l)
}

// known is the instance as it was known, with what has changed, or a new one.
func (l *lxdServer) known(before map[string]map[string]*instance, found api.Instance) *instance {
	uuid := found.Config["volatile.uuid"]
	i := &instance{server: l, lxdDefinition: lxdDefinition{uuid: uuid, made: found.CreatedAt}}
	for _, project := range before {
		for _, old := range project {
			if old.uuid == uuid {
				i = old
			}
		}
	}
	if i.number == 0 {
		i.number = l.lent.w.nextID("instance")
	}
	i.project, i.name, i.description, i.profiles = found.Project, found.Name, found.Description, found.Profiles
	i.config, i.devices = found.Config, found.Devices
	if l.lent.Boots() {
		i.running = found.StatusCode == api.Running
	}
	i.cores = coresIn(found.ExpandedConfig["limits.cpu"])
	i.memoryMiB = l.memoryIn(found.ExpandedConfig["limits.memory"])
	l.readDevices(i, found)
	return i
}

// readDevices reads the disks and the NICs of an instance.
func (l *lxdServer) readDevices(i *instance, found api.Instance) {
	sizes := map[string]int64{}
	for n, v := range i.disks {
		sizes[v.source] = i.disks[n].sizeBytes
	}
	i.disks, i.nicNames, i.macs, i.subnets = nil, nil, nil, nil
	for _, name := range slices.Sorted(maps.Keys(found.ExpandedDevices)) {
		d := found.ExpandedDevices[name]
		switch {
		case d["type"] == "nic":
			mac := or(d["hwaddr"], found.ExpandedConfig["volatile."+name+".hwaddr"])
			i.nicNames, i.macs = append(i.nicNames, name), append(i.macs, strings.ToLower(mac))
			i.subnets = append(i.subnets, l.subnetOf(map[string]string{"parent": or(d["parent"], d["network"])}))
		case isRoot(d):
			i.disks = slices.Insert(i.disks, 0, volume{sizeBytes: sizeOr(d["size"], vmDefaultDisk), pool: d["pool"]})
		case d["type"] == "disk" && d["pool"] != "":
			i.disks = append(i.disks, volume{sizeBytes: l.volumeSize(i.project, d), pool: d["pool"], source: d["source"]})
		}
	}
}

// volumeSize asks for the size of a custom volume.
func (l *lxdServer) volumeSize(project string, d map[string]string) int64 {
	var v api.StorageVolume
	if err := l.lent.admin.do(http.MethodGet, inLXDProject("/1.0/storage-pools/"+d["pool"]+"/volumes/custom/"+d["source"], project), nil, &v); err != nil {
		return 0
	}
	return sizeOr(v.Config["size"], 0)
}

// removeReal removes an instance, as MAAS's driver does (drivers/pod/lxd.py,
// decompose): by force, and its volumes after it. What fails stays.
func (l *lxdServer) removeReal(i *instance) {
	if i.running {
		i.turnReal(false)
	}
	path := inLXDProject("/1.0/instances/"+i.name, i.project)
	if err := l.lent.admin.do(http.MethodDelete, path, nil, nil); err != nil {
		log.Printf("maassim: the LXD %s keeps %s: %v", l.name, i.name, err)
		return
	}
	delete(l.projects[i.project], i.name)
	for _, v := range i.disks {
		if v.source != "" {
			// MAAS leaves a volume that it cannot remove, too.
			_ = l.lent.admin.do(http.MethodDelete, inLXDProject("/1.0/storage-pools/"+v.pool+"/volumes/custom/"+v.source, i.project), nil, nil)
		}
	}
}

// turn starts or stops an instance, at once. Where the VMs of a real LXD cannot be
// started, they are taken as it.
func (i *instance) turn(on bool) {
	i.busy = ""
	if i.running != on && i.server.lent != nil && i.server.lent.Boots() {
		i.turnReal(on)
	}
	i.running = on
}

func (i *instance) turnReal(on bool) {
	if !i.server.lent.Boots() || i.server.lent.given {
		return
	}
	want := api.InstanceStatePut{Action: "start"}
	if !on {
		want = api.InstanceStatePut{Action: "stop", Force: true}
	}
	if err := i.server.lent.admin.do(http.MethodPut, inLXDProject("/1.0/instances/"+i.name+"/state", i.project), want, nil); err != nil {
		log.Printf("maassim: the LXD %s: %s: %v", i.server.name, i.name, err)
	}
}
