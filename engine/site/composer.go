package site

import (
	"context"
	"errors"

	"github.com/maaslxd/maaslxd/engine"
)

// maasUntilUpgrade is MAAS as Composer while it has VM hosts. Some calls do not answer 410
// after an upgrade. For example, MAAS still deletes a machine, but leaves the instance. After
// such calls maasUntilUpgrade asks MAAS for its VM hosts.
type maasUntilUpgrade struct {
	engine.Composer
	choice   *makerChoice
	machines engine.Machines
}

// confirmVMHosts checks that MAAS still has VM hosts. If not, it switches the choice and
// returns errUpgraded.
func (w maasUntilUpgrade) confirmVMHosts(ctx context.Context) error {
	return w.choice.switchIfGone(ctx, w.choice.relistHosts(ctx))
}

// confirmVMHostOf checks the choice if MAAS shows no VM host of a machine.
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

// VMs implements engine.Composer. A MAAS without VM hosts shows no VM on any host.
func (w maasUntilUpgrade) VMs(ctx context.Context, hosts []engine.VMHost) ([]engine.Resident, error) {
	found, err := w.Composer.VMs(ctx, hosts)
	if err == nil && len(found) == 0 && len(hosts) > 0 {
		err = w.confirmVMHosts(ctx)
	}
	return found, err
}

// CompleteMachine implements engine.Composer. A VM on a VM host of MAAS is complete without a
// call.
func (w maasUntilUpgrade) CompleteMachine(ctx context.Context, vm engine.Machine) engine.Machine {
	err := w.confirmVMHostOf(ctx, vm)
	switch {
	case errors.Is(err, errUpgraded):
		return w.choice.lxd.composer.CompleteMachine(ctx, vm) // the step continues until it learns of the upgrade
	case err != nil:
		return vm
	}
	return w.Composer.CompleteMachine(ctx, vm)
}

// Decompose implements engine.Composer. MAAS removes the instance with the machine only while
// it knows the VM host.
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

// lxdBesideMAAS is LXD as Composer. MAAS may also have VM hosts that somebody registered there:
// it asks MAAS about those. VMs that MAAS composed before an upgrade carry no mark in LXD.
type lxdBesideMAAS struct {
	engine.Composer
	checkKeyTransport func() error
	maas              engine.Composer
	machines          engine.Machines
}

// CheckCanCompose implements engine.Composer. Each VM that is made in LXD sends the private key
// to MAAS.
func (b lxdBesideMAAS) CheckCanCompose(ctx context.Context) error {
	if err := b.checkKeyTransport(); err != nil {
		return err
	}
	return b.Composer.CheckCanCompose(ctx)
}

// Compose implements engine.Composer. An API key that could compose before an upgrade of MAAS
// may be unable afterwards.
func (b lxdBesideMAAS) Compose(ctx context.Context, host engine.VMHost, c engine.Composition) (string, error) {
	if err := b.checkKeyTransport(); err != nil {
		return "", err
	}
	return b.Composer.Compose(ctx, host, c)
}

// isOnlyOnMAASHost tells of a VM whose host is unknown to LXD's maker that it is on a VM host
// of MAAS. Somebody registered that host in MAAS, and MAAS made the VM. So MAAS removes its
// instance, too.
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

// CheckInstanceReachable implements engine.Composer.
func (b lxdBesideMAAS) CheckInstanceReachable(ctx context.Context, vm engine.Machine) error {
	if _, err := b.Composer.HostOf(ctx, vm); isOnlyOnMAASHost(vm, err) {
		return b.maas.CheckInstanceReachable(ctx, vm)
	}
	return b.Composer.CheckInstanceReachable(ctx, vm)
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

// composerOf is the composer that knows a host.
func (b lxdBesideMAAS) composerOf(host engine.VMHost) engine.Composer {
	if host.ID != 0 {
		return b.maas
	}
	return b.Composer
}

// keyGuardedRegistrar is a Registrar that does not send a private key where others could read
// it on the way.
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
