package machine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// failureNotePrefix begins the line of a machine's description that notes when our last
// deployment failed on it. MAAS clears owner data with a release. The description stays, for us
// and for every other manager.
const failureNotePrefix = "maaslxd: last failed deployment "

// lastFailureTime is when our last deployment on the machine failed. It is zero if none failed,
// or if a later one succeeded.
func lastFailureTime(m engine.Machine) time.Time {
	for line := range strings.SplitSeq(m.Description, "\n") {
		if text, ok := strings.CutPrefix(line, failureNotePrefix); ok {
			at, _ := time.Parse(time.RFC3339, text)
			return at
		}
	}
	return time.Time{}
}

// descriptionWithFailure puts that line into a description; none for the zero time.
func descriptionWithFailure(description string, at time.Time) string {
	lines := slices.DeleteFunc(strings.Split(description, "\n"), func(l string) bool { return strings.HasPrefix(l, failureNotePrefix) })
	if !at.IsZero() {
		lines = append(lines, failureNotePrefix+at.UTC().Format(time.RFC3339))
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// noteFailure notes, before a machine is released, that it could not be installed. The choice
// then takes it last.
func (b *failureSteps) noteFailure(ctx context.Context, m engine.Machine) (engine.Machine, error) {
	if m.Status != engine.StatusFailedDeployment {
		return m, nil
	}
	return b.writeFailure(ctx, m, b.Now())
}

// clearFailure removes the note, once the machine is installed.
func (b *failureSteps) clearFailure(ctx context.Context, m engine.Machine) (engine.Machine, error) {
	if lastFailureTime(m).IsZero() {
		return m, nil
	}
	return b.writeFailure(ctx, m, time.Time{})
}

func (b *failureSteps) writeFailure(ctx context.Context, m engine.Machine, at time.Time) (engine.Machine, error) {
	text := descriptionWithFailure(m.Description, at)
	if err := b.Machines.Update(ctx, m.SystemID, engine.MachineUpdate{Description: &text}); err != nil {
		return m, fmt.Errorf("cannot note on %s whether its deployment failed: %w", m.Hostname, b.RecheckRefusal(ctx, m, err))
	}
	m.Description = text
	return m, nil
}
