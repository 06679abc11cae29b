package kubetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// stopTimeout is how long a program has to end by itself. Deployments of
	// managers allow the same time.
	stopTimeout = 10 * time.Second
	// readyPollInterval is how often a program is asked whether it is ready.
	readyPollInterval = 50 * time.Millisecond
	// logTailBytes is how much of a program's log an error quotes, in bytes.
	logTailBytes = 2000
)

// Process is a program that runs in the background.
type Process struct {
	Name string
	Log  string // file with its output

	cmd       *exec.Cmd
	stopAsked atomic.Bool   // Stop or Kill was called
	done      chan struct{} // closed after its end
	err       error         // how it ended; read it after done
}

// StartProcess starts a program whose output goes to <dir>/<name>.log. The
// program is killed when this process dies, for whatever reason.
func StartProcess(dir, name string, cmd *exec.Cmd) (*Process, error) {
	p := &Process{Name: name, Log: filepath.Join(dir, name+".log"), cmd: cmd, done: make(chan struct{})}
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	killWithParent(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", name, err)
	}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// PID is the id of the process in the operating system.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Stop asks the process to end, kills it after stopTimeout, and waits. It does
// nothing for an ended process.
func (p *Process) Stop() {
	p.stopAsked.Store(true)
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it fails for an ended process
	select {
	case <-p.done:
	case <-time.After(stopTimeout):
		p.Kill()
	}
}

// Kill ends the process at once, as a crash would, and waits.
func (p *Process) Kill() {
	p.stopAsked.Store(true)
	_ = p.cmd.Process.Kill() // it fails for an ended process
	<-p.done
}

// CrashError is an error with the end of the log if the process ended and
// nobody stopped it. While the process runs it is nil.
func (p *Process) CrashError() error {
	select {
	case <-p.done:
	default:
		return nil
	}
	switch {
	case p.stopAsked.Load():
		return nil
	case p.err == nil:
		return p.failureError("ended by itself", errors.New("exit status 0"))
	}
	return p.failureError("ended by itself", p.err)
}

// AwaitReady calls ask until it returns nil, the process ends or ctx is done.
// The error quotes the end of the log.
func (p *Process) AwaitReady(ctx context.Context, ask func(context.Context) error) error {
	for {
		err := ask(ctx)
		select {
		case <-p.done: // another process answered
			return p.failureError("ended before it was ready", p.err)
		default:
		}
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return p.failureError("is not ready", errors.Join(ctx.Err(), err))
		case <-p.done:
		case <-time.After(readyPollInterval):
		}
	}
}

// failureError is an error with the end of the log.
func (p *Process) failureError(what string, cause error) error {
	return fmt.Errorf("%s %s: %w; %s ends with:\n%s", p.Name, what, cause, p.Log, p.Tail())
}

// Tail is the end of the program's output.
func (p *Process) Tail() string {
	text, err := os.ReadFile(p.Log)
	if err != nil {
		return err.Error()
	}
	return string(bytes.TrimSpace(text[max(0, len(text)-logTailBytes):]))
}
