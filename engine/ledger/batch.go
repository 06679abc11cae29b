package ledger

import (
	"context"
	"database/sql"
	"slices"
	"sync"
	"time"
)

// batches do the writes of a replicated database. A transaction costs a round to most of
// the nodes, and a write to the disk of each. So those that wait while one is under way go
// together in the next one.
//
// Writes are keyed: a batch whose outcome nobody knows is done again.
type batches struct {
	store *store

	mu      sync.Mutex
	waiting []*queuedWrite
	running bool

	// For the goroutine that runs batches: a connection, and what is prepared on it.
	conn     *sql.Conn
	prepared map[string]*sql.Stmt
}

// queuedWrite is a statement on its way.
type queuedWrite struct {
	ctx       context.Context
	statement string
	args      []any
	done      chan error
}

// maxBatch bounds how long a batch keeps writes of other nodes waiting.
const maxBatch = 64

// do does a write, with others that wait beside it. Where the caller's time is over, the
// write is not begun, or ends with its batch.
func (b *batches) do(ctx context.Context, statement string, args []any) error {
	w := &queuedWrite{ctx, statement, args, make(chan error, 1)}
	b.mu.Lock()
	b.waiting = append(b.waiting, w)
	if !b.running {
		b.running = true
		go b.run()
	}
	b.mu.Unlock()
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run does batches until nobody waits.
func (b *batches) run() {
	for batch := b.take(); len(batch) > 0; batch = b.take() {
		if len(batch) > 1 && b.together(batch) == nil {
			for _, w := range batch {
				w.done <- nil
			}
			continue
		}
		for _, w := range batch { // one alone, or some of which one is refused
			w.done <- b.store.alone(w.ctx, w.statement, w.args)
		}
	}
	b.giveUp()
}

// take takes those whose callers wait still. none: nobody runs any more.
func (b *batches) take() (batch []*queuedWrite) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = slices.DeleteFunc(b.waiting, func(w *queuedWrite) bool { return w.ctx.Err() != nil })
	n := min(len(b.waiting), maxBatch)
	batch = slices.Clone(b.waiting[:n])
	b.waiting = b.waiting[n:]
	b.running = n > 0
	return batch
}

// together does writes in one transaction. It ends when the first caller's time is over.
func (b *batches) together(batch []*queuedWrite) error {
	ctx := context.Background()
	for _, w := range batch {
		if end, ok := w.ctx.Deadline(); ok {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, end)
			defer cancel()
		}
	}
	return b.store.try(ctx, func(ctx context.Context) error {
		err := b.transact(ctx, batch)
		if err != nil {
			b.giveUp()
		}
		return err
	})
}

// transact sends a batch once.
func (b *batches) transact(ctx context.Context, batch []*queuedWrite) (err error) {
	if b.conn == nil {
		if b.conn, err = b.store.DB.Conn(ctx); err != nil {
			b.conn = nil
			return err
		}
		b.prepared = map[string]*sql.Stmt{}
	}
	if _, err := b.conn.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
		return err
	}
	for _, w := range batch {
		ready, err := b.prepare(ctx, w.statement)
		if err == nil {
			_, err = ready.ExecContext(ctx, w.args...)
		}
		if err != nil {
			b.undo(ctx)
			return err
		}
	}
	if _, err = b.conn.ExecContext(ctx, `COMMIT`); err != nil {
		b.undo(ctx)
	}
	return err
}

// undo rolls a transaction back, within time of its own.
func (b *batches) undo(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	rollBack(ctx, b.conn)
}

func (b *batches) prepare(ctx context.Context, statement string) (ready *sql.Stmt, err error) {
	if ready = b.prepared[statement]; ready != nil {
		return ready, nil
	}
	if ready, err = b.conn.PrepareContext(ctx, statement); err == nil {
		b.prepared[statement] = ready
	}
	return ready, err
}

// giveUp gives the connection back.
func (b *batches) giveUp() {
	for _, ready := range b.prepared {
		_ = ready.Close() // it ends with the connection anyway
	}
	if b.conn != nil {
		_ = b.conn.Close() // it goes back to the pool
	}
	b.conn, b.prepared = nil, nil
}
