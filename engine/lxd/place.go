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

// HostOf implements engine.Composer. What this process has made or looked for
// it knows; then the last inventory tells by the MACs, however old it is: VMs
// do not move by themselves. Both are free. Only then is MAAS asked, by which
// instance it turns the machine on: one call for this machine, where asking the
// LXD servers would be several for each of them, and its answer holds also for
// an LXD that cannot be reached, and for an instance that is gone.
func (c *Composer) HostOf(ctx context.Context, m engine.Machine) (engine.VMHost, error) {
	at, err := c.placeOf(ctx, m)
	if err != nil {
		return engine.VMHost{}, err
	}
	return engine.VMHost{Name: at.server.Name, MachineID: at.server.MachineID, HostKey: at.server.MachineID}, nil
}

func (c *Composer) placeOf(ctx context.Context, m engine.Machine) (place, error) {
	if at, ok := c.known.Load(m.SystemID); ok {
		return at.(place), nil
	}
	at, ok := c.fleet.recent().place(macsIn(m))
	if !ok {
		power, err := c.Enlister.PowerOf(ctx, m.SystemID)
		switch {
		case errors.Is(err, engine.ErrNotFound):
			return place{}, fmt.Errorf("%s is no instance of an LXD: %w", m.Hostname, engine.ErrConflict)
		case err != nil:
			return place{}, fmt.Errorf("cannot tell the host of %s: %w", m.Hostname, err)
		}
		if at, err = c.placeAt(ctx, m, power); err != nil {
			return place{}, err
		}
	}
	c.known.Store(m.SystemID, at)
	return at, nil
}

// place finds an instance by its MACs.
func (i *inventory) place(macs []string) (place, bool) {
	if i == nil {
		return place{}, false
	}
	for _, h := range i.hosts {
		for _, found := range h.instances {
			if share(found.macs, macs) {
				server := h.Server
				server.Project = found.project
				return place{server: server, instance: found.name, macs: found.macs}, true
			}
		}
	}
	return place{}, false
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
