package region

import (
	"context"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// evidenceTTL is how long to keep the evidence of a failure. A later event of it changes the
// machine's status message, which leads to a new question.
const evidenceTTL = 10 * time.Minute

// Failures remembers what MAAS showed of failed machines. So a manager that looks at one for
// days does not ask each time, and its message does not change back and forth.
type Failures struct {
	mu    sync.Mutex
	known map[string]knownFailure // by system id
}

type knownFailure struct {
	status  engine.Status
	message string
	asked   time.Time
	shown   engine.Evidence
}

// Evidence returns what MAAS shows of why the machine failed, without the secrets. If MAAS does
// not answer, it returns the earlier evidence, and asks again the next time.
func (f *Failures) Evidence(ctx context.Context, c engine.Config, m engine.Machine, secrets ...string) engine.Evidence {
	former, known := f.findKnown(m.SystemID)
	known = known && former.status == m.Status && former.message == m.StatusMessage
	if known && c.Now().Sub(former.asked) < evidenceTTL {
		return former.shown
	}
	shown, err := engine.ReadEvidence(ctx, c.Reports, m, secrets...)
	if err != nil {
		c.Log.DebugContext(ctx, "cannot read why a machine failed", "system_id", m.SystemID, "error", err)
		if known {
			return former.shown
		}
		return shown
	}
	f.noteKnown(m.SystemID, knownFailure{m.Status, m.StatusMessage, c.Now(), shown})
	return shown
}

func (f *Failures) findKnown(systemID string) (knownFailure, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known, ok := f.known[systemID]
	return known, ok
}

// noteKnown remembers a failure, and forgets those that are too old.
func (f *Failures) noteKnown(systemID string, seen knownFailure) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil {
		f.known = map[string]knownFailure{}
	}
	for id, former := range f.known {
		if seen.asked.Sub(former.asked) >= evidenceTTL {
			delete(f.known, id)
		}
	}
	f.known[systemID] = seen
}
