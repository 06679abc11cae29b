package lxd

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

func snapshotRoutes() (routes []Route) {
	for _, all := range []string{"1.0/instances/{name}/snapshots", "1.0/virtual-machines/{name}/snapshots"} {
		routes = append(routes,
			Route{http.MethodGet, all, AccessInProject, listSnapshots},
			Route{http.MethodPost, all, AccessInProject, createSnapshot},
			Route{http.MethodGet, all + "/{snapshot}", AccessInProject, readSnapshot},
			Route{http.MethodDelete, all + "/{snapshot}", AccessInProject, deleteSnapshot},
		)
	}
	return routes
}

// viewSnapshot is a snapshot with the definition that the instance had then.
func viewSnapshot(i *world.Instance, s *world.Snapshot) api.InstanceSnapshot {
	then := world.Instance{Server: i.Server, Project: i.Project, Name: i.Name, MACs: s.MACs, Definition: s.Definition}
	return api.InstanceSnapshot{
		Name: s.Name, Architecture: i.Server.KernelArchitecture(), CreatedAt: s.Taken, ExpiresAt: s.Expires, LastUsedAt: s.StartedAt, Profiles: rest.NonNilList(s.Profiles),
		Config: then.LocalConfig(), Devices: s.Devices, ExpandedConfig: then.ExpandedConfig(), ExpandedDevices: then.ExpandedDevices(), Size: -1,
	}
}

func viewSnapshots(i *world.Instance) []api.InstanceSnapshot {
	views := []api.InstanceSnapshot{}
	for _, s := range i.Snapshots {
		views = append(views, viewSnapshot(i, s))
	}
	return views
}

func listSnapshots(c *Call) rest.Reply {
	i, bad := c.instance()
	if bad != nil {
		return *bad
	}
	paths := []string{}
	for _, s := range i.Snapshots {
		paths = append(paths, c.inProject("/1.0/instances/"+i.Name+"/snapshots/"+s.Name))
	}
	return c.answerList(paths, viewSnapshots(i))
}

// snapshotNamed is the snapshot in the path.
func snapshotNamed(c *Call) (*world.Instance, *world.Snapshot, *rest.Reply) {
	i := c.LXD.Projects[c.Project][c.Vars["name"]]
	if i != nil {
		if s := snapshotOf(i, c.Vars["snapshot"]); s != nil {
			return i, s, nil
		}
	}
	bad := ErrorReply(http.StatusNotFound, "Failed to fetch snapshot %q of instance %q in project %q: InstanceSnapshot not found", c.Vars["snapshot"], c.Vars["name"], c.Project)
	return nil, nil, &bad
}

func snapshotOf(i *world.Instance, name string) *world.Snapshot {
	n := slices.IndexFunc(i.Snapshots, func(s *world.Snapshot) bool { return s.Name == name })
	if n < 0 {
		return nil
	}
	return i.Snapshots[n]
}

func readSnapshot(c *Call) rest.Reply {
	i, s, bad := snapshotNamed(c)
	if bad != nil {
		return *bad
	}
	return taggedReply(viewSnapshot(i, s), s.Expires)
}

// createSnapshot saves the definition of an instance. The contents of its disks are not
// simulated.
func createSnapshot(c *Call) rest.Reply {
	i, bad := c.instance()
	var in api.InstanceSnapshotsPost
	if bad == nil {
		bad = c.readBody(&in)
	}
	if bad != nil {
		return *bad
	}
	if p := c.LXD.ProjectInfo[c.Project].Config; p["restricted"] == "true" && p["restricted.snapshots"] != "allow" {
		return InternalErrorReply("Project %q doesn't allow for snapshot creation", c.Project)
	}
	if in.Name == "" {
		in.Name = fmt.Sprintf("snap%d", len(i.Snapshots))
	}
	if problem := snapshotNameProblem(in.Name); problem != "" {
		return BadRequestReply("Invalid snapshot name: %s", problem)
	}
	return c.startInstanceTask("Snapshotting instance", i.Name, c.World.Latency.Compose/4, func() error { return takeSnapshot(c, i, in) })
}

// snapshotNameProblem is LXD's message about a name that cannot be a part of a path.
func snapshotNameProblem(name string) string {
	for _, char := range []string{"/", "?", "&", "+"} {
		if strings.Contains(name, char) {
			return fmt.Sprintf("Cannot contain %q", char)
		}
	}
	return ""
}

// takeSnapshot adds a snapshot, or returns an error.
func takeSnapshot(c *Call, i *world.Instance, in api.InstanceSnapshotsPost) error {
	switch {
	case in.Stateful:
		return operationError("Stateful stop requires migration.stateful to be set to true")
	case strings.Contains(in.Name, " "):
		return operationErrorf("Failed creating instance snapshot record %q: Invalid instance snapshot name: Cannot contain space or / characters", in.Name)
	case snapshotOf(i, in.Name) != nil:
		return operationErrorf(`Failed creating instance snapshot record %q: Add snapshot info to the database: This "instances_snapshots" entry already exists`, in.Name)
	}
	s := &world.Snapshot{Name: in.Name, Taken: time.Now(), MACs: slices.Clone(i.MACs), Definition: copyDefinition(i.Definition)}
	if in.ExpiresAt != nil {
		s.Expires = *in.ExpiresAt
	}
	i.Snapshots = append(i.Snapshots, s)
	if !s.Expires.IsZero() {
		c.World.AfterFunc(time.Until(s.Expires), func() { dropSnapshot(i, s) })
	}
	return nil
}

// copyDefinition is a deep copy of a definition.
func copyDefinition(d world.Definition) world.Definition {
	d.Profiles, d.Config, d.NICNames, d.OnStopped = slices.Clone(d.Profiles), maps.Clone(d.Config), slices.Clone(d.NICNames), nil
	devices := map[string]map[string]string{}
	for name, device := range d.Devices {
		devices[name] = maps.Clone(device)
	}
	d.Devices = devices
	return d
}

func dropSnapshot(i *world.Instance, s *world.Snapshot) {
	i.Snapshots = slices.DeleteFunc(i.Snapshots, func(each *world.Snapshot) bool { return each == s })
}

func deleteSnapshot(c *Call) rest.Reply {
	i, s, bad := snapshotNamed(c)
	if bad != nil {
		return *bad
	}
	return c.startInstanceTask("Deleting snapshot", i.Name, c.World.Latency.Delete, func() error { dropSnapshot(i, s); return nil })
}

// restoreSnapshot gives an instance the definition of a snapshot, with its description and
// volatile keys. A running instance is stopped before and started afterwards.
func restoreSnapshot(c *Call, i *world.Instance, name string) rest.Reply {
	return c.startInstanceTask("Restoring snapshot", i.Name, c.World.Latency.Compose/4, func() error {
		s := snapshotOf(i, name)
		if s == nil {
			return operationErrorf("Snapshot %s/%s does not exist", i.Name, name)
		}
		if err := busyError(i); err != nil {
			return err
		}
		kept := i.Definition
		i.Definition, i.MACs = copyDefinition(s.Definition), slices.Clone(s.MACs)
		i.CreatedAt, i.StartedAt, i.UUID, i.OnStopped = kept.CreatedAt, kept.StartedAt, kept.UUID, kept.OnStopped
		i.ApplyDefinition(c.World) // LXD checks for missing volumes only at the next start
		return nil
	})
}
