package ledger

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/maaslxd/maaslxd/engine/ledger/lease"
)

// Database is where a ledger is kept: a database that understands SQLite's SQL.
type Database struct {
	DB *sql.DB
	// ClassifyError tells what an error of the driver means. A statement may be sent again
	// where it was not done for now, and where nobody knows whether it was done.
	ClassifyError func(error) (meaning error, again bool)
	// MaxStatements is how many statements run at the same time, at least 1; of a database that
	// is not replicated, 1.
	MaxStatements int
	// Replicated tells that the nodes of a cluster have the database. A statement that
	// waits for a node which is away ends with its caller's time. Such a database has no
	// file of SQLite's to be recognised by.
	Replicated bool
}

// How long a statement waits for other writers, each of which takes milliseconds. In a
// cluster it waits for another leader: its client can ask another node instead.
const (
	fileRetryTimeout       = 30 * time.Second
	replicatedRetryTimeout = 10 * time.Second
	// replicatedAttemptTimeout bounds one try. A leader that hangs is left for another one then.
	replicatedAttemptTimeout = 4 * time.Second
)

func (d Database) retryTimeout() time.Duration {
	if d.Replicated {
		return replicatedRetryTimeout
	}
	return fileRetryTimeout
}

// OpenDatabase opens the ledger in a database, and makes its tables where they are
// missing. It closes the database where it fails. now is the clock.
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
