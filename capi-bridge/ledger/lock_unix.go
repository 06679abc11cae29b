//go:build unix

package ledger

import (
	"errors"
	"os"
	"syscall"
)

// flock locks a file for this process. taken is true if another process has the
// lock.
func flock(file *os.File) (taken bool, err error) {
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}
