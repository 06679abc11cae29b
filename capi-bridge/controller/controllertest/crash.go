package controllertest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/maaslxd/maaslxd/acctest/crash"
	"github.com/maaslxd/maaslxd/engine"
)

// CrashAtEach runs a test once without a crash, and checks that certain
// operations occur in it. Then it runs the test once for each operation, with a
// crash there. The first run happens whatever -run selects.
func CrashAtEach(t *testing.T, live func(*testing.T, *crash.Plan), must ...string) {
	t.Helper()
	calm := crash.NeverCrash()
	live(t, calm)
	if missing := calm.MissingOperations(must...); len(missing) > 0 || t.Failed() {
		t.Fatalf("the run without a crash lacks %q", missing)
	}
	var toll crash.Coverage
	for _, deed := range calm.Operations() {
		if !isCrashPoint(deed) {
			continue
		}
		t.Run(deed.SubtestName(), func(t *testing.T) {
			fate := crash.CrashAt(deed)
			live(t, fate)
			toll.RecordRun(deed, fate)
		})
	}
	for _, what := range toll.NeverCrashed() {
		t.Errorf("no manager was killed at %q", what)
	}
	t.Logf("killed at %d different operations", toll.PlannedCrashes())
}

// isCrashPoint reports whether a run with a crash at this operation is worth
// its time. A repeated read shows nothing new. A crash after a write to the API
// server leaves the same state as a crash just before the next operation.
func isCrashPoint(d crash.Operation) bool {
	switch {
	case strings.HasPrefix(d.Label, "GET "):
		return d.Occurrence == 1
	case strings.HasPrefix(d.Label, "patch "):
		return strings.HasSuffix(d.Label, crash.NotDoneSuffix)
	}
	return true
}

// CrashableClient is a manager's client of the API server until the manager
// crashes. It calls note with each write.
func CrashableClient(api client.WithWatch, life *crash.Process, note func(string) error) client.WithWatch {
	write := func(what string, o client.Object, do func() error) error {
		what = fmt.Sprintf("%s %T %s", what, o, o.GetName())
		return life.DoWrite(what, func() error {
			if err := note(what); err != nil {
				return err
			}
			return do()
		})
	}
	return interceptor.NewClient(api, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return write("patch", o, func() error { return c.Patch(ctx, o, p, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			return write("patch "+sub+" of", o, func() error { return c.SubResource(sub).Patch(ctx, o, p, opts...) })
		},
	})
}

// CrashableLedger is a manager's ledger until the manager crashes.
type CrashableLedger struct {
	engine.Ledger
	Life *crash.Process
}

// Place implements engine.Ledger.
func (l CrashableLedger) Place(ctx context.Context, r engine.Reservation) (row engine.Row, fresh bool, err error) {
	err = l.Life.DoRead("ledger: place", func() (err error) {
		row, fresh, err = l.Ledger.Place(ctx, r)
		return err
	})
	return row, fresh, err
}

// Move implements engine.Ledger.
func (l CrashableLedger) Move(ctx context.Context, attempt int, r engine.Reservation) (row engine.Row, fresh bool, err error) {
	err = l.Life.DoRead("ledger: move", func() (err error) {
		row, fresh, err = l.Ledger.Move(ctx, attempt, r)
		return err
	})
	return row, fresh, err
}

// Renew implements engine.Ledger.
func (l CrashableLedger) Renew(ctx context.Context, row engine.Row) error {
	return l.Life.DoRead("ledger: renew", func() error { return l.Ledger.Renew(ctx, row) })
}

// Bind implements engine.Ledger.
func (l CrashableLedger) Bind(ctx context.Context, row engine.Row) error {
	return l.Life.DoRead("ledger: bind", func() error { return l.Ledger.Bind(ctx, row) })
}

// MarkLeaving implements engine.Ledger.
func (l CrashableLedger) MarkLeaving(ctx context.Context, key engine.Key) error {
	return l.Life.DoRead("ledger: leaving", func() error { return l.Ledger.MarkLeaving(ctx, key) })
}

// Drop implements engine.Ledger.
func (l CrashableLedger) Drop(ctx context.Context, row engine.Row) error {
	return l.Life.DoRead("ledger: drop", func() error { return l.Ledger.Drop(ctx, row) })
}
