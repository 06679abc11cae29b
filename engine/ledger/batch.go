package ledger

import (
	"context"
	"database/sql"
	"slices"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine/ledger/room"
)

// batchWriter writes to a replicated database. A transaction costs a message to
// most nodes, and a disk write on each. So the writes that arrive during one
// transaction go together in the next one.
//
// Writes are keyed: a batch whose outcome is unknown is sent again.
type batchWriter struct {
	store *store

	mu      sync.Mutex
	waiting []*queuedWrite
	running bool
	arrived chan struct{} // signalled when a write begins to wait
}

// queuedWrite is a write that waits or runs.
type queuedWrite struct {
	ctx    context.Context
	change transactionFunc
	done   chan error
}

// nextBatchWait is how long a batch waits for the callers of the previous one,
// who often come again at once. It is a fraction of a transaction's time. A
// single writer never waits.
const nextBatchWait = 4 * time.Millisecond

// maxBatch limits how long a batch makes writes of other nodes wait.
const maxBatch = 16

// enqueue makes a write, together with others that wait. After the caller's deadline, the write
// does not begin, or it ends with its batch.
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

// processQueue writes batches until the queue is empty.
func (b *batchWriter) processQueue() {
	for batch := b.nextBatch(); len(batch) > 0; batch = b.nextBatch() {
		if len(batch) > 1 && b.writeTogether(batch) == nil {
			for _, w := range batch {
				w.done <- nil
			}
		} else {
			for _, w := range batch { // a single write, or a batch in which one write is refused
				w.done <- b.writeAlone(w)
			}
		}
		b.waitForNextBatch(len(batch))
	}
}

// waitForNextBatch waits until as many writes have come as the last batch had.
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

// countWaiting returns how many writes wait.
func (b *batchWriter) countWaiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting)
}

// nextBatch drops writes whose callers have gone, and returns the next batch.
// If no write waits, it returns none and ends the run. The next write begins
// another run.
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

// writeAlone makes one write in a transaction.
func (b *batchWriter) writeAlone(w *queuedWrite) error {
	return b.store.retryWhileBusy(w.ctx, func(ctx context.Context) error { return b.commitBatch(ctx, []*queuedWrite{w}) })
}

// writeTogether makes several writes in one transaction. It ends when the time of the first
// caller is over.
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

// commitBatch sends a batch once. It prepares no statements: closing one takes
// a reply of the leader, for which go-dqlite waits without end.
func (b *batchWriter) commitBatch(ctx context.Context, batch []*queuedWrite) error {
	conn, err := b.store.DB.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
		if ctx.Err() != nil {
			b.rollBackWithTimeout(ctx, conn) // the transaction may be open, and would block the next one on the connection
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

// fenceSQL changes a row where the batch changed nothing. Only a change needs
// the consent of most nodes. For example, web-1 is placed, and then dropped at
// a node that no longer leads but does not know that. The node has no web-1.
// Without the fence it would answer that the drop is done.
const fenceSQL = `UPDATE fence SET count = count + 1`

// nodeTransaction is a transaction on the leading node.
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

// rollBackWithTimeout rolls back a transaction, with its own timeout.
func (b *batchWriter) rollBackWithTimeout(ctx context.Context, conn *sql.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	rollBack(ctx, conn)
}
