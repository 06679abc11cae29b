package region

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
)

// countingReports is a MAAS that has one event, and counts who asks.
type countingReports struct {
	engine.Reports
	asked int
	event string
	err   error
}

func (s *countingReports) LastEvents(context.Context, string, []string) ([]string, error) {
	s.asked++
	if s.err != nil {
		return nil, s.err
	}
	return []string{s.event}, nil
}

func (s *countingReports) Redact(text string, _ ...string) string { return text }

func (s *countingReports) FailedScripts(context.Context, engine.Machine, []string) ([]engine.FailedScript, error) {
	return nil, s.err
}

func TestFailuresAreAskedOnce(t *testing.T) {
	t.Parallel()
	now := time.Now()
	maas := &countingReports{event: "no disk"}
	c := engine.Config{Reports: maas, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}
	failed := engine.Machine{SystemID: "abc", Status: engine.StatusFailedDeployment, StatusMessage: "Failed"}
	again := failed
	again.StatusMessage = "Failed again"
	const first, second = "the last events: no disk", "the last events: no power"
	var all Failures
	for _, step := range []struct {
		reason string
		m      engine.Machine
		after  time.Duration
		event  string
		err    error
		want   string
		asked  int
	}{
		{"Nothing is known.", failed, 0, "no disk", nil, first, 1},
		{"A condition stays as it is.", failed, time.Minute, "no power", nil, first, 1},
		{"An event changes the message.", again, 0, "no power", nil, second, 2},
		{"MAAS is away: what was known stands.", again, time.Hour, "", errors.New("away"), second, 3},
		{"It is back.", again, 0, "no disk", nil, first, 4},
	} {
		now, maas.event, maas.err = now.Add(step.after), step.event, step.err
		got := all.Evidence(t.Context(), c, step.m)
		if diff := cmp.Diff(engine.Evidence{step.want}, got); diff != "" || maas.asked != step.asked {
			t.Errorf("%s\nasked %d times; -want +got:\n%s", step.reason, maas.asked, diff)
		}
	}
}
