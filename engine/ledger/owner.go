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

// ownerFile is, beside a ledger, the name of those who use it.
const ownerFile = "maaslxd-owner"

// maxOwnerBytes is more than an owner has.
const maxOwnerBytes = 256

var ownerPattern = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// NewOwner makes up the name of an owner whom nobody else is.
func NewOwner() string { return strings.ToLower(rand.Text()[:12]) }

// ReadOwner is the owner that the users of a ledger in path are, and where it is kept:
// the one that is noted beside it. ErrNotFound if there is none yet.
func ReadOwner(path string) (owner string, err error) {
	return readOwnerFile(filepath.Join(filepath.Dir(path), ownerFile))
}

// EnsureOwner notes an owner beside a ledger, and returns it. Where there is one by
// then, that one stays, and is returned.
func EnsureOwner(path, owner string) (string, error) {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fileSystemError(path, err)
	}
	kept := filepath.Join(folder, ownerFile)
	draft, err := os.CreateTemp(folder, "."+ownerFile+".*") // O_EXCL, 0600
	if err != nil {
		return "", fileSystemError(kept, err)
	}
	defer func() { _ = os.Remove(draft.Name()) }()
	_, err = draft.WriteString(owner + "\n")
	if err := errors.Join(err, draft.Sync(), draft.Close()); err != nil {
		return "", fileSystemError(kept, err)
	}
	// A link, unlike a renaming, never takes the place of what is there.
	switch err := os.Link(draft.Name(), kept); {
	case err == nil:
		return owner, nil
	case errors.Is(err, fs.ErrExist):
		return readOwnerFile(kept)
	default:
		return "", noHardLinksError(kept, err)
	}
}

// noHardLinksError says that a file system has no links, by which a file comes to be whole
// or not at all.
func noHardLinksError(path string, cause error) error {
	return &engine.Refusal{
		Message: fmt.Sprintf("%s cannot be made, because its file system makes no hard links: %v", path, cause),
		Hint:    "Name a ledger on a local disk with a file system that has them, such as ext4, xfs or APFS, or set owner.",
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
		return "", ownerFileError(path, "it is no regular file")
	case isOwnedByAnotherUser(info):
		return "", ownerFileError(path, "it belongs to another user")
	case info.Mode().Perm()&0o022 != 0 && noFollowFlag != 0:
		return "", ownerFileError(path, fmt.Sprintf("other users may write it (mode %#o)", info.Mode().Perm()))
	}
	text, err := io.ReadAll(io.LimitReader(file, maxOwnerBytes))
	owner := strings.TrimSpace(string(text))
	if err != nil || !ownerPattern.MatchString(owner) {
		return "", ownerFileError(path, "it holds no name of letters, digits, dots, hyphens and underscores")
	}
	return owner, nil
}

func ownerFileError(path, why string) error {
	return &engine.Refusal{
		Message: fmt.Sprintf("%s does not tell who the owner is: %s", path, why),
		Hint:    "Restore it from a backup, or set owner. Without it, another owner is made up, who goes on with nothing that was left unfinished.",
		Err:     engine.ErrForbidden,
	}
}
