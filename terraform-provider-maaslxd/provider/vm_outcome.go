package provider

import (
	"context"
	"errors"
	"slices"

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
	case hopeless(vm, err):
		return useless
	default:
		return unfinished
	}
}

// hopeless tells whether the error says that this very VM will not get there:
// MAAS gave it up, or the configuration asks of it what cannot be had while
// nothing is installed on it yet. A key that was revoked, a proxy's page or a
// lock say nothing of the VM.
func hopeless(vm engine.VM, err error) bool {
	if _, ok := errors.AsType[*engine.SpecError](err); ok {
		return vm.Status.Phase() != engine.PhaseDeployed
	}
	e, ok := errors.AsType[*engine.Error](err)
	return ok && (e.Type == engine.VMCreationFailed || e.Type == engine.VMDeploymentFailed) &&
		engine.IsTerminal(err) && !slices.ContainsFunc(notTheVM, func(s error) bool { return errors.Is(err, s) })
}

// notTheVM are the causes that lie elsewhere.
var notTheVM = []error{
	engine.ErrForbidden, engine.ErrUnavailable, engine.ErrUnclear, engine.ErrGone, engine.ErrConflict, engine.ErrBusy,
}

// vanished tells whether the VM itself is gone. A name in the spec that MAAS
// does not know is something else.
func vanished(err error) bool {
	var spec *engine.SpecError
	return errors.Is(err, engine.ErrNotFound) && !errors.As(err, &spec)
}
