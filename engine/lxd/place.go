package lxd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
)

// place is where a VM is.
type place struct {
	server   Server // with the project of the instance
	instance string
	macs     []string
}

func (p plan) place() place {
	return place{server: p.host.Server, instance: p.post.Name, macs: p.macs}
}

// HostOf implements engine.Composer. The last inventory tells by the MACs and the
// name, however old it is, where all hosts have answered and one instance alone has
// them: VMs do not move by themselves, but a copy keeps the MACs. Then this process
// knows what it has made or looked for. Both are free. Only then is MAAS asked, by
// which instance it turns the machine on: one call for this machine, where asking the
// LXD servers would be several for each of them, and its answer holds also for an LXD
// that cannot be reached, and for an instance that is gone.
func (c *Composer) HostOf(ctx context.Context, m engine.Machine) (engine.VMHost, error) {
	at, err := c.placeOf(ctx, m)
	if err != nil {
		return engine.VMHost{}, err
	}
	return engine.VMHost{
		Name: at.server.Name, MachineID: at.server.MachineID, HostKey: at.server.MachineID,
		Zone: at.server.Zone, Pool: at.server.Pool, Tags: at.server.Tags, Project: at.server.Project,
	}, nil
}

func (c *Composer) placeOf(ctx context.Context, m engine.Machine) (place, error) {
	all := c.fleet.recent()
	found := all.places(macsIn(m))
	believed, ok := c.knows(m.SystemID)
	if ok && slices.ContainsFunc(found, believed.same) {
		return believed, nil
	}
	if len(found) == 1 && found[0].instance == cmp.Or(believed.instance, m.Hostname) && all.answered() {
		c.known.Store(m.SystemID, found[0])
		return found[0], nil
	}
	if ok {
		return believed, nil
	}
	power, err := c.Enlister.PowerOf(ctx, m.SystemID)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return place{}, fmt.Errorf("%s is no instance of an LXD: %w", m.Hostname, engine.ErrConflict)
	case err != nil:
		return place{}, fmt.Errorf("cannot tell the host of %s: %w", m.Hostname, err)
	}
	at, err := c.placeAt(ctx, m, power)
	if err != nil {
		return place{}, err
	}
	c.known.Store(m.SystemID, at)
	return at, nil
}

// knows is where this process has made a VM, or found it last.
func (c *Composer) knows(systemID string) (place, bool) {
	at, ok := c.known.Load(systemID)
	if !ok {
		return place{}, false
	}
	return at.(place), true
}

// answered tells that every server has shown what it has.
func (i *inventory) answered() bool {
	return i != nil && !slices.ContainsFunc(i.hosts, func(h seen) bool { return h.err != nil })
}

// match is an instance that has a MAC of a VM, and its host: the VM, or a copy.
type match struct {
	host     seen
	instance instance
}

func (m match) place() place {
	server := m.host.Server
	server.Project = m.instance.project
	return place{server: server, instance: m.instance.name, macs: m.instance.macs}
}

// find finds instances by their MACs, or, where none are known, by one of the
// marks. A copy has both of what it was copied from, so there may be several.
func (i *inventory) find(macs []string, marks ...string) []match {
	if i == nil {
		return nil
	}
	var found []match
	for _, h := range i.hosts {
		for _, each := range h.instances {
			if share(each.macs, macs) || len(macs) == 0 && each.marked(marks) {
				found = append(found, match{h, each})
			}
		}
	}
	return found
}

// places are where the instances are that find finds.
func (i *inventory) places(macs []string, marks ...string) []place {
	var places []place
	for _, m := range i.find(macs, marks...) {
		places = append(places, m.place())
	}
	return places
}

// placeAt finds the server that MAAS turns a machine on by.
func (c *Composer) placeAt(ctx context.Context, m engine.Machine, power engine.Instance) (place, error) {
	servers, err := c.Servers(ctx)
	if err != nil {
		return place{}, fmt.Errorf("cannot list the LXD servers: %w", err)
	}
	address, err := hostPort(power.Address)
	if err != nil {
		return place{}, fmt.Errorf("cannot tell the host of %s: %w", m.Hostname, err)
	}
	n := slices.IndexFunc(servers, func(s Server) bool {
		have, err := hostPort(s.Address)
		return err == nil && have == address
	})
	if n < 0 {
		return place{}, fmt.Errorf("%s is an instance of the LXD at %s, which is none of the hosts: %w", m.Hostname, address, engine.ErrConflict)
	}
	server := servers[n]
	server.Project = cmp.Or(power.Project, defaultProject)
	return place{server: server, instance: power.Name, macs: macsIn(m)}, nil
}

func macsIn(m engine.Machine) []string {
	macs := make([]string, len(m.Interfaces))
	for n, i := range m.Interfaces {
		macs[n] = i.MAC
	}
	return macs
}

// share tells that two lists have something in common.
func share(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}
