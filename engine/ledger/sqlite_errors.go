package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"modernc.org/sqlite"

	"github.com/maaslxd/maaslxd/engine"
)

// SQLite's primary result codes (sqlite.org/rescode.html) that a user can do
// something about.
const (
	sqlitePerm     = 3
	sqliteBusy     = 5
	sqliteLocked   = 6
	sqliteReadOnly = 8
	sqliteIOErr    = 10
	sqliteCorrupt  = 11
	sqliteFull     = 13
	sqliteCantOpen = 14
	sqliteAuth     = 23
	sqliteNotADB   = 26
	sqliteShmSize  = 4874 // SQLITE_IOERR_SHMSIZE
)

// classifySQLiteError says in a sentence what an error of SQLite means for the ledger in path.
// again is true if the statement was not done and may be repeated.
func classifySQLiteError(path string, err error) (meaning error, passing bool) {
	if newer := NewerSchemaError(err, path); newer != nil {
		return newer, false
	}
	if errors.Is(err, errForeignDatabase) {
		return unsuitableFileError(path, err.Error(), "Nothing in it was changed. Name another file for the ledger."), false
	}
	coded, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return err, false
	}
	return classifyResultCode(path, coded.Code(), coded)
}

// classifyResultCode classifies SQLite's extended result code.
func classifyResultCode(path string, code int, coded error) (meaning error, passing bool) {
	if code == sqliteShmSize { // the index of the write-ahead log, which is written first, has no space
		return noSpaceError(path), false
	}
	switch code & 0xff {
	case sqliteBusy, sqliteLocked:
		return fmt.Errorf("other programs keep writing to the ledger %s: %w", path, engine.ErrBusy), true
	case sqliteCorrupt, sqliteNotADB:
		return damagedFileError(path), false
	case sqliteFull:
		return noSpaceError(path), false
	case sqlitePerm, sqliteReadOnly, sqliteCantOpen, sqliteAuth:
		return notWritableError(path, coded), false
	case sqliteIOErr:
		return &engine.Refusal{
			Message: fmt.Sprintf("the ledger %s cannot be read or written: %v", path, coded),
			Hint:    "See whether the disk is full or failing, and whether the file is on a network file system, where it cannot live.",
			Err:     engine.ErrUnavailable,
		}, false
	}
	return fmt.Errorf("ledger %s: %w", path, coded), false
}

// fileSystemError says why the file system refuses to create a ledger.
func fileSystemError(path string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return noSpaceError(path)
	}
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		err = fmt.Errorf("%s: %w", pathError.Path, pathError.Err)
	}
	return notWritableError(path, err)
}

func damagedFileError(path string) error {
	return &engine.Refusal{
		Message: fmt.Sprintf("the ledger %s is damaged, or is not a ledger", path),
		Hint: "When no run is active, move it away, with its files that end in -wal and -shm. " +
			"The next run makes a new ledger, and finds VMs by their marks in MAAS.",
		Err: engine.ErrInvalid,
	}
}

func noSpaceError(path string) error {
	return &engine.Refusal{
		Message: fmt.Sprintf("there is no space left for the ledger %s", path),
		Hint:    "Make room on its file system, or name a file on another one for the ledger.", Err: engine.ErrUnavailable,
	}
}

func notWritableError(path string, cause error) error {
	return &engine.Refusal{
		Message: fmt.Sprintf("the ledger %s cannot be written: %v", path, cause),
		Hint:    "It must be a file that this user may write, in a folder in which he may make files. Or name another file for the ledger.",
		Err:     engine.ErrForbidden,
	}
}

// NewerSchemaError says what to do about a ledger that a newer program has used; nil: the error
// is another one.
func NewerSchemaError(err error, where string) error {
	newer, ok := errors.AsType[*schemaVersionError](err)
	if !ok {
		return nil
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("%v (%s)", newer, where),
		Hint:    "A newer version of this program has used it. Use that version, or name another file for the ledger.",
		Err:     engine.ErrConflict,
	}
}
