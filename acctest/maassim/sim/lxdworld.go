package sim

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/canonical/lxd/shared/api"
)

// lxdWorld is what an LXD holds that MAAS does not look at.
type lxdWorld struct {
	made        time.Time
	config      map[string]string       // of the server, without its address
	projectInfo map[string]*api.Project // by name
	profiles    map[inProject]*api.Profile
	networks    map[string]*api.Network // managed ones
	poolInfo    map[string]*api.StoragePool
	volumes     map[volumeKey]*customVolume
	operations  map[string]*operation
	watchers    map[*watcher]bool // who listens to events
	identity    *identity         // nil until somebody asks
}

func newLXDWorld() lxdWorld {
	return lxdWorld{
		made: time.Now(), config: map[string]string{}, projectInfo: map[string]*api.Project{}, profiles: map[inProject]*api.Profile{},
		networks: map[string]*api.Network{}, poolInfo: map[string]*api.StoragePool{}, volumes: map[volumeKey]*customVolume{},
		operations: map[string]*operation{}, watchers: map[*watcher]bool{},
	}
}

// inProject names an object of a project.
type inProject struct{ project, name string }

// volumeKey names a custom volume: each pool and project has its own.
type volumeKey struct{ pool, project, name string }

// customVolume is a block volume beside the root disk of an instance.
type customVolume struct {
	sizeBytes   int64
	description string
	config      map[string]string
	made        time.Time
	by          *instance // whose volume MAAS made, and removes with it; nil for others
}

// lxdFeatures are on in the project "default", and in each project that does
// not say otherwise, but for networks.
var lxdFeatures = []string{"features.images", "features.profiles", "features.storage.buckets", "features.storage.volumes"}

// describeProject gives a new project its features and its default profile.
func (l *lxdServer) describeProject(name string) {
	info := &api.Project{Name: name, Config: map[string]string{}}
	for _, feature := range lxdFeatures {
		info.Config[feature] = "true"
	}
	if name == "default" {
		info.Description = "Default LXD project"
		info.Config["features.networks"], info.Config["features.networks.zones"] = "true", "true"
	}
	l.projectInfo[name] = info
	l.addProfile(name, "default")
}

func (l *lxdServer) addProfile(project, name string) *api.Profile {
	p := &api.Profile{Name: name, Config: map[string]string{}, Devices: map[string]map[string]string{}}
	if name == "default" {
		p.Description = "Default LXD profile"
		if project != "default" {
			p.Description += " for project " + project
		}
	}
	l.profiles[inProject{project, name}] = p
	return p
}

// furnishDefaultProfile is what "lxd init" leaves: a root disk, and a NIC on
// the first bridge.
func (l *lxdServer) furnishDefaultProfile() {
	p := l.profiles[inProject{"default", "default"}]
	p.Devices["root"] = map[string]string{"type": "disk", "path": "/", "pool": l.defaultPool()}
	if len(l.subnets) > 0 {
		p.Devices["eth0"] = map[string]string{"type": "nic", "name": "eth0", "nictype": "bridged", "parent": l.interfaceOn(l.subnets[0])}
	}
}

// furnish takes over what user-data made.
func (l *lxdServer) furnish(b *bootedLXD) {
	for name, info := range l.projectInfo {
		maps.Copy(info.Config, b.config["project "+name])
		info.Description = or(b.config["project "+name]["description"], info.Description)
	}
	for _, p := range l.pools {
		info := l.pool(p.Name)
		maps.Copy(info.Config, b.config["storage-pool "+p.Name])
	}
	for _, name := range b.networks {
		l.networks[name] = &api.Network{Name: name, Type: "bridge", Managed: true, Config: map[string]string{}}
		maps.Copy(l.networks[name].Config, b.config["network "+name])
	}
	for key, devices := range b.profiles {
		project, name, _ := strings.Cut(key, "/")
		p := l.profiles[inProject{project, name}]
		if p == nil {
			p = l.addProfile(project, name)
		}
		maps.Copy(p.Config, b.config["profile "+key])
		for device, settings := range devices {
			p.Devices[device] = texts(settings)
		}
	}
}

// pool is what is said of a storage pool, made with the first look.
func (l *lxdServer) pool(name string) *api.StoragePool {
	if l.poolInfo[name] == nil {
		l.poolInfo[name] = &api.StoragePool{Name: name, Config: map[string]string{}}
	}
	return l.poolInfo[name]
}

// owner is the project that holds what a project shares with "default" where
// the feature is off.
func (l *lxdServer) owner(project, feature string) string {
	info := l.projectInfo[project]
	if info == nil || info.Config[feature] != "true" {
		return "default"
	}
	return project
}

// profile is a profile as a project sees it, nil for none.
func (l *lxdServer) profile(project, name string) *api.Profile {
	return l.profiles[inProject{l.owner(project, "features.profiles"), name}]
}

// removeVolumesOf removes the disks that MAAS made for an instance.
func (l *lxdServer) removeVolumesOf(i *instance) {
	maps.DeleteFunc(l.volumes, func(_ volumeKey, v *customVolume) bool { return v.by == i })
}

// hostInterface is a network interface of an LXD's machine.
type hostInterface struct {
	name, mac, kind string // "bridge" or "physical"
	subnet          *subnet
	addresses       []string
}

// interfaces are those that MAAS knows of the machine, or what it would find.
func (l *lxdServer) interfaces() (found []hostInterface) {
	m := l.metal
	if m == nil {
		m = l.hostMachine
	}
	if m != nil {
		for _, n := range m.nics {
			i := hostInterface{name: n.name, mac: n.mac, kind: n.kind, subnet: m.w.subnetOn(n.vlan)}
			for _, k := range n.links {
				if k.ip != "" {
					i.addresses = append(i.addresses, k.ip)
				}
			}
			found = append(found, i)
		}
	} else {
		found = append(found, hostInterface{name: "eth0", mac: l.mac, kind: "physical", subnet: l.nicSubnet})
	}
	for _, n := range l.subnets {
		if !slices.ContainsFunc(found, func(i hostInterface) bool { return i.mac == l.bridgeMACs[n] }) {
			found = append(found, hostInterface{name: "maasbr" + itoa(n.vlan.fabric.id), mac: l.bridgeMACs[n], kind: "bridge", subnet: n})
		}
	}
	return found
}

// interfaceOn is the interface of the machine on a subnet: a bridge, if there
// is one.
func (l *lxdServer) interfaceOn(n *subnet) string {
	all := l.interfaces()
	for _, kind := range []string{"bridge", "physical"} {
		for _, i := range all {
			if i.subnet == n && i.kind == kind {
				return i.name
			}
		}
	}
	return ""
}
