package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// process is a process, as other processes can find it. Where the system does not
// tell enough of it, machine is empty.
type process struct {
	machine string // the boot of the machine, and the numbering of its processes
	pid     int
	started string // in ticks since the boot: numbers of processes are used again
	// The process that started it, e.g. Terraform's CLI. One that outlives it, as a
	// provider does for some seconds whose CLI was killed, makes nothing any more.
	parent        int
	parentStarted string
}

// String names it for people.
func (p process) String() string {
	if p.machine != "" && p.machine == thisProcess().machine {
		return fmt.Sprintf("process %d of this machine", p.pid)
	}
	return fmt.Sprintf("process %d of another machine or container", p.pid)
}

var thisProcess = sync.OnceValue(func() process {
	p := process{pid: os.Getpid()}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return p
	}
	numbering, err := os.Readlink("/proc/self/ns/pid") // containers number their own
	if err != nil {
		return p
	}
	p.parent = os.Getppid()
	p.parentStarted, _ = startOf(p.parent) // none in a container that begins with this process
	if started, err := startOf(p.pid); err == nil && started != "" {
		p.machine, p.started = strings.TrimSpace(string(boot))+" "+numbering, started
	}
	return p
})

// lives tells whether the process is alive, and the one that started it; seen is false where it cannot be seen
// from here.
func (p process) lives() (lives, seen bool) {
	if p.machine == "" || p.machine != thisProcess().machine {
		return false, false
	}
	started, err := startOf(p.pid)
	if err == nil && started == p.started && p.parentStarted != "" {
		started, err = startOf(p.parent)
		return started == p.parentStarted, err == nil
	}
	return started == p.started, err == nil
}

// startOf reads when a process was started, which Linux tells in the 22nd field of
// its stat. The second one is its name in parentheses, which may hold anything. A
// process that has ended, also one that nobody has waited for, was started at "". An
// error says that it cannot be told now, e.g. because no more files can be opened.
func startOf(pid int) (string, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(string(stat)[max(0, strings.LastIndex(string(stat), ")")):], " ")
	fields := strings.Fields(rest)
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return "", nil
	}
	return fields[19], nil
}
