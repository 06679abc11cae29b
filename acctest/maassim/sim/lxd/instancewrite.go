package lxd

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// busyError is LXD's error while another operation is under way.
func busyError(i *world.Instance) error {
	if i.Busy == "" {
		return nil
	}
	return operationErrorf("Instance is busy running a %q operation", i.Busy)
}

// failTask starts an operation that fails at once.
func (c *Call) failTask(description, name string, err error) rest.Reply {
	return c.startInstanceTask(description, name, 0, func() error { return err })
}

// createInstance makes a VM without an image. As in LXD, the operation reports what is
// wrong with it.
func createInstance(c *Call) rest.Reply {
	var in api.InstancesPost
	if bad := c.readBody(&in); bad != nil {
		return *bad
	}
	in.Name = cmp.Or(in.Name, c.World.RandomName())
	switch {
	case in.Type != api.InstanceTypeVM:
		return BadRequestReply("maassim simulates virtual machines only, not %q", cmp.Or(in.Type, api.InstanceTypeContainer))
	case in.Source.Type != api.SourceTypeNone:
		return BadRequestReply("maassim has no images: the type of the source must be none, not %q", in.Source.Type)
	case rest.InstanceNameProblem(in.Name) != "":
		return BadRequestReply("%s", rest.InstanceNameProblem(in.Name))
	}
	if in.Profiles == nil {
		in.Profiles = []string{"default"}
	}
	for _, name := range in.Profiles {
		if c.LXD.Profile(c.Project, name) == nil {
			return ErrorReply(404, "Requested profile %q doesn't exist", name)
		}
	}
	i, err := c.newInstance(in)
	if err != nil {
		return c.failTask("Creating instance", in.Name, err)
	}
	return c.startInstanceTask("Creating instance", in.Name, c.World.Latency.Compose/2, func() error {
		i.Busy = ""
		if in.Start {
			return c.startNow(i)
		}
		return nil
	})
}

// newInstance adds the instance, or returns what is wrong with it.
func (c *Call) newInstance(in api.InstancesPost) (*world.Instance, error) {
	l := c.LXD
	old := l.Projects[c.Project][in.Name]
	switch {
	case old != nil && old.Busy == "create":
		return nil, operationErrorf("Failed creating instance record: %v", busyError(old))
	case old != nil:
		return nil, operationError(`Failed creating instance record: Add instance info to the database: This "instances" entry already exists`)
	}
	if in.Architecture != "" && !slices.Contains(l.KernelArchitectures(), in.Architecture) {
		return nil, operationError("Failed creating instance record: Requested architecture isn't supported by this host")
	}
	if problem := configProblem(l, in.Config); problem != "" {
		return nil, operationErrorf("Failed creating instance record: %s", problem)
	}
	i := &world.Instance{Server: l, Project: c.Project, Name: in.Name, Number: c.World.NextID("instance"), Busy: "create"}
	i.CreatedAt, i.UUID = time.Now(), world.NewRandomUUID()
	writeDefinition(i, in.InstancePut)
	if err := devicesError(i); err != nil {
		return nil, operationErrorf("Failed creating instance record: %v", err)
	}
	l.Projects[c.Project][in.Name] = i
	i.ApplyDefinition(c.World)
	return i, nil
}

// writeDefinition copies a definition as it is given.
func writeDefinition(i *world.Instance, in api.InstancePut) {
	i.Description, i.Profiles = in.Description, slices.Clone(in.Profiles)
	i.Config, i.Devices = map[string]string{}, map[string]map[string]string{}
	for key, value := range in.Config {
		ours := slices.Contains([]string{"volatile.uuid", "volatile.uuid.generation", "volatile.last_state.power"}, key)
		if value != "" && !ours {
			i.Config[key] = value
		}
	}
	for name, d := range in.Devices {
		i.Devices[name] = maps.Clone(d)
	}
}

