package vm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// startTimeout is how long a VM that was stopped for a change may take to be on again. LXD
// starts one within seconds; the start of several devices takes some more. MAAS starts it in
// the background, and does not report that LXD failed (drivers/power/lxd.py).
const startTimeout = 90 * time.Second

// stoppedVMChanges are the changes that this process made to VMs that it stopped, by their
// system ids.
type stoppedVMChanges struct {
	undo   sync.Map // the engine.InstanceChange that takes the change back
	starts sync.Map // the time.Time at which the VM was first asked to start
}

// forget drops the entries of a VM that runs.
func (c *stoppedVMChanges) forget(systemID string) {
	c.undo.Delete(systemID)
	c.starts.Delete(systemID)
}

// noteUndo remembers the options and devices of a VM that was stopped for a change, from before
// the change.
func (v *finishedSteps) noteUndo(ctx context.Context, m engine.Machine, change engine.InstanceChange) {
	if m.OwnerData[engine.RestartData] == "" {
		return
	}
	if _, known := v.changes.undo.Load(m.SystemID); known {
		return
	}
	if have := v.Composer.CompleteMachine(ctx, m); have.Config != nil && have.Devices != nil {
		v.changes.undo.Store(m.SystemID, inverseChange(change, have))
	}
}

// inverseChange is the change that undoes another one.
func inverseChange(change engine.InstanceChange, have engine.Machine) engine.InstanceChange {
	undo := engine.InstanceChange{Config: map[string]string{}, Devices: map[string]engine.Device{}}
	for _, key := range slices.Concat(slices.Sorted(maps.Keys(change.Config)), change.RemovedConfig) {
		if value, had := have.Config[key]; had {
			undo.Config[key] = value
		} else {
			undo.RemovedConfig = append(undo.RemovedConfig, key)
		}
	}
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(change.Devices)), change.RemovedDevices) {
		if d, had := have.Devices[name]; had {
			undo.Devices[name] = d
		} else {
			undo.RemovedDevices = append(undo.RemovedDevices, name)
		}
	}
	return undo
}

// checkStart reports a VM that does not start after a change. It restores the options and
// devices that this process changed, and starts the VM with them.
func (v *finishedSteps) checkStart(ctx context.Context, m engine.Machine) error {
	since, _ := v.changes.starts.LoadOrStore(m.SystemID, v.Now())
	if v.Now().Sub(since.(time.Time)) < startTimeout {
		return nil
	}
	undo, known := v.changes.undo.Load(m.SystemID)
	v.changes.forget(m.SystemID)
	failure := &engine.Error{
		Type: engine.VMCreationFailed, Host: m.HostName, Message: fmt.Sprintf("%s does not start after it was changed", m.Hostname),
		Hint: fmt.Sprintf("See the cause on the host: lxc info --show-log %s. Correct or undo the change.", m.Hostname),
		Ways: []engine.Way{engine.WayRetry},
	}
	if !known {
		return engine.MarkTerminal(failure)
	}
	on, err := v.maker.HostOf(ctx, m)
	if err == nil {
		err = v.Composer.ConfigureInstance(ctx, on, m.SystemID, undo.(engine.InstanceChange))
	}
	if err == nil {
		err = v.turnOnAfterFailure(ctx, m)
	}
	if err != nil {
		return engine.MarkTerminal(errors.Join(failure, fmt.Errorf("cannot restore its options and devices: %w", err)))
	}
	failure.Message += ". Its former options and devices are restored, and it is turned on with them"
	return engine.MarkTerminal(failure)
}
