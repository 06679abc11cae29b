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

// store runs statements and transactions. It repeats those that were not done because another
// program was writing.
type store struct {
	Database
	// turn has a token for each statement or transaction that runs. Goroutines get one in the
	// order in which they asked. database/sql would choose a goroutine at random.
	turn        chan struct{}
	prepared    map[string]*sql.Stmt // by their text; none for a replicated database
	batchWriter batchWriter          // for a replicated database
	// openedGeneration is the number of the generation that began when this store was opened.
	openedGeneration int64
	keeper           *lease.Keeper // of leases, for this process
}

// The pause between two tries, with jitter. It is as long as a few writes take.
const (
	minRetryPause = time.Millisecond
	maxRetryPause = 25 * time.Millisecond
)

// reader runs queries: on a store alone, or in a transaction.
type reader interface {
	// queryRow reads one row; sql.ErrNoRows if there is none.
	queryRow(ctx context.Context, query string, args []any, into ...any) error
}

// transaction runs the statements of a change.
type transaction interface {
	reader
	// exec runs a statement that changes something.
	exec(ctx context.Context, statement string, args ...any) error
	// insert is exec for one row. It returns false if there is a row with its key already.
	insert(ctx context.Context, statement string, args ...any) (bool, error)
	// cacheOccupancy keeps the occupancy for the next changes in the same transaction, until
	// exec or insert. cachedOccupancy returns it; nil: there is none.
	cacheOccupancy(t *room.Occupancy)
	cachedOccupancy() *room.Occupancy
}

// transactionFunc makes changes that happen completely or not at all. It may be called several
// times, so each call starts from the beginning. It returns errors of statements, or a
// *contentError. Values that it has read count only if runTransaction returns nil: otherwise it
// may still run.
//
// It sees its own writes. A read outside of a transaction is not safe in a replicated database.
// A node that no longer leads, and does not know that, may answer it.
type transactionFunc func(ctx context.Context, tx transaction) error

// contentError says that the content of the ledger makes no sense. Reading it again does not
// help.
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

// runTransaction runs a change in a transaction.
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
			_, _ = s.DB.ExecContext(ctx, `ROLLBACK`) // SQLite may have left the transaction open
			return err
		}
		for _, statement := range p.unprepared {
			_, _ = s.prepare(ctx, statement) // for the next time
		}
		return nil
	})
}

// fileTransaction is a transaction on a file. It uses prepared statements.
type fileTransaction struct {
	*sql.Tx
	prepared   map[string]*sql.Stmt
	unprepared []string // texts of statements that are not prepared yet
}

// A transaction on a file makes one change, so there is nothing to cache.
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

// hasChanged reports whether a statement has changed a row.
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

// prepare returns a prepared statement. Parsing the longest statement takes a fifth of its time.
// Only the goroutine whose turn it is may call it, and only where one statement runs at a time.
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

// retryWhileBusy repeats a statement while the database is busy. It checks ctx between two
// attempts. Only a replicated database also checks it within one. A statement of SQLite takes
// milliseconds. An interrupted statement costs its connection, and for a ledger in memory that
// is the whole ledger.
func (s *store) retryWhileBusy(ctx context.Context, do func(context.Context) error) error {
	began := time.Now()
	var last error // error of the last attempt
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
