package host

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/region"
)

const (
	// reportsInterval is how often to ask MAAS for the reports of a machine.
	reportsInterval = 30 * time.Second
	// ownReportPrefix begins the reports of the first boot that we wrote. They say more than
	// the names of cloud-init's modules.
	ownReportPrefix = "maaslxd: "
	// maxReportLength limits the shown text, in characters.
	maxReportLength = 400
)

// firstBootReports remembers the reports of machines, so that not each look at an LXD costs a
// call to MAAS.
type firstBootReports struct {
	askIntervals   region.Intervals
	mu             sync.Mutex
	lastBySystemID map[string]string
}

// withFirstBootReport adds to a message the failures that the machine's first boot reports.
// They decide nothing: LXD's own answer does.
func (h *stepBase) withFirstBootReport(ctx context.Context, message string, m engine.Machine) string {
	if h.Reports == nil || m.SystemID == "" {
		return message
	}
	if h.reports.askIntervals.BeginIfDue(m.SystemID, reportsInterval, h.Now()) {
		failures, err := h.Reports.FirstBootFailures(ctx, m.SystemID)
		if err != nil {
			h.Log.DebugContext(ctx, "cannot read the reports of the first boot", "system_id", m.SystemID, "error", err)
		} else {
			h.reports.noteReport(m.SystemID, summarizeFailures(failures))
		}
	}
	if said := h.reports.lastReport(m.SystemID); said != "" {
		return message + ". Its first boot reports: " + said
	}
	return message
}

// summarizeFailures puts our own reports, or else the others, on one line.
func summarizeFailures(failures []string) string {
	var own []string
	for _, f := range failures {
		if text, ours := strings.CutPrefix(f, ownReportPrefix); ours {
			own = append(own, text)
		}
	}
	if len(own) == 0 {
		own = slices.Clone(failures)
	}
	slices.Sort(own)
	text := []rune(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.Join(slices.Compact(own), "; ")))
	if len(text) > maxReportLength {
		text = append(text[:maxReportLength], '…')
	}
	return string(text)
}

func (r *firstBootReports) noteReport(systemID, said string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lastBySystemID == nil {
		r.lastBySystemID = map[string]string{}
	}
	r.lastBySystemID[systemID] = said
}

func (r *firstBootReports) lastReport(systemID string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lastBySystemID[systemID]
}
