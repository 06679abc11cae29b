package vm

import (
	"context"
	"fmt"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/compose"
)

// resume continues with a VM that an earlier run began for this key.
func (v *Kind) resume(ctx context.Context, ref engine.Ref, want engine.VMSpec, m engine.Machine) (engine.Result[engine.VM], error) {
	if engine.WasFinishedOnce(m) {
		if wait := v.updater.CheckNameWait(wantedSettingsOf(ref.Key, want), m); wait != nil {
			return engine.Result[engine.VM]{}, wait
		}
		return engine.Result[engine.VM]{}, finishedBeforeError(want.Name, m)
	}
	begun, err := v.withHostName(ctx, want, m)
	if len(want.Config)+len(want.Devices) > 0 {
		made := v.Composer.CompleteMachine(ctx, m)
		begun.Config, begun.Devices = made.Config, made.Devices
	}
	if err != nil {
		return resultOf(ref.Key, m), err
	}
	if field, had, wanted := compose.ImmutableDifference(want, begun); !field.IsEmpty() {
		return engine.Result[engine.VM]{}, &engine.SpecError{
			Field:   field,
			Message: fmt.Sprintf("an earlier run began the VM %s (system id %s) with %s, but now it is to have %s", want.Name, m.SystemID, had, wanted),
			Hint:    fmt.Sprintf("Use the former value once, and then this one. Or delete machine %s in MAAS.", m.SystemID),
			Ways:    []engine.Way{engine.WayRetry},
			Err:     engine.ErrConflict,
		}
	}
	return v.converge(ctx, ref, want, m)
}

// withHostName fills in the name of a VM's host if MAAS does not tell it. It uses the spelling
// of the spec if that is the system id of the host's machine.
func (v *Kind) withHostName(ctx context.Context, want engine.VMSpec, m engine.Machine) (engine.Machine, error) {
	if want.Host == "" || m.HasVMHostInMAAS() && compose.IsOnHost(m, want.Host) {
		return m, nil
	}
	host, err := v.maker.HostOf(ctx, m)
	if err != nil {
		return m, err
	}
	m.HostName = host.Name
	if host.MachineID == want.Host {
		m.HostName = want.Host
	}
	return m, nil
}
