package ledgertest

import (
	"context"
	"sync"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// faultyLedger is a ledger that sometimes gives a wrong answer.
type faultyLedger struct {
	engine.Ledger
	bindFunc  func(context.Context, engine.Row) error
	placeFunc func(context.Context, engine.Reservation) (engine.Row, bool, error)
	rowFunc   func(context.Context, engine.Key) (engine.Row, error)
}

func (l faultyLedger) Bind(ctx context.Context, row engine.Row) error {
	if l.bindFunc != nil {
		return l.bindFunc(ctx, row)
	}
	return l.Ledger.Bind(ctx, row)
}

func (l faultyLedger) Place(ctx context.Context, r engine.Reservation) (engine.Row, bool, error) {
	if l.placeFunc != nil {
		return l.placeFunc(ctx, r)
	}
	return l.Ledger.Place(ctx, r)
}

func (l faultyLedger) Row(ctx context.Context, key engine.Key) (engine.Row, error) {
	if l.rowFunc != nil {
		return l.rowFunc(ctx, key)
	}
	return l.Ledger.Row(ctx, key)
}

// TestWrongLedgersAreFound records histories of ledgers with wrong answers, and wants the judge to
// reject them. A judge that accepts all of them would accept any store.
func TestWrongLedgersAreFound(t *testing.T) {
	cases := map[string]struct {
		reason string
		lie    func(engine.Ledger) engine.Ledger
		want   porcupine.CheckResult
	}{
		"Honest": {"The ledger of a process takes one operation after the other.", func(l engine.Ledger) engine.Ledger { return l }, porcupine.Ok},
		"LostWrite": {
			reason: "A write that was acknowledged must be there.",
			lie: func(l engine.Ledger) engine.Ledger {
				return faultyLedger{Ledger: l, bindFunc: func(ctx context.Context, row engine.Row) error { return nil }}
			},
			want: porcupine.Illegal,
		},
		"OldRead": {
			reason: "A read must not show a row as it was before a write that was answered.",
			lie: func(l engine.Ledger) engine.Ledger {
				var mu sync.Mutex
				before := map[engine.Key]engine.Row{}
				return faultyLedger{Ledger: l, rowFunc: func(ctx context.Context, key engine.Key) (engine.Row, error) {
					mu.Lock()
					defer mu.Unlock()
					old, known := before[key]
					row, err := l.Row(ctx, key)
					before[key] = row
					if known && old.State == engine.RowPending {
						return old, nil
					}
					return row, err
				}}
			},
			want: porcupine.Illegal,
		},
		"TooMuchRoom": {
			reason: "A host never has more rows than it has room for.",
			lie: func(l engine.Ledger) engine.Ledger {
				return faultyLedger{Ledger: l, placeFunc: func(ctx context.Context, r engine.Reservation) (engine.Row, bool, error) {
					generous := make([]engine.Candidate, len(r.Candidates))
					for n, host := range r.Candidates {
						host.Free.Cores++
						generous[n] = host
					}
					r.Candidates = generous
					return l.Place(ctx, r)
				}}
			},
			want: porcupine.Illegal,
		},
		"NoReason": {
			reason: "A ledger may refuse a reservation only if room is missing.",
			lie: func(l engine.Ledger) engine.Ledger {
				return faultyLedger{Ledger: l, placeFunc: func(context.Context, engine.Reservation) (engine.Row, bool, error) {
					return engine.Row{}, false, engine.ErrBusy
				}}
			},
			want: porcupine.Illegal,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := ledger.NewMemory(nil)
			defer l.Close()
			h, last := recordHistory(t, Trial{Open: func(int) engine.Ledger { return tc.lie(l) }, Clients: 4, Steps: 100, Seed: 1})
			if got, _ := h.findOrder(last); got != tc.want {
				t.Errorf("%s\nverdict %s, want %s: %s", tc.reason, got, tc.want, h)
			}
		})
	}
}
