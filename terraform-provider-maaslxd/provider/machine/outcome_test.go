package machine

import (
	"context"
	"fmt"
	"testing"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
)

// machineInStatus is a machine with the status.
func machineInStatus(status engine.Status) engine.BareMetal {
	return engine.BareMetal{Machine: engine.Machine{SystemID: "4y3h7n", Status: status}}
}

func TestCreateOutcome(t *testing.T) {
	t.Parallel()
	refusal := &engine.Refusal{Message: "ended in the state Failed deployment", Err: engine.ErrConflict}
	misspelled := &engine.SpecError{Field: fieldpath.New("deploy", "image"), Message: "no such image"}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	cases := map[string]struct {
		reason  string
		ctx     context.Context
		machine engine.BareMetal
		err     error
		want    diagnostics.Outcome
	}{
		"Done":             {reason: "Without an error the create succeeded.", machine: machineInStatus(engine.StatusDeployed), want: diagnostics.CreateSucceeded},
		"NoMachine":        {reason: "The create failed before it took a machine.", err: misspelled, want: diagnostics.NothingCreated},
		"Vanished":         {reason: "Somebody deleted the machine during the create.", machine: machineInStatus(engine.StatusDeploying), err: engine.ErrNotFound, want: diagnostics.NothingCreated},
		"TimeIsUp":         {reason: "The time is up, but the machine still makes progress.", ctx: ended, machine: machineInStatus(engine.StatusDeploying), err: refusal, want: diagnostics.CreateResumable},
		"DoesNotFit":       {reason: "A machine without a system loses nothing if it is replaced.", machine: machineInStatus(engine.StatusAllocated), err: misspelled, want: diagnostics.CreateFailed},
		"DeploymentFailed": {reason: "A machine whose deployment failed in MAAS cannot be used.", machine: machineInStatus(engine.StatusFailedDeployment), err: refusal, want: diagnostics.CreateFailed},
		"Deployed":         {reason: "A refused setting must not destroy a running machine.", machine: machineInStatus(engine.StatusDeployed), err: refusal, want: diagnostics.CreateResumable},
		"NoAnswer":         {reason: "An unavailable MAAS says nothing about the machine.", machine: machineInStatus(engine.StatusAllocated), err: fmt.Errorf("%w: %w", refusal, engine.ErrUnavailable), want: diagnostics.CreateResumable},
		"KeyRevoked":       {reason: "A revoked key of MAAS says nothing about the machine.", machine: machineInStatus(engine.StatusDeploying), err: fmt.Errorf("%w: %w", refusal, engine.ErrForbidden), want: diagnostics.CreateResumable},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.ctx == nil {
				tc.ctx = t.Context()
			}
			if got := createOutcome(tc.ctx, tc.machine, tc.err); got != tc.want {
				t.Errorf("%s\ngot outcome %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
}

func TestNotesSeen(t *testing.T) {
	t.Parallel()
	marked := func(status engine.Status, data map[string]string) engine.BareMetal {
		m := machineInStatus(status)
		m.OwnerData = data
		m.Finished = data[engine.StateData] == engine.StateFinished
		return m
	}
	const key = "default/machines/db-1"
	mine := map[string]string{engine.KeyData: key, engine.StateData: engine.StateFinished}
	cases := map[string]struct {
		reason string
		notes  privateState
		seen   engine.BareMetal
		want   privateState
		gone   bool
	}{
		"Finished":   {reason: "A finished machine keeps its private state.", notes: privateState{Key: key}, seen: marked(engine.StatusDeployed, mine), want: privateState{Key: key}},
		"Unfinished": {reason: "The mark of the machine says that its create is not finished.", notes: privateState{Key: key}, seen: marked(engine.StatusDeploying, map[string]string{engine.KeyData: key}), want: privateState{Key: key, Pending: true}},
		"Released":   {reason: "MAAS clears the mark when it releases a machine.", notes: privateState{Key: key}, seen: machineInStatus(engine.StatusReady), want: privateState{Key: key}, gone: true},
		"Taken":      {reason: "The machine has the mark of another key.", notes: privateState{Key: key}, seen: marked(engine.StatusDeployed, map[string]string{engine.KeyData: "x/machines/y"}), want: privateState{Key: key}, gone: true},
		"Unmarked":   {reason: "Somebody deleted the mark, and the machine is still allocated for it.", notes: privateState{Key: key}, seen: engine.BareMetal{Machine: machineInStatus(engine.StatusDeployed).Machine, Ours: true}, want: privateState{Key: key, Pending: true}},
		"RunDied": {
			reason: "The run was killed after it had renamed the machine.", notes: privateState{Key: "default/machines/before"},
			seen: marked(engine.StatusDeployed, map[string]string{engine.KeyData: key, engine.FormerKeyData: "default/machines/before", engine.StateData: engine.StateFinished}),
			want: privateState{Key: key},
		},
		"Imported":        {reason: "An import takes the key from the machine's mark.", seen: marked(engine.StatusDeployed, mine), want: privateState{Key: key}},
		"ImportedForeign": {reason: "An import notes that the machine has no mark.", seen: machineInStatus(engine.StatusDeployed), want: privateState{Foreign: true}},
		"ForeignReleased": {reason: "A foreign machine without a system was released.", notes: privateState{Foreign: true}, seen: machineInStatus(engine.StatusReady), want: privateState{Foreign: true}, gone: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tc.notes.withObserved(tc.seen)
			if got.Key != tc.want.Key || got.Pending != tc.want.Pending || got.Foreign != tc.want.Foreign || got.isGone(tc.seen) != tc.gone {
				t.Errorf("%s\nwant %+v (gone: %v), got %+v (gone: %v)", tc.reason, tc.want, tc.gone, got, got.isGone(tc.seen))
			}
		})
	}
}
