package diagnostics

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/maaslxd/maaslxd/engine"
)

// TestEndIsToldOnce: the text says once why a wait ended, and then what it saw last.
func TestEndIsToldOnce(t *testing.T) {
	t.Parallel()
	off := errors.New("web is off, and cannot be turned on again")
	cases := map[string]struct {
		reason string
		err    func(*engine.StoppedError) error
		phase  string
		last   error
		want   string
	}{
		"Phase":    {"MAAS's message only repeats the phase.", asIs, "Deployed", nil, "The last phase was Deployed for 4s."},
		"Message":  {"MAAS's message says more.", asIs, "Ready", nil, "The last phase was Ready for 4s: Deployed."},
		"Failing":  {"MAAS went away meanwhile.", asIs, "Ready", errors.New("rack is away"), "The last error was: rack is away."},
		"Unseen":   {"Nothing was seen.", asIs, "", nil, ""},
		"LeftOff":  {"The user must turn the VM on.", func(s *engine.StoppedError) error { return errors.Join(s, off) }, "Ready", nil, "The last phase was Ready for 4s: Deployed. " + off.Error() + "."},
		"OtherEnd": {"No wait was begun.", func(*engine.StoppedError) error { return context.Canceled }, "", nil, ""},
		"Other":    {"No wait was begun, and something failed.", func(*engine.StoppedError) error { return off }, "", nil, off.Error() + "."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				wait, cancel := context.WithCancel(t.Context())
				cancel()
				stopped := &engine.StoppedError{Progress: engine.Progress{Phase: tc.phase, Message: "Deployed", Since: time.Now()}, Cause: context.Canceled, Last: tc.last}
				time.Sleep(4 * time.Second)
				var diags diag.Diagnostics
				ReportUpdate(wait, &diags, "update VM web", "VM web", tc.err(stopped))
				want := "It was interrupted.\n\nThe next apply continues from here." + Paragraph(tc.want)
				if len(diags) != 1 || diags[0].Detail() != want {
					t.Errorf("%s\ngot  %v\nwant %q", tc.reason, diags, want)
				}
			})
		})
	}
}

func asIs(s *engine.StoppedError) error { return s }
