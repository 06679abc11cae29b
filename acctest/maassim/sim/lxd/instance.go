package lxd

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

func instanceRoutes() (routes []Route) {
	for _, all := range []string{"1.0/instances", "1.0/virtual-machines"} {
		routes = append(routes,
			Route{http.MethodGet, all, AccessInProject, listInstances},
			Route{http.MethodPost, all, AccessInProject, createInstance},
			Route{http.MethodGet, all + "/{name}", AccessInProject, readInstance},
			Route{http.MethodPut, all + "/{name}", AccessInProject, putInstance},
			Route{http.MethodPatch, all + "/{name}", AccessInProject, patchInstance},
			Route{http.MethodPost, all + "/{name}", AccessInProject, renameInstance},
			Route{http.MethodDelete, all + "/{name}", AccessInProject, deleteInstance},
			Route{http.MethodGet, all + "/{name}/state", AccessInProject, readInstanceState},
			Route{http.MethodPut, all + "/{name}/state", AccessInProject, putInstanceState},
		)
	}
	return routes
}

func viewInstance(i *world.Instance) api.Instance {
	return api.Instance{
		Name: i.Name, Description: i.Description, Status: i.InstanceStatus().String(), StatusCode: i.InstanceStatus(), CreatedAt: i.CreatedAt,
		LastUsedAt: i.StartedAt, Location: "none", Type: world.VMType, Project: i.Project, Architecture: i.Server.KernelArchitecture(), Profiles: rest.NonNilList(i.Profiles),
		Config: i.LocalConfig(), Devices: i.Devices, ExpandedConfig: i.ExpandedConfig(), ExpandedDevices: i.ExpandedDevices(),
	}
}

// etagParts are the fields of an instance that can be changed.
func etagParts(i *world.Instance) []any {
	return []any{i.Server.KernelArchitecture(), i.LocalConfig(), i.Devices, false, i.Profiles}
}

// viewFull is the instance with its state.
func viewFull(i *world.Instance) api.InstanceFull {
	state := viewState(i)
	return api.InstanceFull{Instance: viewInstance(i), State: &state, Backups: []api.InstanceBackup{}, Snapshots: viewSnapshots(i)}
}

// viewState is the state that the host sees. Simulated guests have no agent, so it has no
// addresses.
func viewState(i *world.Instance) api.InstanceState {
	s := api.InstanceState{Status: i.InstanceStatus().String(), StatusCode: i.InstanceStatus(), Disk: map[string]api.InstanceStateDisk{}, Network: map[string]api.InstanceStateNetwork{}, Processes: -1}
	if !i.Running {
		s.Processes = 0
		return s
	}
	s.Pid = int64(10000 + i.Number)
	s.Memory = api.InstanceStateMemory{Usage: i.MemoryMiB << 19, Total: i.MemoryMiB << 20}
	for n, name := range i.NICNames {
		s.Network[name] = api.InstanceStateNetwork{
			Addresses: []api.InstanceStateNetworkAddress{}, Hwaddr: i.MACs[n], HostName: "tap" + i.UUID[:6] + strconv.Itoa(n),
			Mtu: 1500, State: "up", Type: "broadcast",
		}
	}
	return s
}

// visibleInstances are the instances that the call asks for.
func (c *Call) visibleInstances() (found []*world.Instance) {
	for _, project := range rest.SortedValues(world.ProjectNames(c.LXD)) {
		if c.trust.AllowsProject(project) && (c.wantsAllProjects() || project == c.Project) {
			found = append(found, c.LXD.Instances(project)...)
		}
	}
	slices.SortStableFunc(found, func(a, b *world.Instance) int { return strings.Compare(a.Project+"/"+a.Name, b.Project+"/"+b.Name) })
	if kind := c.Query.Get("instance-type"); kind != "" && kind != world.VMType {
		return nil
	}
	return found
}

func listInstances(c *Call) rest.Reply {
	paths, views, full := []string{}, []api.Instance{}, []api.InstanceFull{}
	for _, i := range c.visibleInstances() {
		switch c.recursion() {
		case "2":
			full = append(full, viewFull(i))
		case "1":
			views = append(views, viewInstance(i))
		default:
			paths = append(paths, (&Call{Project: i.Project}).inProject("/1.0/instances/"+i.Name))
		}
	}
	if c.recursion() == "2" {
		return syncReply(full)
	}
	return c.answerList(paths, views)
}

// instance is the instance in the path.
func (c *Call) instance() (*world.Instance, *rest.Reply) {
	i := c.LXD.Projects[c.Project][c.Vars["name"]]
	if i == nil {
		bad := notFoundReply("Instance")
		return nil, &bad
	}
	return i, nil
}

func readInstance(c *Call) rest.Reply {
	i, bad := c.instance()
	switch {
	case bad != nil:
		return *bad
	case c.recursion() == "1" || c.recursion() == "2":
		return taggedReply(viewFull(i), etagParts(i)...)
	}
	return taggedReply(viewInstance(i), etagParts(i)...)
}

func readInstanceState(c *Call) rest.Reply {
	i, bad := c.instance()
	if bad != nil {
		return *bad
	}
	return syncReply(viewState(i))
}