// putInstance replaces the definition in the background.
func putInstance(c *Call) rest.Reply {
	i, bad := c.instance()
	if bad == nil {
		bad = c.checkETag(etagParts(i)...)
	}
	var in api.InstancePut
	if bad == nil {
		bad = c.readBody(&in)
	}
	if bad != nil {
		return *bad
	}
	if in.Restore != "" {
		return restoreSnapshot(c, i, in.Restore)
	}
	return c.startInstanceTask("Updating instance", i.Name, 0, func() error { return c.changeInstance(i, in) })
}

// patchInstance merges the given values into the definition at once.
func patchInstance(c *Call) rest.Reply {
	i, bad := c.instance()
	if bad == nil {
		bad = c.checkETag(etagParts(i)...)
	}
	if bad != nil {
		return *bad
	}
	view := viewInstance(i)
	in := view.Writable()
	in.Devices = maps.Clone(in.Devices)
	if bad := c.readBody(&in); bad != nil { // JSON objects merge into the maps
		return *bad
	}
	if err := c.changeInstance(i, in); err != nil {
		return InternalErrorReply("%v", err)
	}
	return doneReply()
}

// changeInstance checks a definition and applies it completely, or not at all.
func (c *Call) changeInstance(i *world.Instance, in api.InstancePut) error {
	if err := busyError(i); err != nil {
		return err
	}
	for _, name := range in.Profiles {
		if c.LXD.Profile(i.Project, name) == nil {
			return operationErrorf("Requested profile %q doesn't exist", name)
		}
	}
	if problem := configProblem(c.LXD, in.Config); problem != "" {
		return operationError(problem)
	}
	before, disks, old := i.ExpandedConfig(), i.ExpandedDevices(), i.Definition
	writeDefinition(i, in)
	err := devicesError(i)
	if err == nil {
		err = shrinkError(disks, i.ExpandedDevices())
	}
	if err == nil && i.Running {
		err = cmp.Or(hotPlugError(disks, i.ExpandedDevices()), liveChangeError(i, before, i.ExpandedConfig()))
	}
	if err == nil && i.Running {
		err = plugError(i, disks)
	}
	if err != nil {
		i.Definition = old
		return err
	}
	i.ApplyDefinition(c.World)
	return nil
}

// renameInstance renames a stopped instance.
func renameInstance(c *Call) rest.Reply {
	i, bad := c.instance()
	if bad != nil {
		return *bad
	}
	var in api.InstancePost
	if bad := c.readBody(&in); bad != nil {
		return *bad
	}
	switch {
	case in.Migration || in.Project != "" || in.Pool != "":
		return BadRequestReply("maassim cannot move instances: only the name can be changed")
	case rest.InstanceNameProblem(in.Name) != "":
		return BadRequestReply("%s", rest.InstanceNameProblem(in.Name))
	case c.LXD.Projects[c.Project][in.Name] != nil:
		return ErrorReply(409, "Name %q already in use", in.Name)
	}
	return c.startInstanceTask("Renaming instance", i.Name, 0, func() error {
		switch {
		case i.Busy != "":
			return busyError(i)
		case i.Running:
			return operationError("Renaming of running instance not allowed")
		}
		delete(c.LXD.Projects[i.Project], i.Name)
		i.Name = in.Name
		c.LXD.Projects[i.Project][i.Name] = i
		return nil
	})
}

// deleteInstance removes a stopped instance with its root disk. Custom volumes stay.
func deleteInstance(c *Call) rest.Reply {
	i, bad := c.instance()
	switch {
	case bad != nil:
		return *bad
	case i.Running:
		return BadRequestReply("Instance is running")
	}
	if err := busyError(i); err != nil {
		return c.failTask("Deleting instance", i.Name, err)
	}
	if i.ExpandedConfig()["security.protection.delete"] == "true" {
		return c.failTask("Deleting instance", i.Name, operationError("Instance is protected"))
	}
	i.Busy = "delete"
	return c.startInstanceTask("Deleting instance", i.Name, c.World.Latency.Delete, func() error {
		i.Busy = ""
		for _, v := range c.LXD.Volumes {
			if v.ComposedFor == i {
				v.ComposedFor = nil // MAAS itself would have removed the volume
			}
		}
		c.LXD.Remove(i)
		return nil
	})
}
