package lxd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
)

// location is where the instance of a VM is.
type location struct {
	server   Server // with the project of the instance
	instance string
	macs     []string
}

func (p plan) location() location {
	return location{server: p.host.Server, instance: p.post.Name, macs: p.macs}
}

// HostOf implements engine.Composer. It asks three sources in turn:
//
// First the last inventory, however old. It counts if all hosts have answered and only one
// instance has the MACs and the name. VMs do not move by themselves, but a copy keeps the
// MACs.
//
// Then what this process has made or located.
//
// Last MAAS: which instance it turns the machine on by. This is one call for the machine,
// where asking the LXD servers would be several for each server. The answer is also valid
// if LXD is unreachable or the instance is gone.
func (c *Composer) HostOf(ctx context.Context, m engine.Machine) (engine.VMHost, error) {
	at, err := c.locateInstance(ctx, m)
	if err != nil {
		return engine.VMHost{}, err
	}
	return engine.VMHost{
		Name: at.server.Name, MachineID: at.server.MachineID, HostKey: at.server.MachineID,
		Zone: at.server.Zone, Pool: at.server.Pool, Tags: at.server.Tags, Project: at.server.Project,
	}, nil
}

func (c *Composer) locateInstance(ctx context.Context, m engine.Machine) (location, error) {
	all := c.cache.lastInventory()
	found := all.findLocations(machineMACs(m))
	believed, ok := c.knownLocation(m.SystemID)
	if ok && slices.ContainsFunc(found, believed.isSameInstance) {
		return believed, nil
	}
	if len(found) == 1 && found[0].instance == cmp.Or(believed.instance, m.Hostname) && all.isComplete() {
		c.knownLocations.Store(m.SystemID, found[0])
		return found[0], nil
	}
	if ok {
		return believed, nil
	}
	power, err := c.Enlister.PowerInstanceOf(ctx, m.SystemID)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return location{}, fmt.Errorf("%s is not an instance of an LXD server: %w", m.Hostname, engine.ErrConflict)
	case err != nil:
		return location{}, fmt.Errorf("cannot tell the host of %s: %w", m.Hostname, err)
	}
	at, err := c.locateByPower(ctx, m, power)
	if err != nil {
		return location{}, err
	}
	c.knownLocations.Store(m.SystemID, at)
	return at, nil
}

// knownLocation returns where this process has made a VM, or last found it.
func (c *Composer) knownLocation(systemID string) (location, bool) {
	at, ok := c.knownLocations.Load(systemID)
	if !ok {
		return location{}, false
	}
	return at.(location), true
}

// isComplete reports whether every server has shown what it has.
func (i *inventory) isComplete() bool {
	return i != nil && !slices.ContainsFunc(i.hosts, func(h serverSurvey) bool { return h.err != nil })
}

// instanceMatch is an instance with a MAC of a VM, and its host. It is the VM or a copy.
type instanceMatch struct {
	host     serverSurvey
	instance instance
}

func (m instanceMatch) location() location {
	server := m.host.Server
	server.Project = m.instance.project
	return location{server: server, instance: m.instance.name, macs: m.instance.macs}
}

// findInstances finds instances by MAC, or by one of the marks if no MACs are known. A copy
// has the MACs and the marks of its original, so there may be several.
func (i *inventory) findInstances(macs []string, marks ...string) []instanceMatch {
	if i == nil {
		return nil
	}
	var found []instanceMatch
	for _, h := range i.hosts {
		for _, each := range h.instances {
			if haveCommonElement(each.macs, macs) || len(macs) == 0 && each.hasMark(marks) {
				found = append(found, instanceMatch{h, each})
			}
		}
	}
	return found
}

// findLocations returns the locations of the instances that findInstances finds.
func (i *inventory) findLocations(macs []string, marks ...string) []location {
	var places []location
	for _, m := range i.findInstances(macs, marks...) {
		places = append(places, m.location())
	}
	return places
}

// locateByPower returns the server that MAAS uses to turn a machine on.
func (c *Composer) locateByPower(ctx context.Context, m engine.Machine, power engine.Instance) (location, error) {
	servers, err := c.Servers(ctx)
	if err != nil {
		return location{}, fmt.Errorf("cannot list the LXD servers: %w", err)
	}
	address, err := hostPort(power.Address)
	if err != nil {
		return location{}, fmt.Errorf("cannot tell the host of %s: %w", m.Hostname, err)
	}
	n := slices.IndexFunc(servers, func(s Server) bool {
		have, err := hostPort(s.Address)
		return err == nil && have == address
	})
	if n < 0 {
		return location{}, fmt.Errorf("%s is an instance of the LXD at %s, which is not one of the hosts: %w", m.Hostname, address, engine.ErrConflict)
	}
	server := servers[n]
	server.Project = cmp.Or(power.Project, defaultProject)
	return location{server: server, instance: power.Name, macs: machineMACs(m)}, nil
}

func machineMACs(m engine.Machine) []string {
	macs := make([]string, len(m.Interfaces))
	for n, i := range m.Interfaces {
		macs[n] = i.MAC
	}
	return macs
}

// haveCommonElement reports whether two lists share an element.
func haveCommonElement(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}
