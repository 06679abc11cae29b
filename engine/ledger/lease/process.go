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

// Process identifies a process for other processes. Machine is empty where the
// system does not say enough.
type Process struct {
	Machine string // the boot of the machine and its PID namespace
	PID     int
	Started string // start time in ticks since the boot, because PIDs are reused
	// The parent process, e.g. Terraform's CLI. A provider may outlive its
	// killed CLI for some seconds, but makes nothing any more.
	Parent        int
	ParentStarted string
}

// String names the process in messages.
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
	numbering, err := os.Readlink("/proc/self/ns/pid") // a container has its own PIDs
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

// isAlive reports whether the process and its parent are alive. seen is false if they cannot be
// seen from here.
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

// readStartTime reads the start time of a process: the 22nd field of its stat
// on Linux. The second field is its name in parentheses, which may hold
// anything. A process that has ended has the start time "", even if nobody has
// waited for it. An error says that the time cannot be read now, e.g. because
// there are too many open files.
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
