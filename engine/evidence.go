package engine

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Reports reads MAAS's records of what machines did and reported. Its results are fit for
// people. They contain neither the given secrets nor credentials, and each text is a short
// line.
type Reports interface {
	// FirstBootFailures lists the failures since the machine was last deployed, the oldest
	// first, in the machine's own words. An empty list means that nothing failed yet, or that
	// the machine reported nothing.
	FirstBootFailures(ctx context.Context, systemID string) ([]string, error)
	// LastEvents lists the newest events of the machine above debug level, at most three, the
	// oldest first. The list is empty for an absent machine.
	LastEvents(ctx context.Context, systemID string, secrets []string) ([]string, error)
	// FailedScripts lists the scripts that failed when the machine came into its status, at
	// most three. The list is empty if no scripts lead to such a status. ErrNotFound for an
	// absent machine.
	FailedScripts(ctx context.Context, m Machine, secrets []string) ([]FailedScript, error)
	// Redact makes a text of MAAS about a machine fit for people, in the same way.
	Redact(text string, secrets ...string) string
}

// FailedScript is a script of MAAS that failed on a machine.
type FailedScript struct {
	Name       string
	Disk       string // the disk that it tested, empty for none
	StatusName string // MAAS's: "Failed", "Timed out"
	ExitStatus *int   // nil: it reported none
	Output     []string
}

// String is a sentence without its full stop.
func (s FailedScript) String() string {
	text := "script " + s.Name
	if s.Disk != "" {
		text += " on " + s.Disk
	}
	text += ": " + cmp.Or(s.StatusName, "Failed")
	if s.ExitStatus != nil && *s.ExitStatus != 0 {
		text += " with exit status " + strconv.Itoa(*s.ExitStatus)
	}
	if len(s.Output) > 0 {
		text += "; its output ends: " + strings.Join(s.Output, " | ")
	}
	return text
}

// Evidence is what MAAS shows of a failure besides the status: lines for people.
type Evidence []string

// String joins the evidence to the end of a one-line text. It is empty if there is none.
func (e Evidence) String() string {
	if len(e) == 0 {
		return ""
	}
	return ". MAAS shows " + strings.Join(e, ". ")
}

// evidenceTimeout bounds how long to ask MAAS why a machine failed. The failure must be
// reported soon, even if MAAS hardly answers.
const evidenceTimeout = 20 * time.Second

// ReadEvidence asks MAAS why a machine failed: for the failed scripts, and for the last events.
// It leaves out what the status message says already. The error tells what could not be read;
// the rest is returned all the same. With nil reports, it returns nothing.
func ReadEvidence(ctx context.Context, reports Reports, m Machine, secrets ...string) (Evidence, error) {
	if reports == nil || m.SystemID == "" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, evidenceTimeout)
	defer cancel()
	var e Evidence
	scripts, noScripts := reports.FailedScripts(ctx, m, secrets)
	for _, s := range scripts {
		e = append(e, s.String())
	}
	events, noEvents := reports.LastEvents(ctx, m.SystemID, secrets)
	message := reports.Redact(m.StatusMessage, secrets...)
	events = slices.DeleteFunc(events, func(said string) bool { return said == message })
	if len(events) > 0 {
		e = append(e, "the last events: "+strings.Join(events, "; "))
	}
	return e, errors.Join(noScripts, noEvents)
}

// EvidenceOfError finds the evidence of an error.
func EvidenceOfError(err error) Evidence {
	if e, ok := errors.AsType[*Error](err); ok && len(e.Evidence) > 0 {
		return e.Evidence
	}
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r.Evidence
	}
	return nil
}

// Secrets lists the texts of a deployment that no message may contain: the user-data, as
// plain text and as base64.
func (d *Deployment) Secrets() []string {
	if d == nil || len(d.UserData) == 0 {
		return nil
	}
	return []string{string(d.UserData), base64.StdEncoding.EncodeToString(d.UserData)}
}

// EndStateText says in which state a machine ended, in MAAS's words without the secrets. With
// nil reports, nothing is removed.
func EndStateText(m Machine, reports Reports, secrets ...string) string {
	text, message := fmt.Sprintf("ended in the state %q", m.StatusName), m.StatusMessage
	if reports != nil {
		message = reports.Redact(message, secrets...)
	}
	if message != "" {
		text += ": " + message
	}
	return text
}
