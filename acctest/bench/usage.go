package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"syscall"
	"time"
)

// processNote is what a stand-in writes down about a provider process, first at
// its start and again at its end.
type processNote struct {
	PID      int           `json:"pid"`
	Ended    bool          `json:"ended"`
	CPU      time.Duration `json:"cpu_ns"` // user and system
	PeakKiB  int64         `json:"peak_kib"`
	ExitCode int           `json:"exit_code"`
}

// processNoteOf is what wait4 reports of an ended process.
func processNoteOf(p *os.ProcessState) processNote {
	n := processNote{PID: p.Pid(), Ended: true, CPU: p.UserTime() + p.SystemTime(), ExitCode: p.ExitCode()}
	if r, ok := p.SysUsage().(*syscall.Rusage); ok {
		n.PeakKiB = int64(r.Maxrss)
		if runtime.GOOS == "darwin" { // which counts in bytes
			n.PeakKiB /= 1024
		}
	}
	return n
}

// usage is what the provider processes of one command used together.
type usage struct {
	Processes int
	CPU       time.Duration
	PeakKiB   int64 // of the largest process
	Unknown   int   // processes that outlived the command; their usage is not in here
}

// readUsage sums up the notes of one command. Terraform kills a provider that
// does not end within two seconds. Its usage is then unknown. Processes that
// still run are killed here.
func readUsage(path string) (usage, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return usage{}, fmt.Errorf("the stand-in of the provider was never started by Terraform")
	} else if err != nil {
		return usage{}, err
	}
	defer file.Close()
	var u usage
	alive := map[int]bool{}
	for decoder := json.NewDecoder(file); ; {
		var n processNote
		if err := decoder.Decode(&n); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return u, fmt.Errorf("cannot read the usage of the provider: %w", err)
		}
		alive[n.PID] = !n.Ended
		if !n.Ended {
			u.Processes++
			continue
		}
		u.CPU += n.CPU
		u.PeakKiB = max(u.PeakKiB, n.PeakKiB)
	}
	for pid, is := range alive {
		if is {
			u.Unknown++
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended since
		}
	}
	return u, nil
}
