package ledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"embed"
	"fmt"
	"io/fs"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// migrations are applied in the order of their names, 0001_… first. A released migration never
// changes.
//
//go:embed migrations/*.sql
var migrations embed.FS

// schemaVersionError is the version of a schema that is newer than this program.
type schemaVersionError struct{ has, known int }

func (e *schemaVersionError) Error() string {
	return fmt.Sprintf("the ledger has schema %d, and this program knows schemas up to %d", e.has, e.known)
}

func (e *schemaVersionError) Unwrap() error { return engine.ErrConflict }

// migrate applies the missing migrations and begins a generation, in one transaction. It takes
// the write lock even if nothing is missing, so that a user who may not write gets the error
// now.
func (s *store) migrate(ctx context.Context, now func() time.Time) error {
	return s.retryWhileBusy(ctx, func(ctx context.Context) error {
		conn, err := s.DB.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		if err := s.prepareFile(ctx, conn); err != nil {
			return err
		}
		if _, err := conn.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
			return err
		}
		err = s.setApplicationID(ctx, conn)
		if err == nil {
			err = applyMigrations(ctx, conn)
		}
		if err == nil {
			s.openedGeneration, err = beginGeneration(ctx, conn, now())
		}
		if err == nil {
			_, err = conn.ExecContext(ctx, `COMMIT`)
		}
		if err != nil {
			rollBack(ctx, conn)
		}
		return err
	})
}

// rollBack undoes a transaction after an error. It drops a connection on which even that fails,
// and the transaction with it.
func rollBack(ctx context.Context, conn *sql.Conn) {
	if _, err := conn.ExecContext(ctx, `ROLLBACK`); err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
}

// prepareFile checks that a file of SQLite may become a ledger, before anything is written to
// it.
func (s *store) prepareFile(ctx context.Context, conn *sql.Conn) error {
	if s.Replicated {
		return nil
	}
	if err := checkIsLedgerDatabase(ctx, conn); err != nil {
		return err
	}
	var log string
	return conn.QueryRowContext(ctx, `PRAGMA journal_mode = WAL`).Scan(&log)
}

// setApplicationID marks a file of SQLite as a ledger.
func (s *store) setApplicationID(ctx context.Context, conn *sql.Conn) error {
	if s.Replicated {
		return nil
	}
	_, err := conn.ExecContext(ctx, fmt.Sprintf(`PRAGMA application_id = %d`, applicationID))
	return err
}

func migrationFiles() ([]string, error) { return fs.Glob(migrations, "migrations/*.sql") }

func applyMigrations(ctx context.Context, conn *sql.Conn) error {
	files, err := migrationFiles()
	if err != nil {
		return err
	}
	has, err := readSchemaVersion(ctx, conn)
	if err != nil {
		return err
	}
	if has > len(files) {
		return &schemaVersionError{has, len(files)}
	}
	for n := has; n < len(files); n++ {
		text, err := migrations.ReadFile(files[n])
		if err != nil {
			return err
		}
		if _, err := conn.ExecContext(ctx, string(text)); err != nil {
			return err
		}
		if _, err := conn.ExecContext(ctx, `INSERT INTO schema_version (version) VALUES (?1)`, n+1); err != nil {
			return err
		}
	}
	return nil
}

// readSchemaVersion returns the schema's version, 0 in an empty database.
func readSchemaVersion(ctx context.Context, conn *sql.Conn) (int, error) {
	var tables int
	err := conn.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_master WHERE name = 'schema_version'`).Scan(&tables)
	if err != nil {
		return 0, err
	}
	if tables == 0 {
		_, err := conn.ExecContext(ctx, `CREATE TABLE schema_version (version INTEGER PRIMARY KEY)`)
		return 0, err
	}
	var v int
	err = conn.QueryRowContext(ctx, `SELECT coalesce(max(version), 0) FROM schema_version`).Scan(&v)
	return v, err
}
