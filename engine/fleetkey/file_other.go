//go:build !unix

package fleetkey

import "io/fs"

// foreignOwner reports no foreign owner: this system has no owners of files.
func foreignOwner(fs.FileInfo) (owner uint32, foreign bool) { return 0, false }

// writableByOthers reports false: this system has no modes of files.
func writableByOthers(fs.FileInfo) bool { return false }
