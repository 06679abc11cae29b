package lxd

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/maaslxd/maaslxd/engine"
)

// WrapRegistrar makes UpdateHost also give new credentials to the VMs of the host.
func (c *Composer) WrapRegistrar(hosts engine.Registrar) engine.Registrar {
	return rekeyingRegistrar{hosts, c}
}

type rekeyingRegistrar struct {
	engine.Registrar
	composer *Composer
}

// UpdateHost implements engine.Registrar.
func (r rekeyingRegistrar) UpdateHost(ctx context.Context, host engine.VMHost, u engine.HostUpdate) error {
	if u.Credentials != nil {
		if err := r.rekeyHost(ctx, host, *u.Credentials); err != nil {
			return err
		}
	}
	return r.Registrar.UpdateHost(ctx, host, u)
}

// rekeyHost gives MAAS another key pair for each of our VMs on a host: MAAS keeps one for
// each machine. Machines of other owners keep theirs. If it is cut off, the next run sends
// all pairs again.
func (r rekeyingRegistrar) rekeyHost(ctx context.Context, host engine.VMHost, pair engine.Credentials) error {
	residents, err := r.composer.VMs(ctx, []engine.VMHost{host})
	if err != nil {
		return fmt.Errorf("cannot list the VMs that need another key pair in MAAS: %w", err)
	}
	var tells errgroup.Group
	tells.SetLimit(maxConcurrentServers)
	for _, vm := range residents {
		if vm.SystemID == "" || vm.MarkedBy() == "" {
			continue
		}
		tells.Go(func() error {
			err := r.rekeyVM(ctx, vm.Machine, pair)
			if errors.Is(err, engine.ErrNotFound) { // deleted meanwhile
				return nil
			}
			return err
		})
	}
	return tells.Wait()
}

func (r rekeyingRegistrar) rekeyVM(ctx context.Context, m engine.Machine, pair engine.Credentials) error {
	at, err := r.composer.locateInstance(ctx, m)
	if err != nil {
		return err
	}
	i := engine.Instance{Endpoint: at.server.Endpoint, Name: at.instance}
	if err := r.composer.Enlister.SetPowerInstance(ctx, m.SystemID, i, pair); err != nil {
		return fmt.Errorf("cannot give MAAS another key pair for %s: %w", m.Hostname, err)
	}
	r.composer.Log.InfoContext(ctx, "gave MAAS another key pair for a VM", "name", m.Hostname, "machine", m.SystemID, "certificate", pair)
	return nil
}
