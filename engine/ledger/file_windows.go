package ledger

import "io/fs"

// Who may use a file is said by its access control list there, which is not looked at.
const noFollow = 0

func anothers(fs.FileInfo) bool { return false }

func openToAll(fs.FileInfo) bool { return false }
