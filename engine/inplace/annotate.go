package inplace

import (
	"context"
	"errors"
	"fmt"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// annotationChanges are the annotations to write, by key. An empty value means to remove the
// key.
func (w WantedSettings) annotationChanges(m engine.Machine) map[string]string {
	changes := map[string]string{}
	for _, key := range w.RemovedAnnotations {
		if _, has := m.OwnerData[key]; has {
			changes[key] = ""
		}
	}
	for key, value := range w.Annotations {
		delete(changes, key)
		if m.OwnerData[key] != value {
			changes[key] = value
		}
	}
	return changes
}

// ReconcileAnnotations writes the wanted annotations that are missing, and removes those that
// were wanted before. MAAS allows this only to the user who owns the machine.
func (s *Updater) ReconcileAnnotations(ctx context.Context, w WantedSettings, m engine.Machine) (engine.Machine, error) {
	changes := w.annotationChanges(m)
	switch {
	case len(changes) == 0:
		return m, nil
	case m.Status != engine.StatusDeployed && len(w.Annotations) == 0:
		return m, nil // MAAS removes them with the installation
	case m.Status != engine.StatusDeployed:
		return m, &engine.SpecError{
			Field: fieldpath.New("annotations"), Message: fmt.Sprintf("MAAS annotates deployed machines only, but %s is %s", m.Hostname, m.StatusName),
			Hint: "Bring it back to Deployed in MAAS, or remove annotations.", Ways: []engine.Way{engine.WayRetry}, Err: engine.ErrConflict,
		}
	}
	m, err := s.UnlockForChange(ctx, w, m)
	if err != nil {
		return m, err
	}
	return s.Annotate(ctx, m, changes)
}

// Annotate sends changes of the owner data of an acquired machine. An empty value removes its
// key.
func (s *Updater) Annotate(ctx context.Context, m engine.Machine, changes map[string]string) (engine.Machine, error) {
	err := s.Metal.Annotate(ctx, m.SystemID, changes)
	switch {
	case errors.Is(err, engine.ErrConflict):
		return m, &engine.Refusal{
			Message: fmt.Sprintf("cannot annotate %s, which belongs to the MAAS user %q", m.Hostname, m.Owner),
			Hint:    "MAAS lets only that user annotate it: use an API key of that user.", Err: engine.ErrConflict,
		}
	case err != nil:
		return m, fmt.Errorf("cannot annotate %s: %w", m.Hostname, err)
	}
	after := map[string]string{}
	for key, value := range m.OwnerData {
		after[key] = value
	}
	for key, value := range changes {
		if after[key] = value; value == "" {
			delete(after, key)
		}
	}
	m.OwnerData = after
	return m, nil
}
