package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/maaslxd/maaslxd/engine"
)

// DefaultPath is where a ledger lives unless the user says otherwise:
// maaslxd/ledger.db in $XDG_STATE_HOME, or else in ~/.local/state.
func DefaultPath() (string, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) { // the specification wants relative ones ignored
		home, err := os.UserHomeDir()
		if err != nil {
			return "", &engine.Refusal{
				Message: "there is no home directory to keep the ledger in",
				Hint:    "Set HOME or XDG_STATE_HOME, or name a file for the ledger.", Err: engine.ErrForbidden,
			}
		}
		if !filepath.IsAbs(home) {
			return "", &engine.Refusal{
				Message: fmt.Sprintf("the home directory %q is not an absolute path, so the ledger would be in the folder where the program is started", home),
				Hint:    "Set HOME to a whole path, or name a file for the ledger.", Err: engine.ErrForbidden,
			}
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "maaslxd", "ledger.db"), nil
}

// pragmas of every connection. A write-ahead log lets readers go on while one
// writes; FULL makes a reservation survive a loss of power, as MAAS's compose
// of it does. SQLite's own wait for other writers is the fairest, but does not
// heed the end of a ctx: it is short, and the store repeats it.
// The log stays with the file, and is asked for once it is known to be a ledger.
// A transaction takes the lock at its begin: none has to give up what it has read.
var pragmas = url.Values{"_pragma": {"busy_timeout(100)", "synchronous(FULL)"}, "_txlock": {"immediate"}}

// OpenFile opens the ledger in a file, and makes the file (0600) and its folders
// (0700) if they are missing. Several processes of one machine may use the
// file at the same time; on a network file system they must not. A file that
// cannot serve is an *engine.Refusal that names it.
func OpenFile(ctx context.Context, path string) (*Ledger, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("cannot tell where the ledger %s is: %w", path, err)
	}
	if err := errors.Join(createFile(path), checkAndSecureFile(path)); err != nil {
		if refusal, ok := errors.AsType[*engine.Refusal](err); ok {
			return nil, engine.AsLedgerError(path, refusal)
		}
		return nil, engine.AsLedgerError(path, fileSystemError(path, err))
	}
	name := filepath.ToSlash(path)
	if !strings.HasPrefix(name, "/") { // C:/…
		name = "/" + name
	}
	file := url.URL{Scheme: "file", OmitHost: true, Path: name, RawQuery: pragmas.Encode()}
	l, err := openSQLite(ctx, file.String(), time.Now, func(err error) (error, bool) {
		meaning, passing := classifySQLiteError(path, err)
		return &engine.LedgerError{Ledger: path, Err: meaning}, passing
	})
	return l, engine.AsLedgerError(path, err)
}

// NewMemory returns an empty ledger for one process, which is lost with it.
// That costs nothing at rest: VMs carry markers by which the next process
// finds them. now is the clock; nil means time.Now. Close frees its memory.
func NewMemory(now func() time.Time) *Ledger {
	if now == nil {
		now = time.Now
	}
	l, err := openSQLite(context.Background(), ":memory:", now, func(err error) (error, bool) { return err, false })
	if err != nil {
		panic(err) // nothing outside of this package is involved
	}
	return l
}

// openSQLite opens a database of SQLite.
func openSQLite(ctx context.Context, dsn string, now func() time.Time, judge func(error) (error, bool)) (*Ledger, error) {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	// A process queues in the store, in order, rather than at the file. For a
	// ledger in memory, the connection is the database.
	return OpenDatabase(ctx, Database{DB: db, ClassifyError: judge, MaxStatements: 1}, now)
}

// createFileMu keeps others of this process from opening a file before its maker
// has closed it: closing a file drops all locks that the process has on it.
var createFileMu sync.Mutex

// createFile makes the file if there is none. One that is there is not opened, for
// the same reason.
func createFile(path string) error {
	createFileMu.Lock()
	defer createFileMu.Unlock()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return err
	}
	return file.Close()
}
