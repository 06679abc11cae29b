package settle

import (
	"context"
	"fmt"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
)

// MissingTags are those that are wanted and not on the machine.
func (w WantedSettings) MissingTags(m engine.Machine) []string {
	return tagsWithout(w.Tags, m.Tags)
}

// SurplusTags are those that were wanted before, are not any more, and are still on it.
func (w WantedSettings) SurplusTags(m engine.Machine) []string {
	return slices.DeleteFunc(tagsWithout(w.RemovedTags, w.Tags), func(t string) bool { return !slices.Contains(m.Tags, t) })
}

// ReconcileTags puts on the tags that are wanted, and takes those off that were wanted before. All
// others stay. MAAS changes the tags of a locked machine, too.
func (s *Settler) ReconcileTags(ctx context.Context, w WantedSettings, m engine.Machine) (engine.Machine, error) {
	missing, surplus := w.MissingTags(m), w.SurplusTags(m)
	for _, tag := range missing {
		if err := s.Machines.Tag(ctx, m.SystemID, tag); err != nil {
			return m, fmt.Errorf("cannot tag %s with %q: %w", m.Hostname, tag, err)
		}
	}
	for _, tag := range surplus {
		if err := s.Machines.Untag(ctx, m.SystemID, tag); err != nil {
			return m, fmt.Errorf("cannot take tag %q off %s: %w", tag, m.Hostname, err)
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
