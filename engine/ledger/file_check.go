package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/maaslxd/maaslxd/engine"
)

// applicationID is in the header of a ledger's file. It tells the file from
// other programs' databases: "mLXD".
const applicationID = 0x6d4c5844

// checkAndSecureFile checks a file before SQLite opens it. It does not open the
// file: closing it would drop this process's locks on it. Nobody else can
// replace the file meanwhile: it belongs to this user, in a folder that others
// cannot write.
func checkAndSecureFile(path string) error {
	folder, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return err
	}
	if isWritableByAll(folder) {
		return unsuitableFileError(path, "every user can replace it, because its folder is writable for all",
			"Choose a folder of this user's, or close it: chmod o-w "+filepath.Dir(path))
	}
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return unsuitableFileError(path, "it is a folder", "Name a file in it.")
	case info.Mode()&fs.ModeSymlink != 0:
		return unsuitableFileError(path, "it is a symbolic link", "Name the file that it leads to.")
	case !info.Mode().IsRegular():
		return unsuitableFileError(path, "it is not a regular file", "Name a file on a disk.")
	case isOwnedByAnotherUser(info):
		return unsuitableFileError(path, "it belongs to another user", "Each user has a ledger of their own; name another file.")
	case info.Mode().Perm() != 0o600:
		return os.Chmod(path, 0o600)
	}
	return nil
}

func unsuitableFileError(path, why, hint string) error {
	return &engine.Refusal{Message: fmt.Sprintf("the ledger %s cannot be used: %s", path, why), Hint: hint, Err: engine.ErrForbidden}
}

// errForeignDatabase: the file is a database of another program.
var errForeignDatabase = errors.New("it is a database of another program")

// checkIsLedgerDatabase checks that a database is a ledger or empty, and
// changes nothing. Ledgers of before the application id are known by their
// tables.
func checkIsLedgerDatabase(ctx context.Context, conn *sql.Conn) error {
	var id int64
	if err := conn.QueryRowContext(ctx, `PRAGMA application_id`).Scan(&id); err != nil {
		return err
	}
	var tables, ours int
	err := conn.QueryRowContext(ctx, `
SELECT count(*), count(*) FILTER (WHERE name IN ('schema_version', 'tag', 'reservations')) FROM sqlite_master WHERE type = 'table'`).Scan(&tables, &ours)
	switch {
	case err != nil:
		return err
	case id == applicationID, id == 0 && (tables == 0 || ours == 3):
		return nil
	}
	return errForeignDatabase
}
