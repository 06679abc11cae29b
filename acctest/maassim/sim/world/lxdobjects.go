package world

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/boot"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd/daemon"
)

// LXDObjects are the objects of an LXD that MAAS does not read.
type LXDObjects struct {
	made        time.Time
	Config      map[string]string       // configuration of the server, without its address
	ProjectInfo map[string]*api.Project // by name
	Profiles    map[InProject]*api.Profile
	Networks    map[string]*api.Network // managed ones
	PoolInfo    map[string]*api.StoragePool
	Volumes     map[VolumeKey]*CustomVolume
	Operations  map[string]*Operation
	Watchers    map[*Watcher]bool // clients that watch events
	Identity    *Identity         // nil until the first use
}

// NewLXDObjects are the objects of a new LXD: none.
func NewLXDObjects() LXDObjects {
	return LXDObjects{
		made: time.Now(), Config: map[string]string{}, ProjectInfo: map[string]*api.Project{}, Profiles: map[InProject]*api.Profile{},
		Networks: map[string]*api.Network{}, PoolInfo: map[string]*api.StoragePool{}, Volumes: map[VolumeKey]*CustomVolume{},
		Operations: map[string]*Operation{}, Watchers: map[*Watcher]bool{},
	}
}

// InProject identifies an object of a project.
type InProject struct{ Project, Name string }

// VolumeKey identifies a custom volume. Each pool and project has its own.
type VolumeKey struct{ Pool, Project, Name string }

// CustomVolume is a block volume that is not the root disk of an instance.
type CustomVolume struct {
	SizeBytes   int64
	Description string
	Config      map[string]string
	CreatedAt   time.Time
	ComposedFor *Instance // the instance for which MAAS made it and with which MAAS removes it; nil for other volumes
}

// LXDFeatures are on in the project "default". They are also on in each project that does
// not switch them off, except for networks.
var LXDFeatures = []string{"features.images", "features.profiles", "features.storage.buckets", "features.storage.volumes"}

// InitProject gives a new project its features and its default profile.
func (l *LXD) InitProject(name string) {
	info := &api.Project{Name: name, Config: map[string]string{}}
	for _, feature := range LXDFeatures {
		info.Config[feature] = "true"
	}
	if name == "default" {
		info.Description = "Default LXD project"
		info.Config["features.networks"], info.Config["features.networks.zones"] = "true", "true"
	}
	l.ProjectInfo[name] = info
	l.AddProfile(name, "default")
}

// AddProfile makes an empty profile.
func (l *LXD) AddProfile(project, name string) *api.Profile {
	p := &api.Profile{Name: name, Config: map[string]string{}, Devices: map[string]map[string]string{}}
	if name == "default" {
		p.Description = "Default LXD profile"
		if project != "default" {
			p.Description += " for project " + project
		}
	}
	l.Profiles[InProject{project, name}] = p
	return p
}

// FillDefaultProfile adds the devices that "lxd init" makes: a root disk, and a NIC on the
// first bridge.
func (l *LXD) FillDefaultProfile() {
	p := l.Profiles[InProject{"default", "default"}]
	p.Devices["root"] = map[string]string{"type": "disk", "path": "/", "pool": l.DefaultPool()}
	if len(l.Subnets) > 0 {
		p.Devices["eth0"] = map[string]string{"type": "nic", "name": "eth0", "nictype": "bridged", "parent": l.InterfaceOn(l.Subnets[0])}
	}
}

