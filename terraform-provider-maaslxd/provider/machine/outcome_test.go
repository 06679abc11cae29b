package machine

import (
	"context"
	"fmt"
	"testing"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
)

// on is a machine in the status.
func on(status engine.Status) engine.BareMetal {
	return engine.BareMetal{Machine: engine.Machine{SystemID: "4y3h7n", Status: status}}
}

func TestOutcome(t *testing.T) {
	t.Parallel()
	refusal := &engine.Refusal{Message: "ended in the state Failed deployment", Err: engine.ErrConflict}
	misspelled := &engine.SpecError{Field: fieldpath.Of("deploy", "image"), Message: "no such image"}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	cases := map[string]struct {
		reason  string
		ctx     context.Context
		machine engine.BareMetal
		err     error
		want    diagnostics.Outcome
	}{
		"Done":             {reason: "No error.", machine: on(engine.StatusDeployed), want: diagnostics.CreateSucceeded},
		"NoMachine":        {reason: "Nothing was taken yet.", err: misspelled, want: diagnostics.NothingCreated},
		"Vanished":         {reason: "It was deleted meanwhile.", machine: on(engine.StatusDeploying), err: engine.ErrNotFound, want: diagnostics.NothingCreated},
		"TimeIsUp":         {reason: "It is on its way.", ctx: ended, machine: on(engine.StatusDeploying), err: refusal, want: diagnostics.Resumable},
		"DoesNotFit":       {reason: "Nothing is installed on it.", machine: on(engine.StatusAllocated), err: misspelled, want: diagnostics.Unusable},
		"DeploymentFailed": {reason: "MAAS gave it up.", machine: on(engine.StatusFailedDeployment), err: refusal, want: diagnostics.Unusable},
		"Deployed":         {reason: "What runs is not lost for a word.", machine: on(engine.StatusDeployed), err: refusal, want: diagnostics.Resumable},
		"NoAnswer":         {reason: "That says nothing of the machine.", machine: on(engine.StatusAllocated), err: fmt.Errorf("%w: %w", refusal, engine.ErrUnavailable), want: diagnostics.Resumable},
		"KeyRevoked":       {reason: "Nor does that.", machine: on(engine.StatusDeploying), err: fmt.Errorf("%w: %w", refusal, engine.ErrForbidden), want: diagnostics.Resumable},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.ctx == nil {
				tc.ctx = t.Context()
			}
			if got := outcomeOf(tc.ctx, tc.machine, tc.err); got != tc.want {
				t.Errorf("%s\ngot outcome %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
}

func TestNotesSeen(t *testing.T) {
	t.Parallel()
	marked := func(status engine.Status, data map[string]string) engine.BareMetal {
		m := on(status)
		m.OwnerData = data
		m.Finished = data[engine.StateData] == engine.StateFinished
		return m
	}
	const key = "default/machines/db-1"
	mine := map[string]string{engine.KeyData: key, engine.StateData: engine.StateFinished}
	cases := map[string]struct {
		reason string
		notes  notes
		seen   engine.BareMetal
		want   notes
		gone   bool
	}{
		"Finished":   {reason: "It is as it was.", notes: notes{Key: key}, seen: marked(engine.StatusDeployed, mine), want: notes{Key: key}},
		"Unfinished": {reason: "Its own mark says so.", notes: notes{Key: key}, seen: marked(engine.StatusDeploying, map[string]string{engine.KeyData: key}), want: notes{Key: key, Pending: true}},
		"Released":   {reason: "MAAS has cleared the marks.", notes: notes{Key: key}, seen: on(engine.StatusReady), want: notes{Key: key}, gone: true},
		"Taken":      {reason: "Another one has it.", notes: notes{Key: key}, seen: marked(engine.StatusDeployed, map[string]string{engine.KeyData: "x/machines/y"}), want: notes{Key: key}, gone: true},
		"RunDied": {
			reason: "It died after it had renamed the machine.", notes: notes{Key: "default/machines/before"},
			seen: marked(engine.StatusDeployed, map[string]string{engine.KeyData: key, engine.FormerData: "default/machines/before", engine.StateData: engine.StateFinished}),
			want: notes{Key: key},
		},
		"Imported":        {reason: "Its mark tells its key.", seen: marked(engine.StatusDeployed, mine), want: notes{Key: key}},
		"ImportedForeign": {reason: "Nobody has marked it.", seen: on(engine.StatusDeployed), want: notes{Foreign: true}},
		"ForeignReleased": {reason: "There is nothing on it.", notes: notes{Foreign: true}, seen: on(engine.StatusReady), want: notes{Foreign: true}, gone: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tc.notes.seen(tc.seen)
			if got.Key != tc.want.Key || got.Pending != tc.want.Pending || got.Foreign != tc.want.Foreign || got.gone(tc.seen) != tc.gone {
				t.Errorf("%s\nwant %+v (gone: %v), got %+v (gone: %v)", tc.reason, tc.want, tc.gone, got, got.gone(tc.seen))
			}
		})
	}
}
