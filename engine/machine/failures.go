package machine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// failureLine begins the line of a machine's description that says when a deployment
// of ours failed on it last. MAAS clears owner data with a release; the description
// stays, for us and for every other manager.
const failureLine = "maaslxd: last failed deployment "

// failedAt is when a deployment of ours failed on the machine last; zero: it did not,
// or one went well since.
func failedAt(m engine.Machine) time.Time {
	for line := range strings.SplitSeq(m.Description, "\n") {
		if text, ok := strings.CutPrefix(line, failureLine); ok {
			at, _ := time.Parse(time.RFC3339, text)
			return at
		}
	}
	return time.Time{}
}

// describeFailure puts that line into a description; none for the zero time.
func describeFailure(description string, at time.Time) string {
	lines := slices.DeleteFunc(strings.Split(description, "\n"), func(l string) bool { return strings.HasPrefix(l, failureLine) })
	if !at.IsZero() {
		lines = append(lines, failureLine+at.UTC().Format(time.RFC3339))
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// noteFailure writes down, before a machine is released, that it could not be
// installed: it is the last one that is chosen again.
func (b *failures) noteFailure(ctx context.Context, m engine.Machine) (engine.Machine, error) {
	if m.Status != engine.StatusFailedDeployment {
		return m, nil
	}
	return b.writeFailure(ctx, m, b.Now())
}

// clearFailure forgets it, once the machine was installed.
func (b *failures) clearFailure(ctx context.Context, m engine.Machine) (engine.Machine, error) {
	if failedAt(m).IsZero() {
		return m, nil
	}
	return b.writeFailure(ctx, m, time.Time{})
}

func (b *failures) writeFailure(ctx context.Context, m engine.Machine, at time.Time) (engine.Machine, error) {
	text := describeFailure(m.Description, at)
	if err := b.Machines.Update(ctx, m.SystemID, engine.MachineUpdate{Description: &text}); err != nil {
		return m, fmt.Errorf("cannot note on %s whether its deployment failed: %w", m.Hostname, b.JudgeRefusal(ctx, m, err))
	}
	m.Description = text
	return m, nil
}
