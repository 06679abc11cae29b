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

func TestCreateOutcome(t *testing.T) {
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
		"Done":            {"Without an error the create succeeded.", t.Context(), made, nil, diagnostics.CreateSucceeded},
		"NoVM":            {"A VM without an id cannot be kept.", t.Context(), engine.VM{}, errors.New("x"), diagnostics.NothingCreated},
		"Vanished":        {"A deleted VM is not kept.", t.Context(), made, engine.MarkTerminal(engine.ErrNotFound), diagnostics.NothingCreated},
		"TimeUp":          {"A VM that makes progress is kept.", ended, made, ended.Err(), diagnostics.CreateResumable},
		"TimeUpWhileDown": {"Then the last error does not matter.", ended, made, fmt.Errorf("%w; last: %w", ended.Err(), engine.ErrForbidden), diagnostics.CreateResumable},
		"Unreachable":     {"MAAS will be available again.", t.Context(), made, engine.ErrUnavailable, diagnostics.CreateResumable},
		"HostAway":        {"A host will be available again.", t.Context(), made, &engine.Error{Type: engine.HostUnavailable}, diagnostics.CreateResumable},
		"Failed":          {"A VM that failed in MAAS cannot be used.", t.Context(), made, engine.MarkTerminal(&engine.Error{Type: engine.VMDeploymentFailed}), diagnostics.CreateFailed},
		"KeyRevoked": {
			"A revoked key says nothing about the VM.", t.Context(), made,
			&engine.Error{Type: engine.VMDeploymentFailed, Err: engine.ErrForbidden}, diagnostics.CreateResumable,
		},
		"Elsewhere": {
			"The page of a proxy says nothing about the VM.", t.Context(), made,
			&engine.Error{Type: engine.VMDeploymentFailed, Err: engine.MarkTerminal(engine.ErrUnavailable)}, diagnostics.CreateResumable,
		},
		"Locked": {
			"Somebody can remove a lock.", t.Context(), made,
			&engine.Refusal{Message: "it is locked", Err: engine.ErrConflict}, diagnostics.CreateResumable,
		},
		"RefusedWhileRunning": {
			"A typing error must not replace a running VM.", t.Context(),
			engine.VM{Machine: engine.Machine{SystemID: "4y3h7n", Status: engine.StatusDeployed}},
			&engine.SpecError{Field: fieldpath.New("zone"), Err: engine.ErrNotFound}, diagnostics.CreateResumable,
		},
		"NotNow": {
			"MAAS may be able to do it later.", t.Context(), made,
			&engine.Error{Type: engine.VMDeploymentFailed, Err: engine.ErrBusy}, diagnostics.CreateResumable,
		},
		"Refused": {
			"MAAS may finish it later.", t.Context(), made,
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
