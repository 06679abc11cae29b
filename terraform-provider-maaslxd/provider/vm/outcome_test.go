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
		"Vanished":        {"A VM that was taken away is not kept.", t.Context(), made, engine.MarkTerminal(engine.ErrNotFound), diagnostics.NothingCreated},
		"TimeUp":          {"A VM that is on its way is kept.", ended, made, ended.Err(), diagnostics.CreateResumable},
		"TimeUpWhileDown": {"The last error does not matter then.", ended, made, fmt.Errorf("%w; last: %w", ended.Err(), engine.ErrForbidden), diagnostics.CreateResumable},
		"Unreachable":     {"A MAAS that is away comes back.", t.Context(), made, engine.ErrUnavailable, diagnostics.CreateResumable},
		"HostAway":        {"So does a host.", t.Context(), made, &engine.Error{Type: engine.HostUnavailable}, diagnostics.CreateResumable},
		"Failed":          {"What MAAS gave up is of no use.", t.Context(), made, engine.MarkTerminal(&engine.Error{Type: engine.VMDeploymentFailed}), diagnostics.CreateFailed},
		"KeyRevoked": {
			"A key that was revoked says nothing of the VM.", t.Context(), made,
			&engine.Error{Type: engine.VMDeploymentFailed, Err: engine.ErrForbidden}, diagnostics.CreateResumable,
		},
		"Elsewhere": {
			"Nor does the page of a proxy.", t.Context(), made,
			&engine.Error{Type: engine.VMDeploymentFailed, Err: engine.MarkTerminal(engine.ErrUnavailable)}, diagnostics.CreateResumable,
		},
		"Locked": {
			"A lock can be taken away.", t.Context(), made,
			&engine.Refusal{Message: "it is locked", Err: engine.ErrConflict}, diagnostics.CreateResumable,
		},
		"RefusedWhileRunning": {
			"A VM that runs is not made anew for a slip of the pen.", t.Context(),
			engine.VM{Machine: engine.Machine{SystemID: "4y3h7n", Status: engine.StatusDeployed}},
			&engine.SpecError{Field: fieldpath.New("zone"), Err: engine.ErrNotFound}, diagnostics.CreateResumable,
		},
		"NotNow": {
			"What MAAS cannot do now it may do later.", t.Context(), made,
			&engine.Error{Type: engine.VMDeploymentFailed, Err: engine.ErrBusy}, diagnostics.CreateResumable,
		},
		"Refused": {
			"Nor is what MAAS refuses to finish.", t.Context(), made,
			&engine.SpecError{Field: fieldpath.New("deploy", "image"), Err: engine.ErrNotFound}, diagnostics.CreateFailed,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := createOutcome(tc.ctx, tc.vm, tc.err); got != tc.want {
				t.Errorf("%s\ngot %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
}
