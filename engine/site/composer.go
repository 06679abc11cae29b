package site

import (
	"context"
	"errors"

	"github.com/maaslxd/maaslxd/engine"
)

// whileItLasts is MAAS as Composer for as long as it has VM hosts. Where MAAS does not
// answer 410 by itself, it is asked: it still deletes a machine, for example, and leaves
// the instance.
type whileItLasts struct {
	engine.Composer
	choice   *choice
	machines engine.Machines
}

// confirm turns the choice, and is errUpgraded, where an upgrade has made it wrong.
func (w whileItLasts) confirm(ctx context.Context) error {
	return w.choice.noticed(ctx, w.choice.relist(ctx))
}

// confirmVM confirms the choice where MAAS shows no VM host of a machine.
func (w whileItLasts) confirmVM(ctx context.Context, vm engine.Machine) error {
	if vm.HostID != 0 {
		return nil
	}
	return w.confirm(ctx)
}

// Hosts implements engine.Composer.
func (w whileItLasts) Hosts(ctx context.Context) ([]engine.VMHost, error) {
	hosts, err := w.Composer.Hosts(ctx)
	return hosts, w.choice.noticed(ctx, err)
}

// HostOf implements engine.Composer.
func (w whileItLasts) HostOf(ctx context.Context, vm engine.Machine) (engine.VMHost, error) {
	if err := w.confirmVM(ctx, vm); err != nil {
		return engine.VMHost{}, err
	}
	return w.Composer.HostOf(ctx, vm)
}

// VMs implements engine.Composer. A MAAS without VM hosts knows no VM on any.
func (w whileItLasts) VMs(ctx context.Context, hosts []engine.VMHost) ([]engine.Resident, error) {
	found, err := w.Composer.VMs(ctx, hosts)
	if err == nil && len(found) == 0 && len(hosts) > 0 {
		err = w.confirm(ctx)
	}
	return found, err
}

// Complete implements engine.Composer. A VM on a VM host of MAAS is complete without
// asking.
func (w whileItLasts) Complete(ctx context.Context, vm engine.Machine) engine.Machine {
	err := w.confirmVM(ctx, vm)
	switch {
	case errors.Is(err, errUpgraded):
		return w.choice.lxd.composer.Complete(ctx, vm) // the step goes on until it learns of it
	case err != nil:
		return vm
	}
	return w.Composer.Complete(ctx, vm)
}

// Decompose implements engine.Composer. MAAS takes the instance with the machine
// only for as long as it knows the VM host.
func (w whileItLasts) Decompose(ctx context.Context, systemID string) error {
	vm, err := w.machines.Machine(ctx, systemID)
	if err == nil {
		err = w.confirmVM(ctx, vm)
	}
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return err
	}
	return w.Composer.Decompose(ctx, systemID)
}

// besideMAAS is LXD as Composer. MAAS may have VM hosts as well, which somebody registered
// there: whatever is on those is asked of MAAS. What MAAS composed before an upgrade carries
// no mark in LXD.
type besideMAAS struct {
	engine.Composer
	mayTravel func() error
	maas      engine.Composer
	machines  engine.Machines
}

// Able implements engine.Composer. Each VM that is made in LXD takes the private key to
// MAAS.
func (b besideMAAS) Able(ctx context.Context) error {
	if err := b.mayTravel(); err != nil {
		return err
	}
	return b.Composer.Able(ctx)
}

// Compose implements engine.Composer. Whoever was able before an upgrade of MAAS
// need not be after it.
func (b besideMAAS) Compose(ctx context.Context, host engine.VMHost, c engine.Composition) (string, error) {
	if err := b.mayTravel(); err != nil {
		return "", err
	}
	return b.Composer.Compose(ctx, host, c)
}

// isOnlyMAASs tells of a VM whose host LXD's maker does not know that it is on a VM
// host of MAAS: somebody registered that one in MAAS, and MAAS made the VM. So MAAS
// takes its instance along.
func isOnlyMAASs(vm engine.Machine, err error) bool {
	return vm.HostID != 0 && errors.Is(err, engine.ErrConflict)
}

// Decompose implements engine.Composer.
func (b besideMAAS) Decompose(ctx context.Context, systemID string) error {
	err := b.Composer.Decompose(ctx, systemID)
	if !errors.Is(err, engine.ErrConflict) {
		return err
	}
	vm, failure := b.machines.Machine(ctx, systemID)
	if failure != nil {
		return err
	}
	if _, failure = b.Composer.HostOf(ctx, vm); isOnlyMAASs(vm, failure) {
		return b.maas.Decompose(ctx, systemID)
	}
	return err
}

// HostOf implements engine.Composer.
func (b besideMAAS) HostOf(ctx context.Context, vm engine.Machine) (engine.VMHost, error) {
	host, err := b.Composer.HostOf(ctx, vm)
	if isOnlyMAASs(vm, err) {
		return b.maas.HostOf(ctx, vm)
	}
	return host, err
}

// Resize implements engine.Composer.
func (b besideMAAS) Resize(ctx context.Context, host engine.VMHost, systemID string, c engine.Composition) error {
	return b.of(host).Resize(ctx, host, systemID, c)
}

// Configure implements engine.Composer.
func (b besideMAAS) Configure(ctx context.Context, host engine.VMHost, systemID string, c engine.InstanceChange) error {
	return b.of(host).Configure(ctx, host, systemID, c)
}

// ChangeInterfaces implements engine.Composer.
func (b besideMAAS) ChangeInterfaces(ctx context.Context, host engine.VMHost, systemID string, c engine.InterfaceChange) error {
	return b.of(host).ChangeInterfaces(ctx, host, systemID, c)
}

// Sync implements engine.Composer.
func (b besideMAAS) Sync(ctx context.Context, host engine.VMHost, systemID string) error {
	return b.of(host).Sync(ctx, host, systemID)
}

// of is who knows a host.
func (b besideMAAS) of(host engine.VMHost) engine.Composer {
	if host.ID != 0 {
		return b.maas
	}
	return b.Composer
}

// guarded is a Registrar that lets no private key travel to where anybody could read it on
// the way.
type guarded struct {
	engine.Registrar
	mayTravel func() error
}

// Register implements engine.Registrar.
func (g guarded) Register(ctx context.Context, r engine.Registration) (engine.VMHost, error) {
	if err := g.mayTravel(); err != nil {
		return engine.VMHost{}, err
	}
	return g.Registrar.Register(ctx, r)
}

// UpdateHost implements engine.Registrar.
func (g guarded) UpdateHost(ctx context.Context, host engine.VMHost, u engine.HostUpdate) error {
	if u.Credentials != nil {
		if err := g.mayTravel(); err != nil {
			return err
		}
	}
	return g.Registrar.UpdateHost(ctx, host, u)
}
