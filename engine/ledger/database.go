package ledger

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/maaslxd/maaslxd/engine/ledger/lease"
)

// Database is the database of a ledger. It understands SQLite's SQL.
type Database struct {
	DB *sql.DB
	// ClassifyError converts an error of the driver. again is true where the
	// statement may be sent again: it was not done yet, or its outcome is
	// unknown.
	ClassifyError func(error) (meaning error, again bool)
	// MaxStatements is how many statements run at the same time, at least 1. It
	// is 1 for a database that is not replicated.
	MaxStatements int
	// Replicated is true where the nodes of a cluster hold the database. A
	// statement that waits for a missing node ends with its caller's deadline.
	// Such a database has no SQLite file that could be checked.
	Replicated bool
}

// How long a statement waits for other writers, each of which takes
// milliseconds. In a cluster it also waits for a new leader: its client can ask
// another node instead.
const (
	fileRetryTimeout       = 30 * time.Second
	replicatedRetryTimeout = 10 * time.Second
	// replicatedAttemptTimeout limits one attempt. After that, a leader that
	// hangs is given up for another one.
	replicatedAttemptTimeout = 4 * time.Second
)

func (d Database) retryTimeout() time.Duration {
	if d.Replicated {
		return replicatedRetryTimeout
	}
	return fileRetryTimeout
}

// OpenDatabase opens the ledger in a database, and creates missing tables. It
// closes the database if it fails. now is the clock.
func OpenDatabase(ctx context.Context, d Database, now func() time.Time) (*Ledger, error) {
	d.DB.SetMaxOpenConns(d.MaxStatements)
	d.DB.SetMaxIdleConns(d.MaxStatements)
	s := &store{
		Database: d, turn: make(chan struct{}, d.MaxStatements),
		prepared: map[string]*sql.Stmt{}, keeper: lease.NewKeeper(),
	}
	s.batchWriter.store, s.batchWriter.arrived = s, make(chan struct{}, 1)
	if err := s.migrate(ctx, now); err != nil {
		return nil, errors.Join(err, d.DB.Close())
	}
	return &Ledger{store: s, now: now}, nil
}
