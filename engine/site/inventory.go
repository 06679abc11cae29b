package site

import (
	"cmp"
	"context"
	"errors"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleet"
)

// Inventory reads hosts and VMs from the maker of the VMs.
type Inventory struct {
	choice   *makerChoice
	machines engine.Machines
}

// Hosts lists the VM hosts, as in engine.Composer.
func (i Inventory) Hosts(ctx context.Context) ([]engine.VMHost, error) {
	return runStep(ctx, i.choice, i.choice.chooseMaker, func(ctx context.Context, w *maker) ([]engine.VMHost, error) { return w.composer.Hosts(ctx) })
}

// RefreshHost makes MAAS list the instances of a host anew, as SyncHost of engine.Composer.
func (i Inventory) RefreshHost(ctx context.Context, host engine.VMHost) error {
	_, err := runStep(ctx, i.choice, i.choice.chooseMaker, func(ctx context.Context, w *maker) (struct{}, error) {
		return struct{}{}, w.composer.SyncHost(ctx, host, "")
	})
	return err
}

// HostOf is the VM host of a VM, as in engine.Composer.
func (i Inventory) HostOf(ctx context.Context, vm engine.Machine) (engine.VMHost, error) {
	return runStep(ctx, i.choice, i.choice.chooseMaker, func(ctx context.Context, w *maker) (engine.VMHost, error) { return w.composer.HostOf(ctx, vm) })
}

// VMsOn lists the VMs on hosts, as VMs of engine.Composer.
func (i Inventory) VMsOn(ctx context.Context, hosts []engine.VMHost) ([]engine.Resident, error) {
	return runStep(ctx, i.choice, i.choice.chooseMaker, func(ctx context.Context, w *maker) ([]engine.Resident, error) { return w.composer.VMs(ctx, hosts) })
}

// Endpoint returns how the LXD of a host is reached, as in engine.Registrar.
func (i Inventory) Endpoint(ctx context.Context, host engine.VMHost) (engine.Endpoint, error) {
	return runStep(ctx, i.choice, i.choice.chooseMaker, func(ctx context.Context, w *maker) (engine.Endpoint, error) { return w.registrar.Endpoint(ctx, host) })
}

// LXDOf is the LXD of a VM, whoever composed the VM. ErrConflict for a machine that is on no
// host.
func (i Inventory) LXDOf(ctx context.Context, vm engine.Machine) (engine.LXDPlace, error) {
	return runStep(ctx, i.choice, i.choice.chooseMaker, func(ctx context.Context, w *maker) (engine.LXDPlace, error) {
		host, err := w.composer.HostOf(ctx, vm)
		if err != nil {
			return engine.LXDPlace{}, err
		}
		registrar := w.registrar
		if host.ID != 0 { // a VM host of MAAS, also where LXD makes the VMs
			registrar = i.choice.maas.registrar
		}
		at, err := registrar.Endpoint(ctx, host)
		if err != nil {
			return engine.LXDPlace{}, err
		}
		at.Project = cmp.Or(host.Project, at.Project)
		place := engine.LXDPlace{Host: host.Name, MachineID: host.MachineID, Endpoint: at}
		if host.MachineID == "" {
			return place, nil
		}
		m, err := i.machines.Machine(ctx, host.MachineID)
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return engine.LXDPlace{}, err
		}
		place.Fingerprint = m.OwnerData[engine.ServerFingerprintData]
		return place, nil
	})
}

// ProjectOf is the LXD project of a VM. Where MAAS makes the VMs, it takes one call for each
// host. ErrConflict for a machine that is on no host; empty if the host is gone meanwhile.
func (i Inventory) ProjectOf(ctx context.Context, vm engine.Machine) (string, error) {
	return runStep(ctx, i.choice, i.choice.chooseMaker, func(ctx context.Context, w *maker) (string, error) { return w.engine.ProjectOf(ctx, vm) })
}

// Fleet lists all LXD hosts and the VMs on them, as in fleet.Reader.
func (i Inventory) Fleet(ctx context.Context) (fleet.Fleet, error) {
	return runStep(ctx, i.choice, i.choice.chooseMaker, func(ctx context.Context, w *maker) (fleet.Fleet, error) { return w.engine.Fleet(ctx) })
}

// VMHosts is Hosts, but empty for a MAAS without VM hosts, as in fleet.Reader.
func (i Inventory) VMHosts(ctx context.Context) ([]engine.VMHost, error) {
	return runStep(ctx, i.choice, i.choice.chooseMaker, func(ctx context.Context, w *maker) ([]engine.VMHost, error) { return w.engine.VMHosts(ctx) })
}
