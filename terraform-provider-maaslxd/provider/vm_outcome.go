package provider

import (
	"context"
	"errors"

	"github.com/maaslxd/maaslxd/engine"
)

// outcome is what a create that has ended means for Terraform's state.
type outcome int

const (
	// done: the VM is as planned.
	done outcome = iota
	// nothingMade: there is no VM, or none that has a name yet; the next
	// apply creates, and finds what this one may have begun.
	nothingMade
	// unfinished: there is a VM that needs more time.
	unfinished
	// useless: there is a VM that will not get there; it has to be replaced.
	useless
)

// outcomeOf judges how waiting for a VM within ctx ended.
func outcomeOf(ctx context.Context, vm engine.VM, err error) outcome {
	switch {
	case err == nil:
		return done
	case vm.SystemID == "" || vanished(err):
		return nothingMade
	case ctx.Err() != nil:
		return unfinished
	case engine.IsTerminal(err):
		return useless // MAAS gave it up, or refuses what was asked
	default:
		return unfinished
	}
}

// vanished tells whether the VM itself is gone. A name in the spec that MAAS
// does not know is something else.
func vanished(err error) bool {
	var spec *engine.SpecError
	return errors.Is(err, engine.ErrNotFound) && !errors.As(err, &spec)
}
