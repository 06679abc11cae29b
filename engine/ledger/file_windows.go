package ledger

import "io/fs"

// Who may use a file is said by its access control list there, which is not looked at.
const noFollowFlag = 0

func isOwnedByAnotherUser(fs.FileInfo) bool { return false }

func isWritableByAll(fs.FileInfo) bool { return false }
