package e2elxd

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// runPrefix begins the names of what a run could leave behind: its folder, and
// the cgroups of its containers, which no namespace contains.
const runPrefix = "maaslxd-e2e-"

// newFolder makes the folder of a run, and removes the folders of killed runs.
// A live run holds a lock on its folder, which ends with its process.
func newFolder() (string, *os.File, error) {
	old, err := filepath.Glob(filepath.Join(os.TempDir(), runPrefix+"*"))
	if err != nil {
		return "", nil, err
	}
	for _, folder := range old {
		if lock, err := lockFolder(folder); err == nil {
			err = os.RemoveAll(folder)
			if err := errors.Join(err, lock.Close()); err != nil {
				return "", nil, err
			}
		}
	}
	folder, err := os.MkdirTemp("", runPrefix)
	if err != nil {
		return "", nil, err
	}
	lock, err := lockFolder(folder)
	if err != nil {
		return "", nil, err
	}
	return folder, lock, os.Chmod(folder, 0o711) // root in the machines is not root here
}

// lockFolder takes the lock of a folder. It returns an error while another
// process holds the lock.
func lockFolder(folder string) (*os.File, error) {
	lock, err := os.Create(filepath.Join(folder, "lock"))
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// sweepCgroups removes the cgroups of containers that have ended. A killed run
// cannot remove them itself. The kernel refuses to remove one in use.
func sweepCgroups() {
	var ours []string
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && strings.Contains(path, "/lxc.") && strings.Contains(path, "."+runPrefix) {
			ours = append(ours, path)
		}
		return nil
	})
	for i := len(ours) - 1; i >= 0; i-- { // the innermost ones first
		_ = syscall.Rmdir(ours[i])
	}
}