// ApplyBoot copies the objects that user-data made.
func (l *LXD) ApplyBoot(b *boot.LXD) {
	for name, info := range l.ProjectInfo {
		maps.Copy(info.Config, b.Config["project "+name])
		info.Description = cmp.Or(b.Config["project "+name]["description"], info.Description)
	}
	for _, p := range l.Pools {
		info := l.EnsurePoolInfo(p.Name)
		maps.Copy(info.Config, b.Config["storage-pool "+p.Name])
	}
	for _, name := range b.Networks {
		l.Networks[name] = &api.Network{Name: name, Type: "bridge", Managed: true, Config: map[string]string{}}
		maps.Copy(l.Networks[name].Config, b.Config["network "+name])
	}
	for key, devices := range b.Profiles {
		project, name, _ := strings.Cut(key, "/")
		p := l.Profiles[InProject{project, name}]
		if p == nil {
			p = l.AddProfile(project, name)
		}
		maps.Copy(p.Config, b.Config["profile "+key])
		for device, settings := range devices {
			p.Devices[device] = daemon.ConfigTexts(settings)
		}
	}
}

// EnsurePoolInfo is the description of a storage pool. The first call makes it.
func (l *LXD) EnsurePoolInfo(name string) *api.StoragePool {
	if l.PoolInfo[name] == nil {
		l.PoolInfo[name] = &api.StoragePool{Name: name, Config: map[string]string{}}
	}
	return l.PoolInfo[name]
}

// OwnerProject is the project that holds a project's objects of a kind: "default" if the
// project's feature is off.
func (l *LXD) OwnerProject(project, feature string) string {
	info := l.ProjectInfo[project]
	if info == nil || info.Config[feature] != "true" {
		return "default"
	}
	return project
}

// Profile is a profile as a project sees it, or nil.
func (l *LXD) Profile(project, name string) *api.Profile {
	return l.Profiles[InProject{l.OwnerProject(project, "features.profiles"), name}]
}

// removeVolumesOf removes the volumes that MAAS made for an instance.
func (l *LXD) removeVolumesOf(i *Instance) {
	maps.DeleteFunc(l.Volumes, func(_ VolumeKey, v *CustomVolume) bool { return v.ComposedFor == i })
}

// HostInterface is a network interface of an LXD's machine.
type HostInterface struct {
	Name, MAC, Kind string // "bridge" or "physical"
	Subnet          *Subnet
	Addresses       []string
}

// HostInterfaces are the interfaces of the machine that MAAS knows, or that it would find.
func (l *LXD) HostInterfaces() (found []HostInterface) {
	m := l.Metal
	if m == nil {
		m = l.HostMachine
	}
	if m != nil {
		for _, n := range m.NICs {
			i := HostInterface{Name: n.Name, MAC: n.MAC, Kind: n.Kind, Subnet: m.World.SubnetOn(n.VLAN)}
			for _, k := range n.Links {
				if k.IP != "" {
					i.Addresses = append(i.Addresses, k.IP)
				}
			}
			found = append(found, i)
		}
	} else {
		found = append(found, HostInterface{Name: "eth0", MAC: l.MAC, Kind: "physical", Subnet: l.NICSubnet})
	}
	for _, n := range l.Subnets {
		if !slices.ContainsFunc(found, func(i HostInterface) bool { return i.MAC == l.BridgeMACs[n] }) {
			found = append(found, HostInterface{Name: "maasbr" + strconv.Itoa(n.VLAN.Fabric.ID), MAC: l.BridgeMACs[n], Kind: "bridge", Subnet: n})
		}
	}
	return found
}

// InterfaceOn is the machine's interface on a subnet. A bridge is preferred.
func (l *LXD) InterfaceOn(n *Subnet) string {
	all := l.HostInterfaces()
	for _, kind := range []string{"bridge", "physical"} {
		for _, i := range all {
			if i.Subnet == n && i.Kind == kind {
				return i.Name
			}
		}
	}
	return ""
}

// Watcher is a client that receives an LXD's events.
type Watcher struct {
	Project string // empty for all
	Types   []string
	Trust   daemon.Trust
	Queue   chan []byte
}

// Operation is a background operation of an LXD. LXD forgets it five seconds after its
// end.
type Operation struct {
	api.Operation
	Project string
	Begun   api.Operation // the operation in the answer of the call that began it
	Ended   chan struct{}
}
