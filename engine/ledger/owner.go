package ledger

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
)

// ownerFile is the file beside a ledger with the owner's name.
const ownerFile = "maaslxd-owner"

// maxOwnerBytes limits how much of the file is read. Every owner's name is shorter.
const maxOwnerBytes = 256

var ownerPattern = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// NewOwner returns a random owner name that nobody else has.
func NewOwner() string { return strings.ToLower(rand.Text()[:12]) }

// ReadOwner reads the owner in the file beside the ledger, and returns the
// file's path. ErrNotFound if there is none yet.
func ReadOwner(path string) (owner string, err error) {
	return readOwnerFile(filepath.Join(filepath.Dir(path), ownerFile))
}

// EnsureOwner writes an owner beside a ledger, and returns it. If there is
// already one, that one stays and is returned.
func EnsureOwner(path, owner string) (string, error) {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fileSystemError(path, err)
	}
	kept := filepath.Join(folder, ownerFile)
	draft, err := os.CreateTemp(folder, "."+ownerFile+".*") // O_EXCL, 0600
	if err != nil {
		return "", fileSystemError(path, err)
	}
	defer func() { _ = os.Remove(draft.Name()) }()
	_, err = draft.WriteString(owner + "\n")
	if err := errors.Join(err, draft.Sync(), draft.Close()); err != nil {
		return "", fileSystemError(path, err)
	}
	// A link, unlike a rename, never replaces an existing file.
	switch err := os.Link(draft.Name(), kept); {
	case err == nil:
		return owner, nil
	case errors.Is(err, fs.ErrExist):
		return readOwnerFile(kept)
	default:
		return "", noHardLinksError(kept, err)
	}
}

// noHardLinksError says that a file system has no hard links. We need them to
// create a file completely or not at all.
func noHardLinksError(path string, cause error) error {
	return &engine.Refusal{
		Message: fmt.Sprintf("%s cannot be created, because its file system has no hard links: %v", path, cause),
		Hint:    "Name a ledger on a local disk with ext4, xfs or APFS, or set owner.",
		Err:     engine.ErrForbidden,
	}
}

func readOwnerFile(path string) (string, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|noFollowFlag, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%s: %w", path, engine.ErrNotFound)
	case err != nil:
		return "", ownerFileError(path, err.Error())
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return "", ownerFileError(path, err.Error())
	case !info.Mode().IsRegular():
		return "", ownerFileError(path, "it is not a regular file")
	case isOwnedByAnotherUser(info):
		return "", ownerFileError(path, "it belongs to another user")
	case info.Mode().Perm()&0o022 != 0 && noFollowFlag != 0:
		return "", ownerFileError(path, fmt.Sprintf("other users can write it (mode %#o)", info.Mode().Perm()))
	}
	text, err := io.ReadAll(io.LimitReader(file, maxOwnerBytes))
	owner := strings.TrimSpace(string(text))
	if err != nil || !ownerPattern.MatchString(owner) {
		return "", ownerFileError(path, "it holds no valid name (letters, digits, dots, hyphens and underscores)")
	}
	return owner, nil
}

func ownerFileError(path, why string) error {
	return &engine.Refusal{
		Message: fmt.Sprintf("%s does not tell who the owner is: %s", path, why),
		Hint:    "Restore it from a backup, or set owner. If you delete it, the next run uses a new owner, which does not continue unfinished VMs.",
		Err:     engine.ErrForbidden,
	}
}
