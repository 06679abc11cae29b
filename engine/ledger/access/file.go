package access

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/maaslxd/maaslxd/engine"
)

// maxFileBytes limits how many bytes of a file are read.
const maxFileBytes = 256 << 10

// readPrivate reads a file, and refuses it if other users can read or write it.
func readPrivate(path string) ([]byte, fs.FileInfo, error) {
	text, info, err := readFile(path)
	if err == nil && info.Mode().Perm()&0o077 != 0 && filepath.Separator == '/' {
		return nil, nil, &engine.Refusal{
			Message: fmt.Sprintf("%s can be read or written by other users (mode %#o)", path, info.Mode().Perm()),
			Hint:    "Check who may have read it, and then close it: chmod 600 " + path, Err: engine.ErrForbidden,
		}
	}
	return text, info, err
}

// readFile reads a small file; ErrNotFound if there is none.
func readFile(path string) ([]byte, fs.FileInfo, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("%s: %w", path, engine.ErrNotFound)
	}
	if err != nil {
		return nil, nil, cannotReadError(path, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, cannotReadError(path, err)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFileBytes))
	if err != nil {
		return nil, nil, cannotReadError(path, err)
	}
	return text, info, nil
}

// createFile creates a complete file (0600). ErrConflict if the file exists by
// then.
func createFile(path string, text []byte) error {
	draft, err := writeDraft(path, text)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(draft) }()
	// A link, unlike a rename, never replaces an existing file.
	switch err := os.Link(draft, path); {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s already exists: %w", path, engine.ErrConflict)
	case err != nil:
		return cannotWriteError(path, err)
	}
	return syncFolder(path)
}

// replaceFile replaces a file by a complete new one.
func replaceFile(path string, text []byte) error {
	draft, err := writeDraft(path, text)
	if err != nil {
		return err
	}
	if err := os.Rename(draft, path); err != nil {
		_ = os.Remove(draft)
		return cannotWriteError(path, err)
	}
	return syncFolder(path)
}

// writeDraft writes a temporary file beside the final path.
func writeDraft(path string, text []byte) (draft string, err error) {
	folder := filepath.Dir(path)
	if err := checkFolderOwner(folder, os.Geteuid()); err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", cannotWriteError(path, err)
	}
	file, err := os.CreateTemp(folder, "."+filepath.Base(path)+".*") // O_EXCL, 0600
	if err != nil {
		return "", cannotWriteError(path, err)
	}
	_, err = file.Write(text)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		_ = os.Remove(file.Name())
		return "", cannotWriteError(path, err)
	}
	return file.Name(), nil
}

// syncFolder makes the file's name survive a power failure.
func syncFolder(path string) error {
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return cannotWriteError(path, err)
	}
	err = folder.Sync()
	if errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	if err := errors.Join(err, folder.Close()); err != nil {
		return cannotWriteError(path, err)
	}
	return nil
}

func cannotReadError(path string, err error) error {
	return &engine.Refusal{
		Message: fmt.Sprintf("%s cannot be read: %v", path, causeWithoutPath(err)),
		Hint:    "Let this user read it.", Err: engine.ErrForbidden,
	}
}

func cannotWriteError(path string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return &engine.Refusal{
			Message: fmt.Sprintf("there is no space left for %s", path),
			Hint:    "Make room on its file system.", Err: engine.ErrUnavailable,
		}
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("%s cannot be written: %v", path, causeWithoutPath(err)),
		Hint:    "Use a folder on a local disk in which this user may create files and links.", Err: engine.ErrForbidden,
	}
}

func damagedFileError(path, why string) error {
	return &engine.Refusal{
		Message: fmt.Sprintf("%s is damaged: %s", path, why),
		Hint:    "Restore it from a backup.", Err: engine.ErrInvalid,
	}
}

// causeWithoutPath removes the path from an error, because the message has it
// already.
func causeWithoutPath(err error) error {
	if wrapped, ok := errors.AsType[*fs.PathError](err); ok {
		return wrapped.Err
	}
	if wrapped, ok := errors.AsType[*os.LinkError](err); ok {
		return wrapped.Err
	}
	return err
}

// checkFolderOwner refuses root as the writer of another user's folder, or of a
// new folder in it: that user could not read the files.
func checkFolderOwner(folder string, user int) error {
	info, err := os.Stat(folder)
	for errors.Is(err, fs.ErrNotExist) && folder != filepath.Dir(folder) {
		folder = filepath.Dir(folder)
		info, err = os.Stat(folder)
	}
	if err != nil {
		return cannotReadError(folder, err)
	}
	owner, ok := ownerOf(info)
	if !ok || user != 0 || owner == 0 {
		return nil
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("%s belongs to the user %d, who could not read what root writes there", folder, owner),
		Hint:    fmt.Sprintf("Run the command as the service's user: sudo -u '#%d' capi-bridge ledger …", owner), Err: engine.ErrForbidden,
	}
}
