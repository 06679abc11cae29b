package site

import (
	"context"
	"errors"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
)

// registrarBesideMAAS is the Registrar of hosts whose VMs are made in LXD. MAAS may have a VM
// host on the same LXD that this program registered before composer was "lxd". MAAS does not
// release the machine while it has that VM host.
type registrarBesideMAAS struct {
	engine.Registrar
	maas     engine.Registrar
	hosts    func(context.Context) ([]engine.VMHost, error) // MAAS's VM hosts; ErrGone: it has none any more
	machines engine.Machines
}

// Unregister implements engine.Registrar. It removes our VM host in MAAS first: the tag of the
// machine finds the host again after an interrupted call. VM hosts of others stay.
func (r registrarBesideMAAS) Unregister(ctx context.Context, host engine.VMHost) error {
	ours, err := r.ownVMHost(ctx, host.MachineID)
	if err == nil && ours.ID != 0 {
		err = r.maas.Unregister(ctx, ours)
	}
	if err != nil && !errors.Is(err, engine.ErrGone) { // MAAS may drop its VM hosts after they were listed
		return err
	}
	return r.Registrar.Unregister(ctx, host)
}

// ownVMHost is the VM host in MAAS that this program has noted on the machine; zero: there is
// none. One on a machine whose record MAAS made itself stays: MAAS would delete the record with
// it, and the records of all VMs on that LXD server.
func (r registrarBesideMAAS) ownVMHost(ctx context.Context, machineID string) (engine.VMHost, error) {
	m, err := r.machines.Machine(ctx, machineID)
	if errors.Is(err, engine.ErrNotFound) || err == nil && (m.PowerType == "" || m.NotedVMHostID() == 0) {
		return engine.VMHost{}, nil
	}
	if err != nil {
		return engine.VMHost{}, err
	}
	hosts, err := r.hosts(ctx)
	if err != nil && !errors.Is(err, engine.ErrGone) {
		return engine.VMHost{}, err
	}
	i := slices.IndexFunc(hosts, func(h engine.VMHost) bool { return h.MachineID == machineID && h.ID == m.NotedVMHostID() })
	if i < 0 {
		return engine.VMHost{}, nil
	}
	return hosts[i], nil
}
