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
	// reportsEvery is how often MAAS is asked for what a machine says.
	reportsEvery = 30 * time.Second
	// ownReports begin with this: they come from the first boot that we wrote,
	// and say more than the names of cloud-init's modules.
	ownReports = "maaslxd: "
	// maxReport bounds what of it is shown, in characters.
	maxReport = 400
)

// reports remembers what machines said, so that not each look at an LXD costs a
// call to MAAS.
type reports struct {
	asked region.Intervals
	mu    sync.Mutex
	said  map[string]string
}

// firstBootSays ends a message with what the first boot of the machine reports
// to have failed. It never decides anything: LXD's own answer does.
func (h *parts) firstBootSays(ctx context.Context, message string, m engine.Machine) string {
	if h.Reports == nil || m.SystemID == "" {
		return message
	}
	if h.reports.asked.Due(m.SystemID, reportsEvery, h.Now()) {
		failures, err := h.Reports.FirstBootFailures(ctx, m.SystemID)
		if err != nil {
			h.Log.DebugContext(ctx, "cannot read what the first boot says", "system_id", m.SystemID, "error", err)
		} else {
			h.reports.note(m.SystemID, summary(failures))
		}
	}
	if said := h.reports.of(m.SystemID); said != "" {
		return message + ". Its first boot reports: " + said
	}
	return message
}

// summary is our own reports, or else the others, in one line.
func summary(failures []string) string {
	var own []string
	for _, f := range failures {
		if text, ours := strings.CutPrefix(f, ownReports); ours {
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
	if len(text) > maxReport {
		text = append(text[:maxReport], '…')
	}
	return string(text)
}

func (r *reports) note(systemID, said string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.said == nil {
		r.said = map[string]string{}
	}
	r.said[systemID] = said
}

func (r *reports) of(systemID string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.said[systemID]
}
