package fleetkey

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// The files of a fleet's key pairs, in the folder of its ledger. To change the key, make the
// next pair in NextKeyFile, let the hosts trust both, and then move it over KeyFile.
const (
	KeyFile     = "lxd-client.pem"
	NextKeyFile = "lxd-client-next.pem"
)

// programName is the host part of the subject of certificates that are made here; the user's
// name comes before it: "alice@maaslxd".
const programName = "maaslxd"

// maxKeyFileBytes limits what is read of a file, in bytes. A pair takes 1100, with RSA 6000.
const maxKeyFileBytes = 64 << 10

// LoadOrCreate returns the pair in a file, and makes it if there is none. It makes the pair as
// LXD's own client would (ECDSA P-384, self-signed, for 10 years). Only this user can read the
// file (0600) and its folder (0700), which it makes, too. If several processes make the pair at
// the same moment, one succeeds, and all return its pair. An empty path is a Refusal: a key
// that is lost with the process would lose access to the hosts that it made.
func LoadOrCreate(path string, now time.Time) (Key, error) {
	if path == "" {
		return Key{}, &engine.Refusal{
			Message: "the ledger is a service or in memory, so the provider has no folder for the fleet's key pair",
			Hint:    fmt.Sprintf("Set %s and %s. Or name a file for the ledger: then the provider makes a pair beside it.", certField, keyField),
			Err:     engine.ErrInvalid,
		}
	}
	key, err := LoadFile(path, now)
	if !errors.Is(err, engine.ErrNotFound) {
		return key, err
	}
	if err := createKeyFile(path, os.Link); err != nil {
		return Key{}, err
	}
	if key, err = LoadFile(path, now); errors.Is(err, engine.ErrNotFound) {
		return Key{}, keyFileError(path, "is a symbolic link to a missing file", "Move it away, or restore that file")
	}
	return key, err
}

// LoadFile returns the pair in a file that holds both halves, in PEM. ErrNotFound
// if there is no such file; any other error is an *engine.Refusal.
func LoadFile(path string, now time.Time) (Key, error) {
	text, err := readPrivate(path)
	if err != nil {
		return Key{}, err
	}
	certificate, private := splitPEM(text)
	key, err := Parse(certificate, private, now)
	if spec, ok := errors.AsType[*engine.SpecError](err); ok {
		return Key{}, keyFileError(path, fmt.Sprintf("cannot be used: what it gives as %v", spec), hintOfUnusableFile(certificate, now))
	}
	return key, err
}

// hintOfUnusableFile is the way out of a file whose pair cannot be used. A backup of an expired
// pair has expired, too.
func hintOfUnusableFile(certificate string, now time.Time) string {
	if public, err := findCertificate(certificate); err == nil && now.After(public.NotAfter) {
		return newPairHint
	}
	return "Restore it from a backup. If no host was made with it, move it away: then a new pair is made"
}

// readPrivate reads a file that nobody else can read.
func readPrivate(path string) ([]byte, error) {
	info, err := os.Stat(path) // opening something other than a file may block
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: %w", path, engine.ErrNotFound)
	case err != nil:
		return nil, keyFileError(path, fmt.Sprintf("cannot be read: %v", causeWithoutPath(err)), "Let this user read it")
	case !info.Mode().IsRegular():
		return nil, keyFileError(path, "is not a file", "Move it away")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, keyFileError(path, fmt.Sprintf("cannot be read: %v", causeWithoutPath(err)), "Let this user read it")
	}
	defer file.Close()
	if info, err = file.Stat(); err != nil { // of the open file: the name may be another file's now
		return nil, keyFileError(path, fmt.Sprintf("cannot be read: %v", causeWithoutPath(err)), "Let this user read it")
	}
	if err := checkClosedToOthers(path, info); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, maxKeyFileBytes))
	if err != nil {
		return nil, keyFileError(path, fmt.Sprintf("cannot be read: %v", causeWithoutPath(err)), "Check whether its disk is failing")
	}
	return text, nil
}

// checkClosedToOthers refuses a pair that somebody else may have read, or put there: a pair
// opens all hosts of a fleet to whoever has it.
func checkClosedToOthers(path string, file fs.FileInfo) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	if file.Mode().Perm()&0o077 != 0 {
		return keyFileError(path, fmt.Sprintf("can be read or written by other users (mode %#o)", file.Mode().Perm()),
			fmt.Sprintf("Find out who may have read it, and close it: chmod 600 %s", path))
	}
	if owner, other := foreignOwner(file); other {
		return keyFileError(path, fmt.Sprintf("belongs to another user (id %d)", owner), "Find out who put it there. If it is yours, chown it to the user who runs this")
	}
	folder, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return keyFileError(path, fmt.Sprintf("cannot be read: %v", causeWithoutPath(err)), "Let this user read its folder")
	}
	if writableByOthers(folder) {
		return keyFileError(path, fmt.Sprintf("lies in a folder in which other users may make files (mode %#o)", folder.Mode().Perm()),
			fmt.Sprintf("Move it and the ledger into a folder of your own, or close this one: chmod 700 %s", filepath.Dir(path)))
	}
	return nil
}

// createKeyFile makes a pair and puts it, whole, into a new file. It leaves an existing file
// alone. An error is an *engine.Refusal.
func createKeyFile(path string, link func(from, to string) error) error {
	err := writeKeyFile(path, link)
	var unlinked *os.LinkError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &unlinked):
		return keyFileError(path, fmt.Sprintf("cannot be made: its file system makes no hard links (%v)", unlinked.Err),
			"Name a file for the ledger (ledger) on a local disk. FAT and some network file systems have no hard links, which keep one pair from replacing another")
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return keyFileError(path, "cannot be made: there is no space left", "Make room on its file system, or name a file on another one for the ledger (ledger)")
	}
	return keyFileError(path, fmt.Sprintf("cannot be made: %v", causeWithoutPath(err)), "Name a file for the ledger (ledger) in a folder in which this user may make files")
}

func writeKeyFile(path string, link func(from, to string) error) (err error) {
	certificate, private, err := generatePair()
	if err != nil {
		return err
	}
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	draft, err := os.CreateTemp(folder, "."+filepath.Base(path)+".*") // O_EXCL, 0600
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(draft.Name())) }()
	_, err = draft.Write(append(certificate, private...))
	if err := errors.Join(err, draft.Sync(), draft.Close()); err != nil {
		return err
	}
	// A link, unlike a rename, never replaces an existing file.
	if err := link(draft.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncFolder(folder)
}

// syncFolder makes the name of a new file last: a host that trusts the pair outlives a loss of
// power. Not every system can sync folders.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	if err := folder.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && runtime.GOOS != "windows" {
		return errors.Join(err, folder.Close())
	}
	return folder.Close()
}

// keyFileError is a Refusal that names the file and the settings that replace it.
func keyFileError(path, what, hint string) error {
	return &engine.Refusal{
		Message: fmt.Sprintf("the fleet's key pair %s %s", path, what),
		Hint:    fmt.Sprintf("%s. Or give a pair as %s and %s.", hint, certField, keyField),
		Err:     engine.ErrForbidden,
	}
}

// causeWithoutPath leaves out the path, which the sentence has already.
func causeWithoutPath(err error) error {
	if wrapped, ok := errors.AsType[*fs.PathError](err); ok {
		return wrapped.Err
	}
	return err
}
