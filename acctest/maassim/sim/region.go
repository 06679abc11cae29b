package sim

import (
	"cmp"
	"fmt"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// region is the simulated MAAS that all parts of a simulator act on.
type region struct {
	model  Model
	keeper *world.Keeper
	world  *world.World // the current world; a reset replaces it
}

// findMachine finds a machine by system id or hostname.
func (r *region) findMachine(name string) (*world.Machine, error) {
	w := r.world
	if m := w.Machines[name]; m != nil {
		return m, nil
	}
	if m := w.MachineNamed(name); m != nil {
		return m, nil
	}
	return nil, fmt.Errorf("no machine %q", name)
}

// findLXD finds an LXD by the name of a host in the model, of a VM host, or by
// address.
func (r *region) findLXD(name string) (*world.LXD, error) {
	for _, m := range r.model.Hosts {
		if m.Name == name {
			return r.world.LXDAt(m.Address), nil
		}
	}
	if h := r.world.HostNamed(name); h != nil && h.Server() != nil {
		return h.Server(), nil
	}
	for _, l := range r.world.LXDs {
		if l.Metal != nil && l.Metal.IsNamed(name) {
			return l, nil
		}
	}
	if l := r.world.LXDAt(name); l != nil {
		return l, nil
	}
	return nil, fmt.Errorf("no LXD %q", name)
}

func (r *region) projectOf(host string) string {
	for _, m := range r.model.Hosts {
		if m.Name == host {
			return m.Project
		}
	}
	if h := r.world.HostNamed(host); h != nil {
		return h.BMC.Project
	}
	return "default"
}

func (r *region) findInstance(host, project, name string) (*world.Instance, error) {
	l, err := r.findLXD(host)
	if err != nil {
		return nil, err
	}
	l.SyncInstances()
	i := l.Projects[cmp.Or(project, r.projectOf(host))][name]
	if i == nil {
		return nil, fmt.Errorf("no instance %q on %s", name, host)
	}
	return i, nil
}
