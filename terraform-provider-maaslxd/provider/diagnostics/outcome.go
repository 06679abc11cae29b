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
	// NothingCreated: there is no VM, or none with a system id yet. The next apply creates it,
	// and finds what this one has begun.
	NothingCreated
	// CreateResumable: there is a VM that needs more time.
	CreateResumable
	// CreateFailed: there is a VM that can never be finished and has to be replaced.
	CreateFailed
)

// OutcomeOf evaluates how a wait within ctx for a new object ended. hasFailed tells whether
// the error means that this object can never be finished.
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

// IsObjectGone tells whether the VM itself is gone. A name in the spec that MAAS does not know
// is another error.
func IsObjectGone(err error) bool {
	var spec *engine.SpecError
	return errors.Is(err, engine.ErrNotFound) && !errors.As(err, &spec)
}

// HasReleaseFailed tells whether MAAS failed to release a machine, by MAAS's name of the
// status.
func HasReleaseFailed(status string) bool {
	return slices.Contains([]string{"Releasing failed", "Failed disk erasing"}, status)
}

// HasMAASGivenUp tells whether MAAS failed to make a machine ready, by MAAS's name of the
// status.
func HasMAASGivenUp(status string) bool {
	return slices.Contains([]string{"Failed commissioning", "Failed testing", "Failed deployment"}, status)
}
