package controllertest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/maaslxd/maaslxd/acctest/mortal"
	"github.com/maaslxd/maaslxd/engine"
)

// DieOfEach has a life lived without a death, in which certain things must be done,
// and then with one death at each thing that was done in it. The first one is lived
// whatever -run selects.
func DieOfEach(t *testing.T, live func(*testing.T, *mortal.Fate), must ...string) {
	t.Helper()
	calm := mortal.Never()
	live(t, calm)
	if missing := calm.Missing(must...); len(missing) > 0 || t.Failed() {
		t.Fatalf("the life that nobody cut short lacks %q", missing)
	}
	var toll mortal.Toll
	for _, deed := range calm.Deeds() {
		if !isFatal(deed) {
			continue
		}
		t.Run(deed.Name(), func(t *testing.T) {
			fate := mortal.Of(deed)
			live(t, fate)
			toll.Note(deed, fate)
		})
	}
	for _, what := range toll.Survived() {
		t.Errorf("no manager was killed at %q", what)
	}
	t.Logf("killed at %d different things", toll.Noted())
}

// isFatal tells what one dies of: a look that is repeated shows nothing new, and who
// dies after a write to the API server leaves what one leaves who dies just before
// the next thing.
func isFatal(d mortal.Deed) bool {
	switch {
	case strings.HasPrefix(d.What, "GET "):
		return d.Again == 1
	case strings.HasPrefix(d.What, "patch "):
		return strings.HasSuffix(d.What, mortal.Undone)
	}
	return true
}

// MortalClient is a manager's way to the API server for as long as it lives. Its
// writes are told to note.
func MortalClient(api client.WithWatch, life *mortal.Life, note func(string) error) client.WithWatch {
	write := func(what string, o client.Object, do func() error) error {
		what = fmt.Sprintf("%s %T %s", what, o, o.GetName())
		return life.Act(what, func() error {
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

// MortalLedger is a manager's ledger for as long as it lives.
type MortalLedger struct {
	engine.Ledger
	Life *mortal.Life
}

// Place implements engine.Ledger.
func (l MortalLedger) Place(ctx context.Context, r engine.Reservation) (row engine.Row, fresh bool, err error) {
	err = l.Life.Look("ledger: place", func() (err error) {
		row, fresh, err = l.Ledger.Place(ctx, r)
		return err
	})
	return row, fresh, err
}

// Move implements engine.Ledger.
func (l MortalLedger) Move(ctx context.Context, attempt int, r engine.Reservation) (row engine.Row, fresh bool, err error) {
	err = l.Life.Look("ledger: move", func() (err error) {
		row, fresh, err = l.Ledger.Move(ctx, attempt, r)
		return err
	})
	return row, fresh, err
}

// Renew implements engine.Ledger.
func (l MortalLedger) Renew(ctx context.Context, row engine.Row) error {
	return l.Life.Look("ledger: renew", func() error { return l.Ledger.Renew(ctx, row) })
}

// Bind implements engine.Ledger.
func (l MortalLedger) Bind(ctx context.Context, row engine.Row) error {
	return l.Life.Look("ledger: bind", func() error { return l.Ledger.Bind(ctx, row) })
}

// Leaving implements engine.Ledger.
func (l MortalLedger) Leaving(ctx context.Context, key engine.Key) error {
	return l.Life.Look("ledger: leaving", func() error { return l.Ledger.Leaving(ctx, key) })
}

// Drop implements engine.Ledger.
func (l MortalLedger) Drop(ctx context.Context, row engine.Row) error {
	return l.Life.Look("ledger: drop", func() error { return l.Ledger.Drop(ctx, row) })
}
