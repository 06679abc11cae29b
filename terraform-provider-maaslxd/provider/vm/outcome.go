package vm

import (
	"context"
	"errors"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
)

// outcomeOf judges how waiting for a VM within ctx ended.
func outcomeOf(ctx context.Context, vm engine.VM, err error) diagnostics.Outcome {
	switch {
	case err == nil:
		return diagnostics.CreateSucceeded
	case vm.SystemID == "" || diagnostics.IsGone(err):
		return diagnostics.NothingCreated
	case ctx.Err() != nil:
		return diagnostics.Resumable
	case hopeless(vm, err):
		return diagnostics.Unusable
	default:
		return diagnostics.Resumable
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
