package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger/lease"
	"github.com/maaslxd/maaslxd/engine/ledger/room"
)

// store runs statements and transactions, and repeats those that were not done
// because another program was writing.
type store struct {
	Database
	// turn holds a token for each statement or transaction that runs. Goroutines get one in the
	// order in which they asked; database/sql would choose one at random.
	turn        chan struct{}
	prepared    map[string]*sql.Stmt // by their text; a replicated database has none
	batchWriter batchWriter          // of a replicated database
	// openedGeneration is the number of the generation that this store's opening began.
	openedGeneration int64
	keeper           *lease.Keeper // of leases, for this process
}

// Pauses between tries, with jitter: as long as a few writes take.
const (
	minRetryPause = time.Millisecond
	maxRetryPause = 25 * time.Millisecond
)

// reader reads: a store by itself, or a transaction.
type reader interface {
	// queryRow reads one row, sql.ErrNoRows if there is none.
	queryRow(ctx context.Context, query string, args []any, into ...any) error
}

// transaction runs the statements of a change.
type transaction interface {
	reader
	// exec runs a statement that changes something.
	exec(ctx context.Context, statement string, args ...any) error
	// insert is exec for one row; false: there is one of its key already.
	insert(ctx context.Context, statement string, args ...any) (bool, error)
	// cacheOccupancy has what was read for the changes that follow in the same transaction, until
	// exec or insert. cachedOccupancy returns it; nil: there is nothing.
	cacheOccupancy(t *room.Occupancy)
	cachedOccupancy() *room.Occupancy
}

// transactionFunc does changes that happen as a whole or not at all. It may be
// called several times, so each call starts from the beginning. Its errors are
// those of the statements, or a *contentError. The values that it has read
// count only where runTransaction returns nil: otherwise it may still run.
//
// It sees its own writes. Outside a transaction, a node that no longer leads,
// but does not know that, could answer a read of a replicated database.
type transactionFunc func(ctx context.Context, tx transaction) error

// contentError says that what was read makes no sense. To read it again does not help.
type contentError struct{ error }

// exec runs a statement that changes something.
func (s *store) exec(ctx context.Context, statement string, args ...any) error {
	if s.Replicated {
		return s.runTransaction(ctx, func(ctx context.Context, tx transaction) error { return tx.exec(ctx, statement, args...) })
	}
	return s.retryWhileBusy(ctx, func(ctx context.Context) error {
		prepared, err := s.prepare(ctx, statement)
		if err != nil {
			return err
		}
		_, err = prepared.ExecContext(ctx, args...)
		return err
	})
}

// runTransaction does a change.
func (s *store) runTransaction(ctx context.Context, c transactionFunc) error {
	if s.Replicated {
		return s.batchWriter.enqueue(ctx, c)
	}
	return s.retryWhileBusy(ctx, func(ctx context.Context) error {
		tx, err := s.DB.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		p := &fileTransaction{Tx: tx, prepared: s.prepared}
		if err := c(ctx, p); err != nil {
			return errors.Join(err, tx.Rollback())
		}
		if err := tx.Commit(); err != nil {
			_, _ = s.DB.ExecContext(ctx, `ROLLBACK`) // SQLite may have left it open
			return err
		}
		for _, statement := range p.unprepared {
			_, _ = s.prepare(ctx, statement) // for the next time
		}
		return nil
	})
}

// fileTransaction is a transaction on a file, which uses statements that are ready to run.
type fileTransaction struct {
	*sql.Tx
	prepared   map[string]*sql.Stmt
	unprepared []string // statements that are not prepared
}

// A transaction on a file does one change, so nothing follows.
func (p *fileTransaction) cacheOccupancy(*room.Occupancy)   {}
func (p *fileTransaction) cachedOccupancy() *room.Occupancy { return nil }

func (p *fileTransaction) exec(ctx context.Context, statement string, args ...any) error {
	_, err := p.insert(ctx, statement, args...)
	return err
}

func (p *fileTransaction) insert(ctx context.Context, statement string, args ...any) (bool, error) {
	if prepared, ok := p.prepared[statement]; ok {
		return hasChanged(p.StmtContext(ctx, prepared).ExecContext(ctx, args...))
	}
	p.unprepared = append(p.unprepared, statement)
	return hasChanged(p.ExecContext(ctx, statement, args...))
}

// hasChanged tells whether a statement has changed a row.
func hasChanged(r sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := r.RowsAffected()
	return n > 0, err
}

func (p *fileTransaction) queryRow(ctx context.Context, query string, args []any, into ...any) error {
	if prepared, ok := p.prepared[query]; ok {
		return p.StmtContext(ctx, prepared).QueryRowContext(ctx, args...).Scan(into...)
	}
	p.unprepared = append(p.unprepared, query)
	return p.QueryRowContext(ctx, query, args...).Scan(into...)
}

// prepare returns a statement ready to run: reading the text of the longest
// takes a fifth of its time. It is for the goroutine whose turn it is, where one
// statement runs at a time.
func (s *store) prepare(ctx context.Context, statement string) (*sql.Stmt, error) {
	if prepared, ok := s.prepared[statement]; ok {
		return prepared, nil
	}
	prepared, err := s.DB.PrepareContext(ctx, statement)
	if err == nil {
		s.prepared[statement] = prepared
	}
	return prepared, err
}

// queryRow reads one row, sql.ErrNoRows if there is none.
func (s *store) queryRow(ctx context.Context, query string, args []any, into ...any) error {
	return s.retryWhileBusy(ctx, func(ctx context.Context) error {
		return s.DB.QueryRowContext(ctx, query, args...).Scan(into...)
	})
}

// queryLedgerRows reads ledger rows.
func (s *store) queryLedgerRows(ctx context.Context, query string, args ...any) (all []engine.Row, err error) {
	err = s.retryWhileBusy(ctx, func(ctx context.Context) error {
		all = nil
		rows, err := s.DB.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			s := scannedRow{}
			if err := rows.Scan(s.scanTargets()...); err != nil {
				return err
			}
			row, err := s.decodeRow()
			if err != nil {
				return err
			}
			all = append(all, row)
		}
		return rows.Err()
	})
	return all, err
}

// retryWhileBusy repeats do while the database is busy. It checks ctx between
// two attempts. Only a replicated database also checks it inside one. A
// statement of SQLite takes milliseconds. An interrupted statement costs its
// connection, and for a ledger in memory that is the whole ledger.
func (s *store) retryWhileBusy(ctx context.Context, do func(context.Context) error) error {
	began := time.Now()
	var last error // why the try before was not done
	for pause := minRetryPause; ; pause = min(2*pause, maxRetryPause) {
		if err := ctx.Err(); err != nil && last != nil && s.Replicated {
			return fmt.Errorf("%w: %w", err, last)
		} else if err != nil {
			return err
		}
		err := s.runInTurn(ctx, do)
		if err == nil || errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if content, ok := errors.AsType[*contentError](err); ok {
			return content.error
		}
		meaning, passing := s.ClassifyError(err)
		if !passing {
			return meaning
		}
		last = meaning
		if time.Since(began) > s.retryTimeout() {
			return fmt.Errorf("%w (waited for %s)", meaning, s.retryTimeout())
		}
		sleepWithContext(ctx, pause/2+rand.N(pause))
	}
}

func (s *store) runInTurn(ctx context.Context, do func(context.Context) error) error {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.turn }()
	if !s.Replicated {
		return do(context.WithoutCancel(ctx))
	}
	ctx, cancel := context.WithTimeout(ctx, replicatedAttemptTimeout)
	defer cancel()
	return do(ctx)
}

func sleepWithContext(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
