package client

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/maaslxd/maaslxd/engine"
)

// TestReportUnfinished: the text has what the user must act on, whatever MAAS's events say.
func TestReportUnfinished(t *testing.T) {
	t.Parallel()
	stopped := &engine.StoppedError{Progress: engine.Progress{Phase: "Deploying", Message: "seen before", Since: time.Now()}, Cause: context.Canceled}
	atLXD := &engine.StoppedError{Progress: engine.Progress{Phase: "WaitingForLXD", Message: "LXD is not there yet", Since: time.Now()}, Cause: context.DeadlineExceeded}
	off := errors.New("web-1 was turned off for a change, and cannot be turned on again")
	cases := map[string]struct {
		reason string
		u      UnfinishedCreate
		err    error
		want   []string
		never  string
	}{
		"Stopped": {"MAAS's last event says most.", UnfinishedCreate{}, stopped, []string{"VM web-1 is not finished: Deploying", "MAAS's last event: seen before", "It was interrupted.", "The VM is kept in the state as abc"}, "it was interrupted"},
		"LeftOff": {"The user must turn on a VM that stays off.", UnfinishedCreate{}, errors.Join(stopped, off), []string{"MAAS's last event: seen before", off.Error()}, "it was interrupted"},
		"Shows":   {"The error says only what the stage says.", UnfinishedCreate{ShowsError: true}, stopped, []string{"MAAS's last event: seen before"}, "The last phase"},
		"ShowsLXD": {"The error says what an LXD answered, and MAAS's event does not.", UnfinishedCreate{ShowsError: true, Secrets: []string{"s3cret"}}, atLXD, []string{
			"MAAS's last event: Powering on.", "The last phase was WaitingForLXD", "LXD is not there yet."}, "it was interrupted"},
		"Other":   {"Without a stage the error is all there is.", UnfinishedCreate{}, off, []string{off.Error()}, "it was interrupted"},
		"Besides": {"A hint comes last.", UnfinishedCreate{ExtraParagraph: "\n\nLook at the log."}, stopped, []string{"Look at the log."}, "it was interrupted"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wait, cancel := context.WithCancel(t.Context())
			cancel()
			u := tc.u
			u.Object, u.KeptObject, u.Phase, u.SystemID = "VM web-1", "The VM", "Deploying", "abc"
			var diags diag.Diagnostics
			NewWithBackend(&Backend{Reports: &eventLog{events: []string{"Powering on"}}}).ReportUnfinished(wait, &diags, u, tc.err)
			if len(diags) != 1 {
				t.Fatalf("%s\ngot %v", tc.reason, diags)
			}
			got := diags[0].Summary() + "\n" + diags[0].Detail()
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("%s\ngot %s\nwant %q in it", tc.reason, got, want)
				}
			}
			if strings.Contains(got, tc.never) {
				t.Errorf("%s\ngot %s\nwant %q nowhere", tc.reason, got, tc.never)
			}
		})
	}
}
