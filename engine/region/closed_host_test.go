package region

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// farLedger is a ledger on another machine that closes a host once, and is away then.
type farLedger struct {
	engine.Ledger
	slow  time.Duration // how long the first answer takes
	calls int
}

func (l *farLedger) CloseHost(ctx context.Context, _ engine.HostCloseRequest) error {
	if l.calls++; l.calls == 1 {
		time.Sleep(l.slow)
		return nil
	}
	select {
	case <-ctx.Done():
	case <-time.After(45 * time.Second): // as long as a client of a service tries
	}
	return fmt.Errorf("the ledger service does not answer: %w", engine.ErrUnavailable)
}

func (l *farLedger) OpenHost(context.Context, string, string) error { return nil }

// TestCloseEndsBeforeItsLease: where a close cannot be prolonged, the work on the host ends
// half a minute before others may compose there: MAAS may be at a call for that long.
func TestCloseEndsBeforeItsLease(t *testing.T) {
	for name, slow := range map[string]time.Duration{"Prompt": 0, "Late": 12 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := time.Now()
				c := engine.Config{Ledger: &farLedger{slow: slow}, Log: slog.New(slog.DiscardHandler)}
				closed, err := New().CloseHost(t.Context(), c, engine.VMHost{Name: "h1", HostKey: "h1"}, "")
				if err != nil {
					t.Fatal(err)
				}
				defer closed.End()
				<-closed.Context().Done()
				if left := closeLease - time.Since(asked); left < closeLease/2 {
					t.Errorf("the work ends %s before the close does, want %s", left, closeLease/2)
				}
			})
		})
	}
}
