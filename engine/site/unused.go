package site

import (
	"context"
	"errors"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
)

// isOnlyMAASs tells of a VM whose host LXD's maker does not know that it is on a VM
// host of MAAS: somebody registered that one in MAAS, and MAAS made the VM. So MAAS
// takes its instance along.
func (c *choice) isOnlyMAASs(m maker, vm engine.Machine, err error) bool {
	return m == c.lxd && vm.HostID != 0 && errors.Is(err, engine.ErrConflict)
}

// ofHost is who knows a host: MAAS, whoever is chosen, if it is one of its VM hosts.
func (c *choice) ofHost(m maker, host engine.VMHost) maker {
	if host.ID != 0 {
		return c.maas
	}
	return m
}

// UnusedHosts names the VM hosts of MAAS on which no VMs are made: LXD was chosen to
// make them, although MAAS could, and nobody noted those hosts for that.
func (s *Site) UnusedHosts(ctx context.Context) ([]string, error) {
	if s.choice.wanted != LXD {
		return nil, nil
	}
	all, err := s.choice.maas.composer.Hosts(ctx)
	if errors.Is(err, engine.ErrGone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	used, err := s.choice.lxd.composer.Hosts(ctx)
	if err != nil {
		return nil, err
	}
	var unused []string
	for _, h := range all {
		isUsed := func(u engine.VMHost) bool { return u.MachineID == h.MachineID && h.MachineID != "" }
		if !slices.ContainsFunc(used, isUsed) {
			unused = append(unused, h.Name)
		}
	}
	slices.Sort(unused)
	return unused, nil
}
