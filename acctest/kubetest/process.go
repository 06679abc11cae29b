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
	// stopTimeout is how long a program has to end by itself; Deployments of
	// managers give them as long.
	stopTimeout = 10 * time.Second
	// readyPollInterval is how often a program is asked whether it is ready.
	readyPollInterval = 50 * time.Millisecond
	// logTailBytes is how much of a program's log an error quotes, in bytes.
	logTailBytes = 2000
)

// Process is a program that runs in the background.
type Process struct {
	Name string
	Log  string // file with what it prints

	cmd       *exec.Cmd
	stopAsked atomic.Bool   // it was stopped or killed
	done      chan struct{} // closed when it has ended
	err       error         // how it ended; read after done
}

// StartProcess starts a program whose output goes to <dir>/<name>.log. It is
// killed when this process dies, however that happens.
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

// PID is the id of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Stop asks the process to end, kills it where it does not, and waits. One
// that has ended already is no error.
func (p *Process) Stop() {
	p.stopAsked.Store(true)
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails for one that has ended
	select {
	case <-p.done:
	case <-time.After(stopTimeout):
		p.Kill()
	}
}

// Kill ends the process at once, as a crash would, and waits.
func (p *Process) Kill() {
	p.stopAsked.Store(true)
	_ = p.cmd.Process.Kill() // fails for one that has ended
	<-p.done
}

// CrashError tells how the process ended although nobody stopped it, with the end
// of its log; nil while it runs.
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

// AwaitReady asks until the answer is nil, the process ends or ctx is done.
// The error quotes the end of the log.
func (p *Process) AwaitReady(ctx context.Context, ask func(context.Context) error) error {
	for {
		err := ask(ctx)
		select {
		case <-p.done: // whoever answered was somebody else
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

// Tail is the end of what the program printed.
func (p *Process) Tail() string {
	text, err := os.ReadFile(p.Log)
	if err != nil {
		return err.Error()
	}
	return string(bytes.TrimSpace(text[max(0, len(text)-logTailBytes):]))
}
