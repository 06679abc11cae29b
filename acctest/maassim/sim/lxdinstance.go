package sim

import (
	"net/http"
	"slices"
	"strings"

	"github.com/canonical/lxd/shared/api"
)

func lxdInstanceRoutes() (routes []lxdRoute) {
	for _, all := range []string{"1.0/instances", "1.0/virtual-machines"} {
		routes = append(routes,
			lxdRoute{http.MethodGet, all, lxdInProject, listInstances},
			lxdRoute{http.MethodPost, all, lxdInProject, createInstance},
			lxdRoute{http.MethodGet, all + "/{name}", lxdInProject, readInstance},
			lxdRoute{http.MethodPut, all + "/{name}", lxdInProject, putInstance},
			lxdRoute{http.MethodPatch, all + "/{name}", lxdInProject, patchInstance},
			lxdRoute{http.MethodPost, all + "/{name}", lxdInProject, renameInstance},
			lxdRoute{http.MethodDelete, all + "/{name}", lxdInProject, deleteInstance},
			lxdRoute{http.MethodGet, all + "/{name}/state", lxdInProject, readInstanceState},
			lxdRoute{http.MethodPut, all + "/{name}/state", lxdInProject, putInstanceState},
		)
	}
	return routes
}

// status is the instance's power as LXD says it.
func (i *instance) status() api.StatusCode {
	if i.running {
		return api.Running
	}
	return api.Stopped
}

// vmType is the type of all instances here.
const vmType = string(api.InstanceTypeVM)

func (i *instance) view() api.Instance {
	return api.Instance{
		Name: i.name, Description: i.description, Status: i.status().String(), StatusCode: i.status(), CreatedAt: i.made,
		LastUsedAt: i.started, Location: "none", Type: vmType, Project: i.project, Architecture: "x86_64", Profiles: list(i.profiles),
		Config: i.localConfig(), Devices: i.devices, ExpandedConfig: i.expandedConfig(), ExpandedDevices: i.expandedDevices(),
	}
}

// tag is what of an instance can be changed.
func (i *instance) tag() []any {
	return []any{"x86_64", i.localConfig(), i.devices, false, i.profiles}
}

// full is the instance with its state.
func (i *instance) full() api.InstanceFull {
	state := i.state()
	return api.InstanceFull{Instance: i.view(), State: &state, Backups: []api.InstanceBackup{}, Snapshots: []api.InstanceSnapshot{}}
}

// state is what the host can see of the guest: as the simulated ones have no
// agent, no addresses.
func (i *instance) state() api.InstanceState {
	s := api.InstanceState{Status: i.status().String(), StatusCode: i.status(), Disk: map[string]api.InstanceStateDisk{}, Network: map[string]api.InstanceStateNetwork{}, Processes: -1}
	if !i.running {
		s.Processes = 0
		return s
	}
	s.Pid = int64(10000 + i.number)
	s.Memory = api.InstanceStateMemory{Usage: i.memoryMiB << 19, Total: i.memoryMiB << 20}
	for n, name := range i.nicNames {
		s.Network[name] = api.InstanceStateNetwork{
			Addresses: []api.InstanceStateNetworkAddress{}, Hwaddr: i.macs[n], HostName: "tap" + i.uuid[:6] + itoa(n),
			Mtu: 1500, State: "up", Type: "broadcast",
		}
	}
	return s
}

// visible are the instances that the call is about.
func (c *lxdCall) visible() (found []*instance) {
	for _, project := range sorted(projectNames(c.l)) {
		if c.trust.allows(project) && (c.everything() || project == c.project) {
			found = append(found, c.l.instances(project)...)
		}
	}
	slices.SortStableFunc(found, func(a, b *instance) int { return strings.Compare(a.project+"/"+a.name, b.project+"/"+b.name) })
	if kind := c.query.Get("instance-type"); kind != "" && kind != vmType {
		return nil
	}
	return found
}

func listInstances(c *lxdCall) reply {
	paths, views, full := []string{}, []api.Instance{}, []api.InstanceFull{}
	for _, i := range c.visible() {
		switch c.depth() {
		case "2":
			full = append(full, i.full())
		case "1":
			views = append(views, i.view())
		default:
			paths = append(paths, (&lxdCall{project: i.project}).inProject("/1.0/instances/"+i.name))
		}
	}
	if c.depth() == "2" {
		return synced(full)
	}
	return c.listed(paths, views)
}

// instance is the one in the path.
func (c *lxdCall) instance() (*instance, *reply) {
	i := c.l.projects[c.project][c.vars["name"]]
	if i == nil {
		bad := lxdMissing("Instance")
		return nil, &bad
	}
	return i, nil
}

func readInstance(c *lxdCall) reply {
	i, bad := c.instance()
	switch {
	case bad != nil:
		return *bad
	case c.depth() == "1" || c.depth() == "2":
		return tagged(i.full(), i.tag()...)
	}
	return tagged(i.view(), i.tag()...)
}

func readInstanceState(c *lxdCall) reply {
	i, bad := c.instance()
	if bad != nil {
		return *bad
	}
	return synced(i.state())
}
