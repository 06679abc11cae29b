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

// maxOwner is more than an owner has.
const maxOwner = 256

var ownerName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// NewOwner makes up the name of an owner whom nobody else is.
func NewOwner() string { return strings.ToLower(rand.Text()[:12]) }

// Owner is the owner that the users of a ledger in path are, and where it is kept:
// the one that is noted beside it. ErrNotFound if there is none yet.
func Owner(path string) (owner string, err error) {
	return readOwner(filepath.Join(filepath.Dir(path), ownerFile))
}

// KeepOwner notes an owner beside a ledger, and returns it. Where there is one by
// then, that one stays, and is returned.
func KeepOwner(path, owner string) (string, error) {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", unusable(path, err)
	}
	kept := filepath.Join(folder, ownerFile)
	draft, err := os.CreateTemp(folder, "."+ownerFile+".*") // O_EXCL, 0600
	if err != nil {
		return "", unusable(kept, err)
	}
	defer func() { _ = os.Remove(draft.Name()) }()
	_, err = draft.WriteString(owner + "\n")
	if err := errors.Join(err, draft.Sync(), draft.Close()); err != nil {
		return "", unusable(kept, err)
	}
	// A link, unlike a renaming, never takes the place of what is there.
	switch err := os.Link(draft.Name(), kept); {
	case err == nil:
		return owner, nil
	case errors.Is(err, fs.ErrExist):
		return readOwner(kept)
	default:
		return "", linkless(kept, err)
	}
}

// linkless says that a file system has no links, by which a file comes to be whole
// or not at all.
func linkless(path string, cause error) error {
	return &engine.Refusal{
		Message: fmt.Sprintf("%s cannot be made, because its file system makes no hard links: %v", path, cause),
		Hint:    "Name a ledger on a local disk with a file system that has them, such as ext4, xfs or APFS, or set owner.",
		Err:     engine.ErrForbidden,
	}
}

func readOwner(path string) (string, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|noFollow, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%s: %w", path, engine.ErrNotFound)
	case err != nil:
		return "", badOwner(path, err.Error())
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return "", badOwner(path, err.Error())
	case !info.Mode().IsRegular():
		return "", badOwner(path, "it is no regular file")
	case anothers(info):
		return "", badOwner(path, "it belongs to another user")
	case info.Mode().Perm()&0o022 != 0 && noFollow != 0:
		return "", badOwner(path, fmt.Sprintf("other users may write it (mode %#o)", info.Mode().Perm()))
	}
	text, err := io.ReadAll(io.LimitReader(file, maxOwner))
	owner := strings.TrimSpace(string(text))
	if err != nil || !ownerName.MatchString(owner) {
		return "", badOwner(path, "it holds no name of letters, digits, dots, hyphens and underscores")
	}
	return owner, nil
}

func badOwner(path, why string) error {
	return &engine.Refusal{
		Message: fmt.Sprintf("%s does not tell who the owner is: %s", path, why),
		Hint:    "Restore it from a backup, or set owner. Without it, another owner is made up, who goes on with nothing that was left unfinished.",
		Err:     engine.ErrForbidden,
	}
}
