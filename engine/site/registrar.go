package site

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
)

// registrarBesideMAAS is the Registrar of hosts whose VMs are made in LXD. MAAS may have a VM
// host on the same LXD: it was registered before composer was "lxd". MAAS does not release the
// machine while it has that VM host.
type registrarBesideMAAS struct {
	engine.Registrar
	maas  engine.Registrar
	hosts func(context.Context) ([]engine.VMHost, error) // MAAS's VM hosts; ErrGone: it has none any more
}

// Unregister implements engine.Registrar. It removes MAAS's VM host of the same project first,
// so that an interrupted call is found by the tag and repeated. A VM host of another project on
// the machine is refused: to remove the one may make MAAS forget the VMs of the other.
func (r registrarBesideMAAS) Unregister(ctx context.Context, host engine.VMHost) error {
	hosts, err := r.hosts(ctx)
	if err != nil && !errors.Is(err, engine.ErrGone) {
		return err
	}
	hosts = slices.DeleteFunc(slices.Clone(hosts), func(h engine.VMHost) bool { return h.MachineID == "" || h.MachineID != host.MachineID })
	for _, h := range hosts {
		e, err := r.maas.Endpoint(ctx, h) // the list does not tell the project
		if errors.Is(err, engine.ErrNotFound) {
			continue // somebody has removed it
		}
		if err != nil {
			return err
		}
		if e.Project != host.Project {
			return &engine.Refusal{
				Message: fmt.Sprintf("MAAS has another VM host on its machine, %s (id %d, project %s)", h.Name, h.ID, e.Project),
				Hint:    "Remove that VM host in MAAS first, if nobody needs it.", Err: engine.ErrConflict,
			}
		}
	}
	for _, h := range hosts {
		if err := r.maas.Unregister(ctx, h); err != nil {
			return err
		}
	}
	return r.Registrar.Unregister(ctx, host)
}
