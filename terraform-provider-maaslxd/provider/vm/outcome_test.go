package vm

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
)

func TestOutcome(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	made := engine.VM{Machine: engine.Machine{SystemID: "4y3h7n"}}
	cases := map[string]struct {
		reason string
		ctx    context.Context
		vm     engine.VM
		err    error
		want   diagnostics.Outcome
	}{
		"Done":            {"No error, no doubt.", t.Context(), made, nil, diagnostics.CreateSucceeded},
		"NoVM":            {"What has no id cannot be kept.", t.Context(), engine.VM{}, errors.New("x"), diagnostics.NothingCreated},
		"Vanished":        {"A VM that was taken away is not kept.", t.Context(), made, engine.Terminal(engine.ErrNotFound), diagnostics.NothingCreated},
		"TimeUp":          {"A VM that is on its way is kept.", ended, made, ended.Err(), diagnostics.Resumable},
		"TimeUpWhileDown": {"The last error does not matter then.", ended, made, fmt.Errorf("%w; last: %w", ended.Err(), engine.ErrForbidden), diagnostics.Resumable},
		"Unreachable":     {"A MAAS that is away comes back.", t.Context(), made, engine.ErrUnavailable, diagnostics.Resumable},
		"HostAway":        {"So does a host.", t.Context(), made, &engine.Error{Type: engine.HostUnavailable}, diagnostics.Resumable},
		"Failed":          {"What MAAS gave up is of no use.", t.Context(), made, engine.Terminal(&engine.Error{Type: engine.VMDeploymentFailed}), diagnostics.Unusable},
		"KeyRevoked": {
			"A key that was revoked says nothing of the VM.", t.Context(), made,
			&engine.Error{Type: engine.VMDeploymentFailed, Err: engine.ErrForbidden}, diagnostics.Resumable,
		},
		"Elsewhere": {
			"Nor does the page of a proxy.", t.Context(), made,
			&engine.Error{Type: engine.VMDeploymentFailed, Err: engine.Terminal(engine.ErrUnavailable)}, diagnostics.Resumable,
		},
		"Locked": {
			"A lock can be taken away.", t.Context(), made,
			&engine.Refusal{Message: "it is locked", Err: engine.ErrConflict}, diagnostics.Resumable,
		},
		"RefusedWhileRunning": {
			"A VM that runs is not made anew for a slip of the pen.", t.Context(),
			engine.VM{Machine: engine.Machine{SystemID: "4y3h7n", Status: engine.StatusDeployed}},
			&engine.SpecError{Field: fieldpath.Of("zone"), Err: engine.ErrNotFound}, diagnostics.Resumable,
		},
		"NotNow": {
			"What MAAS cannot do now it may do later.", t.Context(), made,
			&engine.Error{Type: engine.VMDeploymentFailed, Err: engine.ErrBusy}, diagnostics.Resumable,
		},
		"Refused": {
			"Nor is what MAAS refuses to finish.", t.Context(), made,
			&engine.SpecError{Field: fieldpath.Of("deploy", "image"), Err: engine.ErrNotFound}, diagnostics.Unusable,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := outcomeOf(tc.ctx, tc.vm, tc.err); got != tc.want {
				t.Errorf("%s\ngot %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
}
