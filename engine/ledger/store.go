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
)

// store runs single statements and repeats those that were not done because
// another program was writing.
type store struct {
	Database
	// turn holds a token for each statement that runs. Goroutines get one in the
	// order in which they asked; database/sql would choose one at random.
	turn     chan struct{}
	prepared map[string]*sql.Stmt // by their text; a replicated database has none
	batches  batches              // of a replicated database
	// opened is the number of the generation that this store's opening began.
	opened int64
	keeper *lease.Keeper // of leases, for this process
}

// Pauses between tries, with jitter: as long as a few writes take.
const (
	pauseFirst = time.Millisecond
	pauseMost  = 25 * time.Millisecond
)

// change is a statement that changes something, and what is to be read after it.
type change struct {
	statement string
	args      []any
	reads     []*lookup
}

// lookup reads one row of what came of a write.
//
// In a replicated database, it is in the transaction of the write. By itself it might be
// answered by a node that does not know yet that it leads no more, and lacks the write.
type lookup struct {
	query  string
	args   []any
	into   []any
	isNone bool // there is no such row
}

// done notes how it ended.
func (r *lookup) done(err error) error {
	r.isNone = errors.Is(err, sql.ErrNoRows)
	if r.isNone {
		return nil
	}
	return err
}

// exec runs a statement that changes something.
func (s *store) exec(ctx context.Context, statement string, args ...any) error {
	return s.do(ctx, change{statement: statement, args: args})
}

// do does a write, and reads what came of it.
func (s *store) do(ctx context.Context, w change) error {
	if s.Replicated {
		return s.batches.enqueue(ctx, w)
	}
	err := s.try(ctx, func(ctx context.Context) error {
		prepared, err := s.prepare(ctx, w.statement)
		if err != nil {
			return err
		}
		_, err = prepared.ExecContext(ctx, w.args...)
		return err
	})
	for _, r := range w.reads {
		if err == nil {
			err = r.done(s.row(ctx, r.query, r.args, r.into...))
		}
	}
	return err
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

// row reads one row, sql.ErrNoRows if there is none.
func (s *store) row(ctx context.Context, query string, args []any, into ...any) error {
	return s.try(ctx, func(ctx context.Context) error {
		return s.DB.QueryRowContext(ctx, query, args...).Scan(into...)
	})
}

// rows reads ledger rows.
func (s *store) rows(ctx context.Context, query string, args ...any) (all []engine.Row, err error) {
	err = s.try(ctx, func(ctx context.Context) error {
		all = nil
		rows, err := s.DB.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			s := scan{}
			if err := rows.Scan(s.targets()...); err != nil {
				return err
			}
			row, err := s.done()
			if err != nil {
				return err
			}
			all = append(all, row)
		}
		return rows.Err()
	})
	return all, err
}

// try repeats what could not be done for now. The end of ctx is heeded between
// two tries. It is not heeded inside one, unless the database is replicated: a
// statement of SQLite takes milliseconds, and an interrupted one costs its
// connection, which for a ledger in memory is all.
func (s *store) try(ctx context.Context, do func(context.Context) error) error {
	began := time.Now()
	var last error // why the try before was not done
	for pause := pauseFirst; ; pause = min(2*pause, pauseMost) {
		if err := ctx.Err(); err != nil && last != nil && s.Replicated {
			return fmt.Errorf("%w: %w", err, last)
		} else if err != nil {
			return err
		}
		err := s.inTurn(ctx, do)
		if err == nil || errors.Is(err, sql.ErrNoRows) {
			return err
		}
		meaning, passing := s.Judge(err)
		if !passing {
			return meaning
		}
		last = meaning
		if time.Since(began) > s.patience() {
			return fmt.Errorf("%w (waited for %s)", meaning, s.patience())
		}
		sleep(ctx, pause/2+rand.N(pause))
	}
}

func (s *store) inTurn(ctx context.Context, do func(context.Context) error) error {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.turn }()
	if !s.Replicated {
		return do(context.WithoutCancel(ctx))
	}
	ctx, cancel := context.WithTimeout(ctx, replicatedTry)
	defer cancel()
	return do(ctx)
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
