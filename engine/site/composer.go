package site

import (
	"context"
	"errors"

	"github.com/maaslxd/maaslxd/engine"
)

// maasUntilUpgrade is MAAS as Composer for as long as it has VM hosts. Where MAAS does not
// answer 410 by itself, it is asked: it still deletes a machine, for example, and leaves
// the instance.
type maasUntilUpgrade struct {
	engine.Composer
	choice   *makerChoice
	machines engine.Machines
}

// confirmVMHosts turns the choice, and is errUpgraded, where an upgrade has made it wrong.
func (w maasUntilUpgrade) confirmVMHosts(ctx context.Context) error {
	return w.choice.switchIfGone(ctx, w.choice.relistHosts(ctx))
}

// confirmVMHostOf confirms the choice where MAAS shows no VM host of a machine.
func (w maasUntilUpgrade) confirmVMHostOf(ctx context.Context, vm engine.Machine) error {
	if vm.HostID != 0 {
		return nil
	}
	return w.confirmVMHosts(ctx)
}

// Hosts implements engine.Composer.
func (w maasUntilUpgrade) Hosts(ctx context.Context) ([]engine.VMHost, error) {
	hosts, err := w.Composer.Hosts(ctx)
	return hosts, w.choice.switchIfGone(ctx, err)
}

// HostOf implements engine.Composer.
func (w maasUntilUpgrade) HostOf(ctx context.Context, vm engine.Machine) (engine.VMHost, error) {
	if err := w.confirmVMHostOf(ctx, vm); err != nil {
		return engine.VMHost{}, err
	}
	return w.Composer.HostOf(ctx, vm)
}

// VMs implements engine.Composer. A MAAS without VM hosts knows no VM on any.
func (w maasUntilUpgrade) VMs(ctx context.Context, hosts []engine.VMHost) ([]engine.Resident, error) {
	found, err := w.Composer.VMs(ctx, hosts)
	if err == nil && len(found) == 0 && len(hosts) > 0 {
		err = w.confirmVMHosts(ctx)
	}
	return found, err
}

// CompleteMachine implements engine.Composer. A VM on a VM host of MAAS is complete without
// asking.
func (w maasUntilUpgrade) CompleteMachine(ctx context.Context, vm engine.Machine) engine.Machine {
	err := w.confirmVMHostOf(ctx, vm)
	switch {
	case errors.Is(err, errUpgraded):
		return w.choice.lxd.composer.CompleteMachine(ctx, vm) // the step goes on until it learns of it
	case err != nil:
		return vm
	}
	return w.Composer.CompleteMachine(ctx, vm)
}

// Decompose implements engine.Composer. MAAS takes the instance with the machine
// only for as long as it knows the VM host.
func (w maasUntilUpgrade) Decompose(ctx context.Context, systemID string) error {
	vm, err := w.machines.Machine(ctx, systemID)
	if err == nil {
		err = w.confirmVMHostOf(ctx, vm)
	}
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return err
	}
	return w.Composer.Decompose(ctx, systemID)
}

// lxdBesideMAAS is LXD as Composer. MAAS may have VM hosts as well, which somebody registered
// there: whatever is on those is asked of MAAS. What MAAS composed before an upgrade carries
// no mark in LXD.
type lxdBesideMAAS struct {
	engine.Composer
	checkKeyTransport func() error
	maas              engine.Composer
	machines          engine.Machines
}

// CheckCanCompose implements engine.Composer. Each VM that is made in LXD takes the private key to
// MAAS.
func (b lxdBesideMAAS) CheckCanCompose(ctx context.Context) error {
	if err := b.checkKeyTransport(); err != nil {
		return err
	}
	return b.Composer.CheckCanCompose(ctx)
}

// Compose implements engine.Composer. Whoever was able before an upgrade of MAAS
// need not be after it.
func (b lxdBesideMAAS) Compose(ctx context.Context, host engine.VMHost, c engine.Composition) (string, error) {
	if err := b.checkKeyTransport(); err != nil {
		return "", err
	}
	return b.Composer.Compose(ctx, host, c)
}

// isOnlyOnMAASHost tells of a VM whose host LXD's maker does not know that it is on a VM
// host of MAAS: somebody registered that one in MAAS, and MAAS made the VM. So MAAS
// takes its instance along.
func isOnlyOnMAASHost(vm engine.Machine, err error) bool {
	return vm.HostID != 0 && errors.Is(err, engine.ErrConflict)
}

// Decompose implements engine.Composer.
func (b lxdBesideMAAS) Decompose(ctx context.Context, systemID string) error {
	err := b.Composer.Decompose(ctx, systemID)
	if !errors.Is(err, engine.ErrConflict) {
		return err
	}
	vm, failure := b.machines.Machine(ctx, systemID)
	if failure != nil {
		return err
	}
	if _, failure = b.Composer.HostOf(ctx, vm); isOnlyOnMAASHost(vm, failure) {
		return b.maas.Decompose(ctx, systemID)
	}
	return err
}

// HostOf implements engine.Composer.
func (b lxdBesideMAAS) HostOf(ctx context.Context, vm engine.Machine) (engine.VMHost, error) {
	host, err := b.Composer.HostOf(ctx, vm)
	if isOnlyOnMAASHost(vm, err) {
		return b.maas.HostOf(ctx, vm)
	}
	return host, err
}

// Resize implements engine.Composer.
func (b lxdBesideMAAS) Resize(ctx context.Context, host engine.VMHost, systemID string, c engine.Composition) error {
	return b.composerOf(host).Resize(ctx, host, systemID, c)
}

// ConfigureInstance implements engine.Composer.
func (b lxdBesideMAAS) ConfigureInstance(ctx context.Context, host engine.VMHost, systemID string, c engine.InstanceChange) error {
	return b.composerOf(host).ConfigureInstance(ctx, host, systemID, c)
}

// ChangeInterfaces implements engine.Composer.
func (b lxdBesideMAAS) ChangeInterfaces(ctx context.Context, host engine.VMHost, systemID string, c engine.InterfaceChange) error {
	return b.composerOf(host).ChangeInterfaces(ctx, host, systemID, c)
}

// SyncHost implements engine.Composer.
func (b lxdBesideMAAS) SyncHost(ctx context.Context, host engine.VMHost, systemID string) error {
	return b.composerOf(host).SyncHost(ctx, host, systemID)
}

// composerOf is who knows a host.
func (b lxdBesideMAAS) composerOf(host engine.VMHost) engine.Composer {
	if host.ID != 0 {
		return b.maas
	}
	return b.Composer
}

// keyGuardedRegistrar is a Registrar that lets no private key travel to where anybody could read it on
// the way.
type keyGuardedRegistrar struct {
	engine.Registrar
	checkKeyTransport func() error
}

// Register implements engine.Registrar.
func (g keyGuardedRegistrar) Register(ctx context.Context, r engine.Registration) (engine.VMHost, error) {
	if err := g.checkKeyTransport(); err != nil {
		return engine.VMHost{}, err
	}
	return g.Registrar.Register(ctx, r)
}

// UpdateHost implements engine.Registrar.
func (g keyGuardedRegistrar) UpdateHost(ctx context.Context, host engine.VMHost, u engine.HostUpdate) error {
	if u.Credentials != nil {
		if err := g.checkKeyTransport(); err != nil {
			return err
		}
	}
	return g.Registrar.UpdateHost(ctx, host, u)
}
