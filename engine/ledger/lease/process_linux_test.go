package lease

import (
	"os/exec"
	"syscall"
	"testing"
)

// TestLivesUnreadable runs out of file descriptors. A process whose state cannot be read does
// not count as dead: otherwise its lease would be taken.
func TestLivesUnreadable(t *testing.T) {
	dead := exec.CommandContext(t.Context(), "true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	me := thisProcess()
	if lives, seen := me.isAlive(); !lives || !seen {
		t.Errorf("this process lives: %t, seen: %t", lives, seen)
	}
	gone := me
	gone.PID = dead.ProcessState.Pid()
	if lives, seen := gone.isAlive(); lives || !seen {
		t.Errorf("a process that has ended lives: %t, seen: %t", lives, seen)
	}
	var had syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &had); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 0, Max: had.Max}); err != nil {
		t.Fatal(err)
	}
	lives, seen := me.isAlive()
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &had); err != nil {
		t.Fatal(err)
	}
	if seen {
		t.Errorf("no file can be opened, and this process is seen to live: %t", lives)
	}
}
