package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/maaslxd/maaslxd/engine"
)

// WriteBackup writes the whole ledger into a new file, while the ledger is in
// use. You can open the file like any ledger.
func WriteBackup(ctx context.Context, l *Ledger, path string) error {
	if err := checkAbsent(path); err != nil {
		return err
	}
	if err := l.store.exec(ctx, `VACUUM INTO ?1`, path); err != nil {
		return fmt.Errorf("cannot write the backup %s: %w", path, err)
	}
	return os.Chmod(path, 0o600)
}

// WriteFileFromDatabase makes a ledger file from the copy of a database, such
// as a cluster's. It moves the file to a path that has none yet.
func WriteFileFromDatabase(ctx context.Context, database, path string) (err error) {
	if err := checkAbsent(path); err != nil {
		return err
	}
	name, err := filepath.Abs(database)
	if err != nil {
		return fmt.Errorf("cannot find the path of %s: %w", database, err)
	}
	file := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(name)}
	db, err := sql.Open("sqlite", file.String())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	for _, statement := range []string{
		`PRAGMA wal_checkpoint(TRUNCATE)`, fmt.Sprintf(`PRAGMA application_id = %d`, applicationID), `VACUUM INTO ?1`,
	} {
		var args []any
		if statement == `VACUUM INTO ?1` {
			args = []any{path}
		}
		if _, err := db.ExecContext(ctx, statement, args...); err != nil {
			return fmt.Errorf("cannot make a ledger from the copy: %w", err)
		}
	}
	return os.Chmod(path, 0o600)
}

func checkAbsent(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return &engine.Refusal{
			Message: fmt.Sprintf("the file %s already exists", path),
			Hint:    "Name a new file: a backup never replaces a file.", Err: engine.ErrConflict,
		}
	}
	return nil
}

// CopyInto copies a whole ledger into an empty one: the rows, the leases of
// dead runs, and the clients. Nothing may be under way in the ledger: then the
// error is an *engine.Refusal with ErrBusy. It is one with ErrConflict where
// the other ledger is not empty.
func CopyInto(ctx context.Context, from, to *Ledger) (keys int, err error) {
	entries, err := ListEntries(ctx, from, "")
	if err != nil {
		return 0, err
	}
	if err := checkNotInUse(ctx, from, entries); err != nil {
		return 0, err
	}
	there, err := ListEntries(ctx, to, "")
	if err != nil {
		return 0, err
	}
	if len(there) > 0 {
		return 0, &engine.Refusal{
			Message: fmt.Sprintf("the ledger is not empty: it has %d rows", len(there)),
			Hint:    "Restore into a new ledger. To add the rows of a file, use capi-bridge ledger import.", Err: engine.ErrConflict,
		}
	}
	// First the clients: an interrupted copy can be repeated until the ledger
	// has rows.
	if err := copyClients(ctx, from, to); err != nil {
		return 0, err
	}
	if err := insertRows(ctx, to, entries); err != nil {
		return 0, err
	}
	for _, e := range entries {
		if e.Lease.Holder == "" {
			continue
		}
		if _, err := to.Region(e.Region).LeaseTable().TakeLease(ctx, e.Lease, ""); err != nil {
			return 0, err
		}
	}
	return len(entries), nil
}

func copyClients(ctx context.Context, from, to *Ledger) error {
	clients, err := ListClientNotes(ctx, from)
	if err != nil {
		return err
	}
	for fingerprint, note := range clients {
		if err := AddClientNote(ctx, to, fingerprint, note); err != nil {
			return err
		}
	}
	return nil
}
