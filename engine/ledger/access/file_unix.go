//go:build unix

package access

import (
	"io/fs"
	"syscall"
)

// ownerOf returns the user who owns a file.
func ownerOf(info fs.FileInfo) (user int, ok bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), true
}
