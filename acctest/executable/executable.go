// Package executable writes the programs that tests run.
package executable

import (
	"os"
	"syscall"
)

// WriteProgram writes a program, for example a shell script. No process begins while
// the file is open for writing: it would have the file open too, and nobody
// could run the program ("text file busy", https://go.dev/issue/22315).
func WriteProgram(path, text string) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, []byte(text), 0o755) //nolint:gosec // others than its owner run it too
}
