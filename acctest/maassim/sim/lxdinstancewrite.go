package sim

import (
	"maps"
	"slices"
	"time"

	"github.com/canonical/lxd/shared/api"
)

// busyError is LXD's word while another operation is under way.
func (i *instance) busyError() error {
	if i.busy == "" {
		return nil
	}
	return lxdErrorf("Instance is busy running a %q operation", i.busy)
}

// failing is an operation that fails at once.
func (c *lxdCall) failing(description, name string, err error) reply {
	return c.instanceTask(description, name, 0, func() error { return err })
}

// createInstance makes a VM without an image. What is wrong with it is found
// by the operation, as in LXD.
func createInstance(c *lxdCall) reply {
	var in api.InstancesPost
	if bad := c.read(&in); bad != nil {
		return *bad
	}
	in.Name = or(in.Name, c.w.randomName())
	switch {
	case in.Type != api.InstanceTypeVM:
		return lxdBad("maassim keeps virtual machines only, not %q", or(in.Type, api.InstanceTypeContainer))
	case in.Source.Type != api.SourceTypeNone:
		return lxdBad("maassim has no images: a source is none, not %q", in.Source.Type)
	case instanceNameProblem(in.Name) != "":
		return lxdBad("%s", instanceNameProblem(in.Name))
	}
	if in.Profiles == nil {
		in.Profiles = []string{"default"}
	}
	for _, name := range in.Profiles {
		if c.l.profile(c.project, name) == nil {
			return lxdRefused(404, "Requested profile %q doesn't exist", name)
		}
	}
	i, err := c.newInstance(in)
	if err != nil {
		return c.failing("Creating instance", in.Name, err)
	}
	return c.instanceTask("Creating instance", in.Name, c.w.model.Latency.Compose/2, func() error {
		i.busy = ""
		if in.Start {
			return c.start(i)
		}
		return nil
	})
}

// newInstance records the instance, or says what is wrong with it.
func (c *lxdCall) newInstance(in api.InstancesPost) (*instance, error) {
	l := c.l
	old := l.projects[c.project][in.Name]
	switch {
	case old != nil && old.busy == "create":
		return nil, lxdErrorf("Failed creating instance record: %v", old.busyError())
	case old != nil:
		return nil, lxdError(`Failed creating instance record: Add instance info to the database: This "instances" entry already exists`)
	}
	if problem := l.configProblem(in.Config); problem != "" {
		return nil, lxdErrorf("Failed creating instance record: %s", problem)
	}
	i := &instance{server: l, project: c.project, name: in.Name, number: c.w.nextID("instance"), busy: "create"}
	i.made, i.uuid = time.Now(), newRandomUUID()
	i.write(in.InstancePut)
	if err := i.devicesProblem(); err != nil {
		return nil, lxdErrorf("Failed creating instance record: %v", err)
	}
	l.projects[c.project][in.Name] = i
	i.mean(c.w)
	return i, nil
}

// write takes over a definition as it is given.
func (i *instance) write(in api.InstancePut) {
	i.description, i.profiles = in.Description, slices.Clone(in.Profiles)
	i.config, i.devices = map[string]string{}, map[string]map[string]string{}
	for key, value := range in.Config {
		ours := slices.Contains([]string{"volatile.uuid", "volatile.uuid.generation", "volatile.last_state.power"}, key)
		if value != "" && !ours {
			i.config[key] = value
		}
	}
	for name, d := range in.Devices {
		i.devices[name] = maps.Clone(d)
	}
}

// putInstance replaces the definition, in the background.
func putInstance(c *lxdCall) reply {
	i, bad := c.instance()
	if bad == nil {
		bad = c.unchanged(i.tag()...)
	}
	var in api.InstancePut
	if bad == nil {
		bad = c.read(&in)
	}
	if bad != nil {
		return *bad
	}
	return c.instanceTask("Updating instance", i.name, 0, func() error { return c.change(i, in) })
}

// patchInstance writes what is given on top of what is there, at once.
func patchInstance(c *lxdCall) reply {
	i, bad := c.instance()
	if bad == nil {
		bad = c.unchanged(i.tag()...)
	}
	if bad != nil {
		return *bad
	}
	view := i.view()
	in := view.Writable()
	in.Devices = maps.Clone(in.Devices)
	if bad := c.read(&in); bad != nil { // JSON objects merge into the maps
		return *bad
	}
	if err := c.change(i, in); err != nil {
		return lxdBroken("%v", err)
	}
	return done()
}

// change checks and applies a definition: all of it, or nothing.
func (c *lxdCall) change(i *instance, in api.InstancePut) error {
	if err := i.busyError(); err != nil {
		return err
	}
	for _, name := range in.Profiles {
		if c.l.profile(i.project, name) == nil {
			return lxdErrorf("Requested profile %q doesn't exist", name)
		}
	}
	if problem := c.l.configProblem(in.Config); problem != "" {
		return lxdError(problem)
	}
	before, disks, old := i.expandedConfig(), i.expandedDevices(), i.lxdDefinition
	i.write(in)
	err := i.devicesProblem()
	if err == nil {
		err = shrinkProblem(disks, i.expandedDevices())
	}
	if err == nil && i.running {
		err = i.liveProblem(before, i.expandedConfig())
	}
	if err != nil {
		i.lxdDefinition = old
		return err
	}
	i.mean(c.w)
	return nil
}

// renameInstance gives a stopped instance another name.
func renameInstance(c *lxdCall) reply {
	i, bad := c.instance()
	if bad != nil {
		return *bad
	}
	var in api.InstancePost
	if bad := c.read(&in); bad != nil {
		return *bad
	}
	switch {
	case in.Migration || in.Project != "" || in.Pool != "":
		return lxdBad("maassim moves no instances: only a name can be changed")
	case instanceNameProblem(in.Name) != "":
		return lxdBad("%s", instanceNameProblem(in.Name))
	case c.l.projects[c.project][in.Name] != nil:
		return lxdRefused(409, "Name %q already in use", in.Name)
	}
	return c.instanceTask("Renaming instance", i.name, 0, func() error {
		switch {
		case i.busy != "":
			return i.busyError()
		case i.running:
			return lxdError("Renaming of running instance not allowed")
		}
		delete(c.l.projects[i.project], i.name)
		i.name = in.Name
		c.l.projects[i.project][i.name] = i
		return nil
	})
}

// deleteInstance removes a stopped instance with its root disk; custom volumes
// stay.
func deleteInstance(c *lxdCall) reply {
	i, bad := c.instance()
	switch {
	case bad != nil:
		return *bad
	case i.running:
		return lxdBad("Instance is running")
	}
	if err := i.busyError(); err != nil {
		return c.failing("Deleting instance", i.name, err)
	}
	if i.expandedConfig()["security.protection.delete"] == "true" {
		return c.failing("Deleting instance", i.name, lxdError("Instance is protected"))
	}
	i.busy = "delete"
	return c.instanceTask("Deleting instance", i.name, c.w.model.Latency.Delete, func() error {
		i.busy = ""
		for _, v := range c.l.volumes {
			if v.by == i {
				v.by = nil // MAAS would have removed it
			}
		}
		c.l.remove(i)
		return nil
	})
}
