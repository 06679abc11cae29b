package host

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/machine"
	"github.com/maaslxd/maaslxd/engine/region"
)

// fakeReports are first boots that reported something, by system id.
type fakeReports map[string][]string

func (fakeReports) LastEvents(context.Context, string, []string) ([]string, error) { return nil, nil }

func (fakeReports) Redact(text string, _ ...string) string { return text }

func (fakeReports) FailedScripts(context.Context, engine.Machine, []string) ([]engine.FailedScript, error) {
	return nil, nil
}

func (f fakeReports) FirstBootFailures(_ context.Context, systemID string) ([]string, error) {
	if f == nil {
		return nil, errors.New("MAAS is not there")
	}
	return f[systemID], nil
}

func TestFirstBootSays(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		from   engine.Reports
		want   string
	}{
		"Nobody":  {"Without a source of reports the message stays as it is.", nil, "not there"},
		"Nothing": {"This machine has reported no failure.", fakeReports{"other": {"maaslxd: no"}}, "not there"},
		"Absent":  {"If MAAS does not give the reports, the message stays as it is.", fakeReports(nil), "not there"},
		"Ours": {
			"Our own reports say more than those of cloud-init. Each is shown once.",
			fakeReports{"abc": {"running config-lxd", "maaslxd: there is no pool", "maaslxd: there is no pool", "running config-scripts-user"}},
			"not there. Its first boot reports: there is no pool",
		},
		"Modules": {"Without our own reports, those of cloud-init are shown.", fakeReports{"abc": {"running config-lxd"}}, "not there. Its first boot reports: running config-lxd"},
		"Hostile": {"A report becomes one line of limited length.", fakeReports{"abc": {"maaslxd: a\n\x1b[0m" + strings.Repeat("b", 1000)}},
			"not there. Its first boot reports: a  [0m" + strings.Repeat("b", maxReportLength-6) + "…"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := New(machine.New(engine.Config{Reports: tc.from, Now: time.Now, Log: slog.New(slog.DiscardHandler)}, region.New()), region.New())
			for range 2 { // the second look is answered from the first
				if got := h.withFirstBootReport(t.Context(), "not there", engine.Machine{SystemID: "abc"}); got != tc.want {
					t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
				}
			}
		})
	}
}

// TestFirstBootSaysLater: what is said later is heard, though not at each look.
func TestFirstBootSaysLater(t *testing.T) {
	t.Parallel()
	now := time.Now()
	from := fakeReports{}
	h := New(machine.New(engine.Config{Reports: from, Now: func() time.Time { return now }}, region.New()), region.New())
	look := func() string { return h.withFirstBootReport(t.Context(), "not there", engine.Machine{SystemID: "abc"}) }
	look()
	from["abc"] = []string{"maaslxd: no"}
	if got := look(); got != "not there" {
		t.Errorf("MAAS was asked at each look: %s", got)
	}
	now = now.Add(reportsInterval)
	if got := look(); got != "not there. Its first boot reports: no" {
		t.Errorf("what was said later is not heard: %s", got)
	}
}
