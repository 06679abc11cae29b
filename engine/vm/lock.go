package vm

import (
	"context"
	"errors"
	"fmt"

	"github.com/maaslxd/maaslxd/engine"
)

// unlockToChange takes the lock off a VM that is to be changed: MAAS refuses every change
// of a locked machine but its tags (auth/local.py, has_perm). Whoever calls it locks the VM
// again. A lock of which the spec says nothing is somebody else's, and stays.
func (v *upkeep) unlockToChange(ctx context.Context, want engine.VMSpec, m engine.Machine) (engine.Machine, error) {
	switch {
	case !m.Locked:
		return m, nil
	case want.Locked == nil:
		return m, engine.LockedError(m, "change")
	}
	if err := v.Machines.Unlock(ctx, m.SystemID); err != nil {
		return m, fmt.Errorf("cannot unlock %s: %w", m.Hostname, err)
	}
	v.Log.InfoContext(ctx, "unlocked VM", "name", m.Hostname, "system_id", m.SystemID)
	m.Locked = false
	return m, nil
}

// settleLock gives a VM the lock that the spec wants, after all other changes.
func (v *upkeep) settleLock(ctx context.Context, want engine.VMSpec, m engine.Machine) (engine.Machine, error) {
	switch {
	case want.Locked == nil || *want.Locked == m.Locked:
		return m, nil
	case !*want.Locked:
		return v.unlockToChange(ctx, want, m)
	case m.Status != engine.StatusDeployed && m.Status != engine.StatusDeploying:
		return m, &engine.SpecError{
			Field: "deletion_protection", Message: fmt.Sprintf("MAAS locks deployed machines only, and %s is %s", m.Hostname, m.StatusName),
			Hint: "Bring the VM back to Deployed in MAAS and apply again, or set deletion_protection to false.", Err: engine.ErrConflict,
		}
	}
	if err := v.Machines.Lock(ctx, m.SystemID); err != nil {
		return m, fmt.Errorf("cannot lock %s: %w", m.Hostname, err)
	}
	v.Log.InfoContext(ctx, "locked VM", "name", m.Hostname, "system_id", m.SystemID)
	m.Locked = true
	return m, nil
}

// lockAgain puts the lock back on a VM whose change failed after it was unlocked, also
// where the caller has given up. It returns the failure.
func (v *upkeep) lockAgain(ctx context.Context, want engine.VMSpec, m engine.Machine, failure error) error {
	if want.Locked == nil || !*want.Locked || m.Status != engine.StatusDeployed {
		return failure
	}
	graced, cancel := engine.WithGrace(ctx)
	defer cancel()
	if _, err := v.settleLock(graced, want, m); err != nil {
		return errors.Join(failure, err)
	}
	return failure
}
