package inplace

import (
	"context"
	"fmt"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
)

// MissingTags are the wanted tags that the machine lacks.
func (w WantedSettings) MissingTags(m engine.Machine) []string {
	return tagsWithout(w.Tags, m.Tags)
}

// SurplusTags are former wanted tags that are no longer wanted and still on the machine.
func (w WantedSettings) SurplusTags(m engine.Machine) []string {
	return slices.DeleteFunc(tagsWithout(w.RemovedTags, w.Tags), func(t string) bool { return !slices.Contains(m.Tags, t) })
}

// ReconcileTags adds the wanted tags, and removes those that were wanted before. All others
// stay. MAAS changes the tags of a locked machine, too.
func (s *Updater) ReconcileTags(ctx context.Context, w WantedSettings, m engine.Machine) (engine.Machine, error) {
	missing, surplus := w.MissingTags(m), w.SurplusTags(m)
	for _, tag := range missing {
		if err := s.Machines.Tag(ctx, m.SystemID, tag); err != nil {
			return m, fmt.Errorf("cannot tag %s with %q: %w", m.Hostname, tag, err)
		}
	}
	for _, tag := range surplus {
		if err := s.Machines.Untag(ctx, m.SystemID, tag); err != nil {
			return m, fmt.Errorf("cannot remove tag %q from %s: %w", tag, m.Hostname, err)
		}
	}
	m.Tags = tagsWithout(append(slices.Clone(m.Tags), missing...), surplus)
	slices.Sort(m.Tags)
	return m, nil
}

// tagsWithout are the tags that are not among others.
func tagsWithout(tags, others []string) []string {
	return slices.DeleteFunc(slices.Clone(tags), func(t string) bool { return slices.Contains(others, t) })
}
