package site

import (
	"context"
	"errors"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
)

// UnusedHosts names the VM hosts of MAAS on which no VMs are made. That happens if LXD was
// chosen although MAAS has VM hosts, and if nobody noted those hosts for it.
func (s *Site) UnusedHosts(ctx context.Context) ([]string, error) {
	if s.choice.wanted != LXD {
		return nil, nil
	}
	all, err := s.choice.listHosts(ctx)
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
