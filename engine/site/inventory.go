package site

import (
	"context"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleet"
)

// Inventory tells what there is, as who makes the VMs knows it.
type Inventory struct{ choice *choice }

// Hosts lists the VM hosts, as of engine.Composer.
func (i Inventory) Hosts(ctx context.Context) ([]engine.VMHost, error) {
	return step(ctx, i.choice, i.choice.made, func(ctx context.Context, w *maker) ([]engine.VMHost, error) { return w.composer.Hosts(ctx) })
}

// Refresh has MAAS list what is on a host anew, as Sync of engine.Composer does.
func (i Inventory) Refresh(ctx context.Context, host engine.VMHost) error {
	_, err := step(ctx, i.choice, i.choice.made, func(ctx context.Context, w *maker) (struct{}, error) {
		return struct{}{}, w.composer.Sync(ctx, host, "")
	})
	return err
}

// HostOf is the VM host of a VM, as of engine.Composer.
func (i Inventory) HostOf(ctx context.Context, vm engine.Machine) (engine.VMHost, error) {
	return step(ctx, i.choice, i.choice.made, func(ctx context.Context, w *maker) (engine.VMHost, error) { return w.composer.HostOf(ctx, vm) })
}

// VMsOn lists the VMs on hosts, as VMs of engine.Composer.
func (i Inventory) VMsOn(ctx context.Context, hosts []engine.VMHost) ([]engine.Resident, error) {
	return step(ctx, i.choice, i.choice.made, func(ctx context.Context, w *maker) ([]engine.Resident, error) { return w.composer.VMs(ctx, hosts) })
}

// Endpoint is where the LXD of a host listens, as of engine.Registrar.
func (i Inventory) Endpoint(ctx context.Context, host engine.VMHost) (engine.Endpoint, error) {
	return step(ctx, i.choice, i.choice.made, func(ctx context.Context, w *maker) (engine.Endpoint, error) { return w.registrar.Endpoint(ctx, host) })
}

// ProjectOf is the LXD project of a VM. Where MAAS makes the VMs it takes a call
// for each host, once. ErrConflict for a machine that is on no host; empty where
// the host is gone meanwhile.
func (i Inventory) ProjectOf(ctx context.Context, vm engine.Machine) (string, error) {
	return step(ctx, i.choice, i.choice.made, func(ctx context.Context, w *maker) (string, error) { return w.engine.ProjectOf(ctx, vm) })
}

// Fleet lists all LXD hosts and the VMs on them, as of fleet.Reader.
func (i Inventory) Fleet(ctx context.Context) (fleet.Fleet, error) {
	return step(ctx, i.choice, i.choice.made, func(ctx context.Context, w *maker) (fleet.Fleet, error) { return w.engine.Fleet(ctx) })
}

// VMHosts is Hosts where a MAAS without VM hosts has none, as of fleet.Reader.
func (i Inventory) VMHosts(ctx context.Context) ([]engine.VMHost, error) {
	return step(ctx, i.choice, i.choice.made, func(ctx context.Context, w *maker) ([]engine.VMHost, error) { return w.engine.VMHosts(ctx) })
}
