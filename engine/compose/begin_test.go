package compose

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/region"
)

// lateLedger renews a row, and answers after so long, call by call.
type lateLedger struct {
	engine.Ledger
	late    []time.Duration
	err     error
	renewed time.Time
}

func (l *lateLedger) Renew(context.Context, engine.Row) error {
	l.renewed = time.Now()
	if len(l.late) > 0 {
		time.Sleep(l.late[0])
		l.late = l.late[1:]
	}
	return l.err
}

// TestComposeFollowsRenewal: MAAS is asked right after the renewal from which others count the compose's
// time, or not at all.
func TestComposeFollowsRenewal(t *testing.T) {
	away := fmt.Errorf("no answer: %w", engine.ErrUnavailable)
	for name, tc := range map[string]struct {
		reason string
		late   []time.Duration
		err    error
		want   error
	}{
		"Prompt":    {"MAAS is asked right after the first renewal.", nil, nil, nil},
		"LateOnce":  {"The answer to a renewal came too late, so the renewal is made again.", []time.Duration{40 * time.Second}, nil, nil},
		"LateEver":  {"Each renewal is answered too late, so a later step tries again.", []time.Duration{9e9, 9e9, 9e9, 9e9, 9e9, 9e9}, nil, engine.ErrBusy},
		"Away":      {"The ledger is away, which is not the fault of the host.", nil, away, engine.ErrBusy},
		"Forbidden": {"Waiting does not help if the ledger refuses the renewal.", nil, engine.ErrForbidden, engine.ErrForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				book := &lateLedger{late: tc.late, err: tc.err}
				a := New(engine.Config{Ledger: book, Now: time.Now, ComposeWindow: 130 * time.Second}, region.New()).NewAttempt("o/web", engine.VMSpec{})
				err := a.renewBeforeSend(engine.Row{Name: "web"})(t.Context())
				if !errors.Is(err, tc.want) || tc.want == nil && time.Since(book.renewed) > maxRenewDuration {
					t.Errorf("%s\ngot %v, %s after the renewal", tc.reason, err, time.Since(book.renewed))
				}
			})
		})
	}
}
