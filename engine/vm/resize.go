package vm

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/compose"
)

// resize gives a finished VM its wanted size, if the spec asks for it. It reserves the growth
// first, as for a new VM.
func (v *finishedSteps) resize(ctx context.Context, key engine.Key, want engine.VMSpec, m engine.Machine) error {
	if !want.Resize {
		return nil
	}
	have := v.Composer.CompleteMachine(ctx, m)
	if compose.HasSize(want, have) {
		return nil
	}
	if err := checkLock(want, m); err != nil {
		return err
	}
	on, err := v.maker.HostOf(ctx, m)
	if err != nil {
		return err
	}
	hosts, err := v.Composer.Hosts(ctx)
	if err != nil {
		return err
	}
	n := slices.IndexFunc(hosts, func(h engine.VMHost) bool { return h.HostKey == on.HostKey })
	if n < 0 {
		return fmt.Errorf("VM host %s of %s is missing from MAAS's list at the moment: %w", on.Name, m.Hostname, engine.ErrBusy)
	}
	if err := checkResize(hosts[n], have, want); err != nil {
		return err
	}
	c := engine.Composition{
		Hostname: m.Hostname, Cores: want.Cores, PinnedCores: want.PinnedCores, MemoryMiB: want.MemoryMiB,
		HugePages: want.HugePages, Disks: want.Disks, Key: key, Marker: engine.MarkerOf(key),
	}
	return v.maker.GrowVM(ctx, key, want, have, hosts[n], func() error {
		if err := v.Composer.Resize(ctx, hosts[n], m.SystemID, c); err != nil {
			return fmt.Errorf("cannot change the size of %s: %w", m.Hostname, err)
		}
		return nil
	})
}

// checkLock refuses to change the instance of a VM that somebody else has locked in MAAS. LXD knows
// nothing of the lock.
func checkLock(want engine.VMSpec, m engine.Machine) error {
	if m.Locked && want.Locked == nil {
		return engine.NewLockedError(m, "change")
	}
	return nil
}

// checkResize says why the host has no room for the new size of its VM.
func checkResize(h engine.VMHost, have engine.Machine, want engine.VMSpec) error {
	if err := h.UsableError(); err != nil {
		return err
	}
	h.Cores.Used -= int64(have.Cores)
	h.MemoryMiB.Used -= have.MemoryMiB
	if have.HugePages {
		h.HugePagesMiB.Used -= have.MemoryMiB
	}
	if err := compose.CheckRoom(h, want); err != nil {
		return err
	}
	return compose.CheckPoolRoom(h, compose.DiskGrowth(want, have))
}

// configure gives a finished VM its wanted options and devices, if the spec asks for it.
func (v *finishedSteps) configure(ctx context.Context, want engine.VMSpec, m engine.Machine) error {
	if !want.Reconfigure {
		return nil
	}
	if err := checkLock(want, m); err != nil {
		return err
	}
	on, err := v.maker.HostOf(ctx, m)
	if err != nil {
		return err
	}
	c := engine.InstanceChange{Config: want.Config, Devices: want.Devices, RemovedConfig: want.RemovedConfig, RemovedDevices: want.RemovedDevices}
	v.noteUndo(ctx, m, c)
	if err := v.Composer.ConfigureInstance(ctx, on, m.SystemID, c); err != nil {
		return fmt.Errorf("cannot change options or devices of %s: %w", m.Hostname, err)
	}
	return nil
}

// prepareReady gives a VM that is not deployed yet its size, options and devices: an earlier run
// made it with others, or somebody released it. If it is still on after its commissioning, it is
// turned off first. Then it is not settled yet.
func (v *finishedSteps) prepareReady(ctx context.Context, key engine.Key, want engine.VMSpec, m engine.Machine) (settled bool, err error) {
	err = v.resize(ctx, key, want, m)
	if err == nil {
		err = v.configure(ctx, want, m)
	}
	if _, runs := errors.AsType[*engine.RunningError](err); runs {
		_, _, err = v.turnPower(ctx, want, m, "off")
		return false, err
	}
	return err == nil, err
}
