package controller_test

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/maaslxd/maaslxd/acctest/mortal"
	"github.com/maaslxd/maaslxd/engine"
)

// mortalClient is a manager's way to the API server for as long as it lives. Its
// writes are told to note.
func mortalClient(api client.WithWatch, life *mortal.Life, note func(string) error) client.WithWatch {
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

// mortalLedger is a manager's ledger for as long as it lives.
type mortalLedger struct {
	engine.Ledger
	life *mortal.Life
}

func (l mortalLedger) Place(ctx context.Context, r engine.Reservation) (row engine.Row, fresh bool, err error) {
	err = l.life.Look("ledger: place", func() (err error) {
		row, fresh, err = l.Ledger.Place(ctx, r)
		return err
	})
	return row, fresh, err
}

func (l mortalLedger) Move(ctx context.Context, attempt int, r engine.Reservation) (row engine.Row, fresh bool, err error) {
	err = l.life.Look("ledger: move", func() (err error) {
		row, fresh, err = l.Ledger.Move(ctx, attempt, r)
		return err
	})
	return row, fresh, err
}

func (l mortalLedger) Renew(ctx context.Context, row engine.Row) error {
	return l.life.Look("ledger: renew", func() error { return l.Ledger.Renew(ctx, row) })
}

func (l mortalLedger) Bind(ctx context.Context, row engine.Row) error {
	return l.life.Look("ledger: bind", func() error { return l.Ledger.Bind(ctx, row) })
}

func (l mortalLedger) Leaving(ctx context.Context, key engine.Key) error {
	return l.life.Look("ledger: leaving", func() error { return l.Ledger.Leaving(ctx, key) })
}

func (l mortalLedger) Forget(ctx context.Context, key engine.Key) error {
	return l.life.Look("ledger: forget", func() error { return l.Ledger.Forget(ctx, key) })
}

func (l mortalLedger) Drop(ctx context.Context, row engine.Row) error {
	return l.life.Look("ledger: drop", func() error { return l.Ledger.Drop(ctx, row) })
}
