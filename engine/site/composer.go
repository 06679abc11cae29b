package site

import (
	"context"
	"errors"

	"github.com/maaslxd/maaslxd/engine"
)

// lateComposer is the Composer of the choice.
type lateComposer struct{ *choice }

var _ engine.Composer = lateComposer{}

// Able implements engine.Composer.
func (l lateComposer) Able(ctx context.Context) error {
	return act(ctx, l.choice, func(m maker) error {
		if err := l.carries(m); err != nil {
			return err
		}
		return m.composer.Able(ctx)
	})
}

// carries refuses what would take the private key where it may not go: each VM
// that is made in LXD takes it to MAAS.
func (c *choice) carries(m maker) error {
	if m != c.lxd {
		return nil
	}
	return c.mayTravel()
}

// Hosts implements engine.Composer.
func (l lateComposer) Hosts(ctx context.Context) ([]engine.VMHost, error) {
	return try(ctx, l.choice, func(m maker) ([]engine.VMHost, error) { return m.composer.Hosts(ctx) })
}

// Compose implements engine.Composer. Whoever was able before an upgrade of MAAS
// need not be after it.
func (l lateComposer) Compose(ctx context.Context, host engine.VMHost, c engine.Composition) (string, error) {
	return try(ctx, l.choice, func(m maker) (string, error) {
		if err := l.carries(m); err != nil {
			return "", err
		}
		return m.composer.Compose(ctx, host, c)
	})
}

// Decompose implements engine.Composer. MAAS takes the instance with the machine
// only for as long as it knows the VM host.
func (l lateComposer) Decompose(ctx context.Context, systemID string) error {
	return act(ctx, l.choice, func(m maker) error {
		if l.passing(m) {
			vm, err := l.machines.Machine(ctx, systemID)
			if err == nil {
				err = l.confirmVM(ctx, m, vm)
			}
			if err != nil && !errors.Is(err, engine.ErrNotFound) {
				return err
			}
		}
		err := m.composer.Decompose(ctx, systemID)
		if m != l.lxd || !errors.Is(err, engine.ErrConflict) {
			return err
		}
		vm, failure := l.machines.Machine(ctx, systemID)
		if failure != nil {
			return err
		}
		if _, failure = m.composer.HostOf(ctx, vm); l.isOnlyMAASs(m, vm, failure) {
			return l.maas.composer.Decompose(ctx, systemID)
		}
		return err
	})
}

// Clear implements engine.Composer. What MAAS composed before an upgrade carries
// no mark in LXD.
func (l lateComposer) Clear(ctx context.Context, r engine.Remains) error {
	return act(ctx, l.choice, func(m maker) error { return m.composer.Clear(ctx, r) })
}

// confirmVM confirms the choice where MAAS shows no VM host of a machine.
func (c *choice) confirmVM(ctx context.Context, m maker, vm engine.Machine) error {
	if vm.HostID != 0 {
		return nil
	}
	return c.confirm(ctx, m)
}

// HostOf implements engine.Composer.
func (l lateComposer) HostOf(ctx context.Context, vm engine.Machine) (engine.VMHost, error) {
	return try(ctx, l.choice, func(m maker) (engine.VMHost, error) {
		if err := l.confirmVM(ctx, m, vm); err != nil {
			return engine.VMHost{}, err
		}
		host, err := m.composer.HostOf(ctx, vm)
		if l.isOnlyMAASs(m, vm, err) {
			return l.maas.composer.HostOf(ctx, vm)
		}
		return host, err
	})
}

// VMs implements engine.Composer. A MAAS without VM hosts knows no VM on any.
func (l lateComposer) VMs(ctx context.Context, hosts []engine.VMHost) ([]engine.Resident, error) {
	return try(ctx, l.choice, func(m maker) ([]engine.Resident, error) {
		found, err := m.composer.VMs(ctx, hosts)
		if err == nil && len(found) == 0 && len(hosts) > 0 {
			err = l.confirm(ctx, m)
		}
		return found, err
	})
}

// Complete implements engine.Composer. A VM on a VM host of MAAS is complete
// without asking, unless LXD is chosen.
func (l lateComposer) Complete(ctx context.Context, vm engine.Machine) engine.Machine {
	if vm.HostID != 0 && l.wanted != LXD {
		return vm
	}
	whole, err := try(ctx, l.choice, func(m maker) (engine.Machine, error) {
		if err := l.confirmVM(ctx, m, vm); err != nil {
			return vm, err
		}
		return m.composer.Complete(ctx, vm), nil
	})
	if err != nil {
		return vm
	}
	return whole
}

// Resize implements engine.Composer.
func (l lateComposer) Resize(ctx context.Context, host engine.VMHost, systemID string, c engine.Composition) error {
	return act(ctx, l.choice, func(m maker) error {
		return l.ofHost(m, host).composer.Resize(ctx, host, systemID, c)
	})
}

// Sync implements engine.Composer.
func (l lateComposer) Sync(ctx context.Context, host engine.VMHost, systemID string) error {
	return act(ctx, l.choice, func(m maker) error { return l.ofHost(m, host).composer.Sync(ctx, host, systemID) })
}
