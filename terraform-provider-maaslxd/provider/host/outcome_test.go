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

func TestMarksOfHostAreLost(t *testing.T) {
	t.Parallel()
	made, adopted := privateState{Key: hostMade.Key}, privateState{Key: hostMade.Key, Adopted: true}
	numbered, recorded := hostModel{VMHostID: types.Int64Value(7)}, hostModel{VMHostID: types.Int64Null()}
	seen := func(change func(*engine.Host)) engine.Host {
		h := hostInStatus(engine.StatusDeployed)
		h.VMHost = engine.VMHost{ID: 7, HostKey: "7", MachineID: h.Machine.SystemID}
		change(&h)
		return h
	}
	untouched := func(*engine.Host) {}
	mark := func(h *engine.Host) { h.Machine.OwnerData = map[string]string{engine.KeyData: "x"} }
	cases := map[string]struct {
		reason string
		state  hostModel
		notes  privateState
		seen   func(*engine.Host)
		want   bool
	}{
		"Deleted":    {"MAAS releases no machine that has a VM host.", numbered, made, untouched, true},
		"Installed":  {"It is still allocated for the host.", recorded, made, func(h *engine.Host) { h.Key = hostMade.Key }, true},
		"Adopted":    {"It may have been released, but its marks cost nothing.", recorded, adopted, untouched, true},
		"Other":      {"It was released, and perhaps deployed by somebody else.", recorded, made, untouched, false},
		"Marked":     {"Nobody touched it.", numbered, made, mark, false},
		"Unmarked":   {"It never had a mark.", numbered, privateState{Foreign: true}, untouched, false},
		"OtherHost":  {"It was released, and is a VM host of somebody else now.", numbered, made, func(h *engine.Host) { h.VMHost.ID = 8 }, false},
		"NoVMHost":   {"It may have been released and deployed again.", numbered, made, func(h *engine.Host) { h.VMHost = engine.VMHost{} }, false},
		"Released":   {"A release deletes the marks.", numbered, made, func(h *engine.Host) { h.Machine.Status = engine.StatusReady }, false},
		"OtherPlace": {"The VM host is on another machine.", numbered, made, func(h *engine.Host) { h.VMHost.MachineID = "abc123" }, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tc.notes.hasLostMarks(tc.state, seen(tc.seen)); got != tc.want {
				t.Errorf("%s\nlost its marks: %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}
