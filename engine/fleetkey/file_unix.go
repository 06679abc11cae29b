//go:build unix

package fleetkey

import (
	"io/fs"
	"os"
	"syscall"
)

// foreignOwner tells whether a file belongs neither to this user nor to root.
func foreignOwner(info fs.FileInfo) (owner uint32, foreign bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return stat.Uid, ok && stat.Uid != 0 && int(stat.Uid) != os.Geteuid()
}

// writableByOthers tells whether other users may make files in a folder: all users, or a group
// that is not this user's own.
func writableByOthers(folder fs.FileInfo) bool {
	stat, ok := folder.Sys().(*syscall.Stat_t)
	group := folder.Mode().Perm()&0o020 != 0 && ok && int(stat.Gid) != os.Getegid()
	return folder.Mode().Perm()&0o002 != 0 || group
}
