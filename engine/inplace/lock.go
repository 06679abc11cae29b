package inplace

import (
	"context"
	"errors"
	"fmt"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// UnlockForChange unlocks a machine for a change. MAAS refuses every change of a locked machine
// except of its tags (auth/local.py, has_perm). The caller locks the machine again. If the spec
// says nothing of the lock, it is somebody else's, and stays.
func (s *Updater) UnlockForChange(ctx context.Context, w WantedSettings, m engine.Machine) (engine.Machine, error) {
	switch {
	case !m.Locked:
		return m, nil
	case w.Locked == nil:
		return m, engine.NewLockedError(m, "change")
	}
	if err := s.Machines.Unlock(ctx, m.SystemID); err != nil {
		return m, fmt.Errorf("cannot unlock %s: %w", m.Hostname, err)
	}
	s.Log.InfoContext(ctx, "unlocked", "kind", s.kind.Noun, "name", m.Hostname, "system_id", m.SystemID)
	m.Locked = false
	return m, nil
}

// ReconcileLock gives a machine the wanted lock, after all other changes.
func (s *Updater) ReconcileLock(ctx context.Context, w WantedSettings, m engine.Machine) (engine.Machine, error) {
	switch {
	case w.Locked == nil || *w.Locked == m.Locked:
		return m, nil
	case !*w.Locked:
		return s.UnlockForChange(ctx, w, m)
	case m.Status != engine.StatusDeployed && m.Status != engine.StatusDeploying:
		return m, &engine.SpecError{
			Field: fieldpath.New("deletion_protection"), Message: fmt.Sprintf("MAAS locks deployed machines only, and %s is %s", m.Hostname, m.StatusName),
			Hint: "Bring it back to Deployed in MAAS, or set deletion_protection to false.", Ways: []engine.Way{engine.WayRetry}, Err: engine.ErrConflict,
		}
	}
	if err := s.Machines.Lock(ctx, m.SystemID); err != nil {
		return m, fmt.Errorf("cannot lock %s: %w", m.Hostname, err)
	}
	s.Log.InfoContext(ctx, "locked", "kind", s.kind.Noun, "name", m.Hostname, "system_id", m.SystemID)
	m.Locked = true
	return m, nil
}

// RelockAfterFailure locks a machine again whose change failed after it was unlocked, also if
// the caller has given up. It returns the failure.
func (s *Updater) RelockAfterFailure(ctx context.Context, w WantedSettings, m engine.Machine, failure error) error {
	if w.Locked == nil || !*w.Locked || m.Status != engine.StatusDeployed {
		return failure
	}
	graced, cancel := engine.WithGrace(ctx)
	defer cancel()
	if _, err := s.ReconcileLock(graced, w, m); err != nil {
		return errors.Join(failure, err)
	}
	return failure
}
