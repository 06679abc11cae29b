//go:build !unix

package fleetkey

import "io/fs"

// foreignOwner knows no owners here.
func foreignOwner(fs.FileInfo) (owner uint32, foreign bool) { return 0, false }

// writableByOthers knows no modes here.
func writableByOthers(fs.FileInfo) bool { return false }
