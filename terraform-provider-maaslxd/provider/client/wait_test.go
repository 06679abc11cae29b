package client

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflogtest"

	"github.com/maaslxd/maaslxd/engine"
)

// eventLog is a MAAS that has these events, or does not answer.
type eventLog struct {
	engine.Reports
	events []string
	err    error
	asked  int
}

// LastEvents checks that it gets the texts that it must hide.
func (e *eventLog) LastEvents(_ context.Context, _ string, secrets []string) ([]string, error) {
	e.asked++
	if !slices.Equal(secrets, []string{"s3cret"}) {
		return nil, errors.New("the secrets are not given")
	}
	return e.events, e.err
}

// Redact implements engine.Reports.
func (*eventLog) Redact(text string, secrets ...string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, "…")
	}
	return text
}

func TestStageOfAnUnfinishedObject(t *testing.T) {
	t.Parallel()
	away := errors.New("MAAS does not answer")
	cases := map[string]struct {
		reason string
		log    eventLog
		last   error
		cause  error
		phase  string
		want   string
		asked  int
	}{
		"LastEvent": {
			"MAAS reports its last event.", eventLog{events: []string{"Commissioning", "Powering on"}}, nil, context.DeadlineExceeded, "Commissioning",
			"It is Commissioning since 00:00:00 UTC, for 12m0s. MAAS's last event: Powering on.", 1,
		},
		"NoAnswer": {
			"The event of the last read is used.", eventLog{err: away}, nil, context.DeadlineExceeded, "Commissioning",
			"It is Commissioning since 00:00:00 UTC, for 12m0s. MAAS's last event: seen before: ….", 1,
		},
		"Away": {
			"If MAAS did not answer, it is not asked again.", eventLog{}, away, context.DeadlineExceeded, "Commissioning",
			"MAAS's last event: seen before: …. The last error was: MAAS does not answer.", 0,
		},
		"Interrupted": {"An interrupted run does not wait.", eventLog{}, nil, context.Canceled, "Commissioning", "for 12m0s. MAAS's last event: seen before: ….", 0},
		"Unseen":      {"There was no read before.", eventLog{}, nil, context.DeadlineExceeded, "", "", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				stopped := &engine.StoppedError{Progress: engine.Progress{Phase: tc.phase, Message: "seen before: s3cret", Since: time.Now()}, Cause: tc.cause, Last: tc.last}
				time.Sleep(12 * time.Minute)
				got := NewWithBackend(&Backend{Reports: &tc.log}).describeStoppedPhase(t.Context(), UnfinishedCreate{Phase: "Commissioning", SystemID: "abc", Secrets: []string{"s3cret"}}, stopped)
				if !strings.Contains(got, tc.want) || tc.want == "" && got != "" || tc.log.asked != tc.asked {
					t.Errorf("%s\ngot %q after %d questions, want %q", tc.reason, got, tc.log.asked, tc.want)
				}
			})
		})
	}
}

func TestWaitTellsTheLog(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	ctx, cancel := context.WithTimeout(tflogtest.RootLogger(t.Context(), &out), time.Hour)
	defer cancel()
	steps := 0
	_, err := WaitAndLog(ctx, "VM web-1", func(context.Context) (engine.Result[string], error) {
		steps++
		return engine.Result[string]{Reason: "Deploying", Message: "Powering on", Done: steps == 2}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"@level":"info"`, `"object":"VM web-1"`, `"phase":"Deploying"`, `"message":"Powering on"`, `"left":"1h0m0s"`} {
		if strings.Count(out.String(), want) != 1 {
			t.Errorf("want %s once in %s", want, out.String())
		}
	}
}
