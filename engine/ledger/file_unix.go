//go:build !windows

package ledger

import (
	"io/fs"
	"os"
	"syscall"
)

// noFollowFlag makes an open of a symbolic link fail.
const noFollowFlag = syscall.O_NOFOLLOW

// isOwnedByAnotherUser reports whether a file belongs to another user, who is
// not root.
func isOwnedByAnotherUser(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) != os.Geteuid() && stat.Uid != 0
}

// isWritableByAll reports whether every user can replace the files in a folder.
func isWritableByAll(folder fs.FileInfo) bool {
	return folder.Mode().Perm()&0o002 != 0 && folder.Mode()&fs.ModeSticky == 0
}
