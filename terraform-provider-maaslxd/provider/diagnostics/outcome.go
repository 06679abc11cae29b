package diagnostics

import (
	"context"
	"errors"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
)

// Outcome is what a create that has ended means for Terraform's state.
type Outcome int

const (
	// CreateSucceeded: the VM is as planned.
	CreateSucceeded Outcome = iota
	// NothingCreated: there is no VM, or none that has a name yet; the next
	// apply creates, and finds what this one may have begun.
	NothingCreated
	// CreateResumable: there is a VM that needs more time.
	CreateResumable
	// CreateFailed: there is a VM that will not get there; it has to be replaced.
	CreateFailed
)

// OutcomeOf judges how waiting within ctx for what was created ended. hopeless tells
// whether the error says that this very object will not get there.
func OutcomeOf(ctx context.Context, systemID string, err error, hasFailed func(error) bool) Outcome {
	switch {
	case err == nil:
		return CreateSucceeded
	case systemID == "" || IsObjectGone(err):
		return NothingCreated
	case ctx.Err() == nil && hasFailed(err):
		return CreateFailed
	default:
		return CreateResumable
	}
}

// IsObjectGone tells whether the VM itself is gone. A name in the spec that MAAS
// does not know is something else.
func IsObjectGone(err error) bool {
	var spec *engine.SpecError
	return errors.Is(err, engine.ErrNotFound) && !errors.As(err, &spec)
}

// HasReleaseFailed tells whether MAAS has failed to release a machine. The names are MAAS's.
func HasReleaseFailed(status string) bool {
	return slices.Contains([]string{"Releasing failed", "Failed disk erasing"}, status)
}

// HasMAASGivenUp tells whether MAAS has given up a machine that was in the making. The
// names are MAAS's.
func HasMAASGivenUp(status string) bool {
	return slices.Contains([]string{"Failed commissioning", "Failed testing", "Failed deployment"}, status)
}
