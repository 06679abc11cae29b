package host

import (
	"context"
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
)

// hostInStatus is a host whose machine has the status.
func hostInStatus(status engine.Status) engine.Host {
	return engine.Host{Machine: engine.Machine{SystemID: "4y3h7n", Status: status}}
}

func TestOutcomeOfHost(t *testing.T) {
	t.Parallel()
	refusal := &engine.Refusal{Message: "project holds instances", Err: engine.ErrConflict}
	otherKey := &engine.Refusal{Message: "deployed to trust another certificate", Err: engine.ErrForbidden}
	misspelled := &engine.SpecError{Field: fieldpath.New("default_storage_pool"), Message: "no such pool"}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	cases := map[string]struct {
		reason string
		ctx    context.Context
		host   engine.Host
		err    error
		want   diagnostics.Outcome
	}{
		"Done":              {reason: "No error.", host: hostInStatus(engine.StatusDeployed), want: diagnostics.CreateSucceeded},
		"NoMachine":         {reason: "No machine was taken yet.", err: misspelled, want: diagnostics.NothingCreated},
		"Vanished":          {reason: "Somebody deleted it meanwhile.", host: hostInStatus(engine.StatusDeploying), err: engine.ErrNotFound, want: diagnostics.NothingCreated},
		"TimeIsUp":          {reason: "It still makes progress.", ctx: ended, host: hostInStatus(engine.StatusDeploying), err: refusal, want: diagnostics.CreateResumable},
		"Misspelled":        {reason: "Another setting repairs it in place.", host: hostInStatus(engine.StatusDeployed), err: misspelled, want: diagnostics.CreateResumable},
		"Instances":         {reason: "Making it anew would wipe the instances.", host: hostInStatus(engine.StatusDeployed), err: refusal, want: diagnostics.CreateResumable},
		"OtherKey":          {reason: "The right key pair repairs it in place.", host: hostInStatus(engine.StatusDeployed), err: otherKey, want: diagnostics.CreateResumable},
		"DoesNotFit":        {reason: "Nothing is installed on it.", host: hostInStatus(engine.StatusAllocated), err: misspelled, want: diagnostics.CreateFailed},
		"DeploymentFailed":  {reason: "Its deployment failed in MAAS.", host: hostInStatus(engine.StatusFailedDeployment), err: refusal, want: diagnostics.CreateFailed},
		"MAASDoesNotAnswer": {reason: "An unavailable MAAS says nothing about the host.", host: hostInStatus(engine.StatusAllocated), err: fmt.Errorf("%w: %w", refusal, engine.ErrUnavailable), want: diagnostics.CreateResumable},
		"MAASRevokedItsKey": {reason: "A revoked key of MAAS says nothing about the host.", host: hostInStatus(engine.StatusDeploying), err: engine.ErrForbidden, want: diagnostics.CreateResumable},
		"DeployedAndTimeUp": {reason: "The LXD is not there yet.", ctx: ended, host: hostInStatus(engine.StatusDeployed), err: engine.ErrUnavailable, want: diagnostics.CreateResumable},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.ctx == nil {
				tc.ctx = t.Context()
			}
			if got := createOutcome(tc.ctx, tc.host, tc.err); got != tc.want {
				t.Errorf("%s\ngot outcome %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
}

func TestDeployedMachineIsNotGivenBack(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, policy string
		spec           engine.HostSpec
		status         engine.Status
		want           bool
	}{
		"Deployed":  {reason: "Its project may hold instances.", policy: failureRelease, status: engine.StatusDeployed},
		"Adopted":   {reason: "The next apply continues.", policy: failureKeep, spec: engine.HostSpec{Machine: engine.MachineSpec{Adopt: true}}, status: engine.StatusDeployed},
		"Failed":    {reason: "The configuration asks for it.", policy: failureRelease, status: engine.StatusFailedDeployment, want: true},
		"Kept":      {reason: "The user wants to look at the failed machine.", policy: failureKeep, status: engine.StatusFailedDeployment},
		"Allocated": {reason: "Nothing is installed, so there is nothing to look at.", policy: failureKeep, status: engine.StatusAllocated, want: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := hostModel{OnCreateFailure: types.StringValue(tc.policy)}
			if got := mustReleaseFailedCreate(plan, tc.spec, hostInStatus(tc.status)); got != tc.want {
				t.Errorf("%s\nreleased: %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}
