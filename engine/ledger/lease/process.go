package lease

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

// Process is a process, as other processes can find it. Where the system does not
// tell enough of it, Machine is empty.
type Process struct {
	Machine string // the boot of the machine, and the numbering of its processes
	PID     int
	Started string // in ticks since the boot: numbers of processes are used again
	// The process that started it, e.g. Terraform's CLI. One that outlives it, as a
	// provider does for some seconds whose CLI was killed, makes nothing any more.
	Parent        int
	ParentStarted string
}

// String names it for people.
func (p Process) String() string {
	if p.Machine != "" && p.Machine == thisProcess().Machine {
		return fmt.Sprintf("process %d of this machine", p.PID)
	}
	return fmt.Sprintf("process %d of another machine or container", p.PID)
}

var thisProcess = sync.OnceValue(func() Process {
	p := Process{PID: os.Getpid()}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return p
	}
	numbering, err := os.Readlink("/proc/self/ns/pid") // containers number their own
	if err != nil {
		return p
	}
	p.Parent = os.Getppid()
	p.ParentStarted, _ = readStartTime(p.Parent) // none in a container that begins with this process
	if started, err := readStartTime(p.PID); err == nil && started != "" {
		p.Machine, p.Started = strings.TrimSpace(string(boot))+" "+numbering, started
	}
	return p
})

// isAlive tells whether the process is alive, and the one that started it; seen is false where it cannot be seen
// from here.
func (p Process) isAlive() (lives, seen bool) {
	if p.Machine == "" || p.Machine != thisProcess().Machine {
		return false, false
	}
	started, err := readStartTime(p.PID)
	if err == nil && started == p.Started && p.ParentStarted != "" {
		started, err = readStartTime(p.Parent)
		return started == p.ParentStarted, err == nil
	}
	return started == p.Started, err == nil
}

// readStartTime reads when a process was started, which Linux tells in the 22nd field of
// its stat. The second one is its name in parentheses, which may hold anything. A
// process that has ended, also one that nobody has waited for, was started at "". An
// error says that it cannot be told now, e.g. because no more files can be opened.
func readStartTime(pid int) (string, error) {
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
