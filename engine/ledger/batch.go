package ledger

import (
	"context"
	"database/sql"
	"slices"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine/ledger/room"
)

// batchWriter do the writes of a replicated database. A transaction costs a round to most of
// the nodes, and a write to the disk of each. So those that wait while one is under way go
// together in the next one.
//
// Writes are keyed: a batch whose outcome nobody knows is done again.
type batchWriter struct {
	store *store

	mu      sync.Mutex
	waiting []*queuedWrite
	running bool
	arrived chan struct{} // something, when a write has come to wait
}

// queuedWrite is a write on its way.
type queuedWrite struct {
	ctx    context.Context
	change transactionFunc
	done   chan error
}

// nextBatchWait is how long a batch waits for the callers of the one before, who often come again
// at once. It is a part of what a transaction takes. One writer alone never waits.
const nextBatchWait = 4 * time.Millisecond

// maxBatch bounds how long a batch keeps writes of other nodes waiting.
const maxBatch = 16

// enqueue does a write, with others that wait beside it. Where the caller's time is over, the
// write is not begun, or ends with its batch.
func (b *batchWriter) enqueue(ctx context.Context, c transactionFunc) error {
	w := &queuedWrite{ctx, c, make(chan error, 1)}
	b.mu.Lock()
	b.waiting = append(b.waiting, w)
	if !b.running {
		b.running = true
		go b.processQueue()
	}
	b.mu.Unlock()
	select {
	case b.arrived <- struct{}{}:
	default:
	}
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// processQueue does batches until nobody waits.
func (b *batchWriter) processQueue() {
	for batch := b.nextBatch(); len(batch) > 0; batch = b.nextBatch() {
		if len(batch) > 1 && b.writeTogether(batch) == nil {
			for _, w := range batch {
				w.done <- nil
			}
		} else {
			for _, w := range batch { // one alone, or some of which one is refused
				w.done <- b.writeAlone(w)
			}
		}
		b.waitForNextBatch(len(batch))
	}
}

// waitForNextBatch waits until as many wait as the last batch had, besides those who wait already.
func (b *batchWriter) waitForNextBatch(last int) {
	late := time.NewTimer(nextBatchWait)
	defer late.Stop()
	for want := last + b.countWaiting(); want > 1 && b.countWaiting() < min(want, maxBatch); {
		select {
		case <-b.arrived:
		case <-late.C:
			return
		}
	}
}

// countWaiting is how many wait.
func (b *batchWriter) countWaiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting)
}

// nextBatch leaves out writes whose callers have gone. Where nobody waits, it returns none and
// ends the run. Who comes next begins another one.
func (b *batchWriter) nextBatch() (batch []*queuedWrite) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = slices.DeleteFunc(b.waiting, func(w *queuedWrite) bool { return w.ctx.Err() != nil })
	n := min(len(b.waiting), maxBatch)
	batch = slices.Clone(b.waiting[:n])
	b.waiting = b.waiting[n:]
	b.running = n > 0
	return batch
}

// writeAlone does a write in a transaction of its own.
func (b *batchWriter) writeAlone(w *queuedWrite) error {
	return b.store.retryWhileBusy(w.ctx, func(ctx context.Context) error { return b.commitBatch(ctx, []*queuedWrite{w}) })
}

// writeTogether does writes in one transaction. It ends when the first caller's time is over.
func (b *batchWriter) writeTogether(batch []*queuedWrite) error {
	ctx := context.Background()
	for _, w := range batch {
		if end, ok := w.ctx.Deadline(); ok {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, end)
			defer cancel()
		}
	}
	return b.store.retryWhileBusy(ctx, func(ctx context.Context) error { return b.commitBatch(ctx, batch) })
}

// commitBatch sends a batch once. It prepares no statements: to close one takes a word of the
// leader's, for which go-dqlite waits without end.
func (b *batchWriter) commitBatch(ctx context.Context, batch []*queuedWrite) error {
	conn, err := b.store.DB.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
		if ctx.Err() != nil {
			b.rollBackWithTimeout(ctx, conn) // it may have begun, and the next one to use the connection could not begin
		}
		return err
	}
	tx := &nodeTransaction{conn: conn}
	for _, w := range batch {
		if err == nil {
			err = w.change(ctx, tx)
		}
	}
	if err == nil && !tx.changed {
		err = tx.exec(ctx, fenceSQL)
	}
	if err == nil {
		_, err = conn.ExecContext(ctx, `COMMIT`)
	}
	if err != nil {
		b.rollBackWithTimeout(ctx, conn)
	}
	return err
}

// fenceSQL changes something where nothing else did. Most nodes must agree to a change, and to
// nothing else. For example, web-1 is placed, and dropped at a node that does not know yet
// that it leads no more: it has no web-1, and the drop would be answered as done.
const fenceSQL = `UPDATE fence SET count = count + 1`

// nodeTransaction is a transaction on the node that leads.
type nodeTransaction struct {
	conn      *sql.Conn
	changed   bool
	occupancy *room.Occupancy
}

func (u *nodeTransaction) cacheOccupancy(t *room.Occupancy) { u.occupancy = t }
func (u *nodeTransaction) cachedOccupancy() *room.Occupancy { return u.occupancy }

func (u *nodeTransaction) exec(ctx context.Context, statement string, args ...any) error {
	_, err := u.insert(ctx, statement, args...)
	return err
}

func (u *nodeTransaction) insert(ctx context.Context, statement string, args ...any) (bool, error) {
	u.occupancy = nil
	changed, err := hasChanged(u.conn.ExecContext(ctx, statement, args...))
	u.changed = u.changed || changed
	return changed, err
}

func (u *nodeTransaction) queryRow(ctx context.Context, query string, args []any, into ...any) error {
	return u.conn.QueryRowContext(ctx, query, args...).Scan(into...)
}

// rollBackWithTimeout rolls a transaction back, within time of its own.
func (b *batchWriter) rollBackWithTimeout(ctx context.Context, conn *sql.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	rollBack(ctx, conn)
}
