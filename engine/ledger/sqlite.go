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

// DefaultPath returns the default path of the ledger: maaslxd/ledger.db in $XDG_STATE_HOME, or
// else in ~/.local/state.
func DefaultPath() (string, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) { // the XDG specification says to ignore relative paths
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

// pragmas are set on every connection. With a write-ahead log, readers continue while one
// program writes. With FULL, a reservation survives a loss of power, as the VM that MAAS
// composes does. SQLite's own wait for other writers is the fairest, but ignores ctx: so it is
// short, and the store repeats it. The log is a property of the file, so it is set later, once
// the file is known to be a ledger. A transaction takes the lock when it begins, so that none
// must discard what it has read.
var pragmas = url.Values{"_pragma": {"busy_timeout(100)", "synchronous(FULL)"}, "_txlock": {"immediate"}}

// OpenFile opens the ledger in a file. It creates a missing file (0600) and its folders (0700).
// Several processes of one machine may use the file at the same time, but not on a network file
// system. A file that cannot be a ledger is an *engine.Refusal that names it.
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

// NewMemory returns an empty ledger for one process, which is lost with the process. A loss does
// no harm while nothing is being made: VMs have marks by which the next process finds them. now
// is the clock; nil means time.Now. Close frees the memory.
func NewMemory(now func() time.Time) *Ledger {
	if now == nil {
		now = time.Now
	}
	l, err := openSQLite(context.Background(), ":memory:", now, func(err error) (error, bool) { return err, false })
	if err != nil {
		panic(err) // only an error of this package can cause it
	}
	return l
}

// openSQLite opens a database of SQLite.
func openSQLite(ctx context.Context, dsn string, now func() time.Time, judge func(error) (error, bool)) (*Ledger, error) {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	// Goroutines of this process wait in the store, in order, and not at the file. For a ledger
	// in memory, the connection is the database.
	return OpenDatabase(ctx, Database{DB: db, ClassifyError: judge, MaxStatements: 1}, now)
}

// createFileMu stops other goroutines from opening a file before its maker has closed it.
// Closing a file drops all locks that the process has on it.
var createFileMu sync.Mutex

// createFile creates the file if it is missing. It does not open an existing file, for the same
// reason.
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
