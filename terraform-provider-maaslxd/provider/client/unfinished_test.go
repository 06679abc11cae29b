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
	off := errors.New("web-1 was turned off for a change, and cannot be turned on again")
	cases := map[string]struct {
		reason string
		u      UnfinishedCreate
		err    error
		want   []string
	}{
		"Stopped": {"MAAS's last event says most.", UnfinishedCreate{}, stopped, []string{"VM web-1 is not finished: Deploying", "MAAS's last event: seen before", "The VM is kept in the state as abc"}},
		"LeftOff": {"The user must turn on a VM that stays off.", UnfinishedCreate{}, errors.Join(stopped, off), []string{"MAAS's last event: seen before", off.Error()}},
		"Other":   {"Without a stage the error is all there is.", UnfinishedCreate{}, off, []string{off.Error()}},
		"Besides": {"A hint comes last.", UnfinishedCreate{ExtraParagraph: "\n\nLook at the log."}, stopped, []string{"Look at the log."}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wait, cancel := context.WithCancel(t.Context())
			cancel()
			u := tc.u
			u.Object, u.KeptObject, u.Phase, u.SystemID = "VM web-1", "The VM", "Deploying", "abc"
			var diags diag.Diagnostics
			NewWithBackend(&Backend{Reports: &eventLog{}}).ReportUnfinished(wait, &diags, u, tc.err)
			if len(diags) != 1 {
				t.Fatalf("%s\ngot %v", tc.reason, diags)
			}
			for _, want := range tc.want {
				if got := diags[0].Summary() + "\n" + diags[0].Detail(); !strings.Contains(got, want) {
					t.Errorf("%s\ngot %s\nwant %q in it", tc.reason, got, want)
				}
			}
		})
	}
}
