package ledger

import "io/fs"

// On Windows the access control list decides who may use a file. We do not
// check it.
const noFollowFlag = 0

func isOwnedByAnotherUser(fs.FileInfo) bool { return false }

func isWritableByAll(fs.FileInfo) bool { return false }
