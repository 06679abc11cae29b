package ledger

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// The times of package lease.
const (
	leaseTerm          = 30 * time.Second
	heartbeatInterval  = 5 * time.Second
	holderPollInterval = 2 * time.Second
)

// holdUntilKilled runs in another process. It holds the lease of a key until it is killed.
func holdUntilKilled(ctx context.Context, path string, key engine.Key) error {
	l, err := OpenFile(ctx, path)
	if err != nil {
		return err
	}
	if _, err := l.Hold(ctx, key); err != nil {
		return err
	}
	fmt.Println("held")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// startMaker starts a process that takes the lease of a key, and returns once it has it.
func startMaker(t *testing.T, path, key string) *exec.Cmd {
	t.Helper()
	maker := exec.CommandContext(t.Context(), os.Args[0])
	maker.Env = append(os.Environ(), envRole+"=hold", envPath+"="+path, envName+"="+key)
	stdin, err := maker.StdinPipe() // it holds the lease until this is closed
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close() })
	out, err := maker.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := maker.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "held\n" {
		t.Fatalf("the maker says %q, %v", line, err)
	}
	return maker
}

// TestLeaseOfAProcess: the lease of a process on this machine is refused while that process
// lives, and free as soon as it is dead.
func TestLeaseOfAProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	maker := startMaker(t, path, "o/web-1")
	l, err := OpenFile(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = l.Hold(t.Context(), "o/web-1")
	var held *engine.HeldError
	if !errors.As(err, &held) || !strings.Contains(err.Error(), fmt.Sprint(maker.Process.Pid)) {
		t.Errorf("want it held by process %d, got %v", maker.Process.Pid, err)
	}
	if release, err := l.Hold(t.Context(), "o/web-2"); err != nil {
		t.Errorf("another key is free: %v", err)
	} else {
		release()
	}
	if err := maker.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = maker.Wait()
	began := time.Now()
	release, err := l.Hold(t.Context(), "o/web-1")
	if took := time.Since(began); err != nil || took > leaseTerm/2 {
		t.Fatalf("its maker is dead: %v after %v", err, took)
	}
	if _, err := l.Hold(t.Context(), "o/web-1"); !errors.As(err, &held) {
		t.Errorf("two hold it in one process: %v", err)
	}
	release()
	if release, err = l.Hold(t.Context(), "o/web-1"); err != nil {
		t.Fatalf("it was given back: %v", err)
	}
	release()
}

// TestLeaseOfAnotherMachine: only the heartbeat shows whether a process of another machine
// lives.
func TestLeaseOfAnotherMachine(t *testing.T) {
	for name, beats := range map[string]bool{"Lives": true, "Silent": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := NewMemory(nil)
				defer l.Close()
				write := func(ctx context.Context) {
					err := l.store.exec(ctx, `INSERT OR REPLACE INTO leases VALUES ('', 'o/web-1', 'it', 'theirs', 'elsewhere', 7, '1', 1, '1', ?1)`, time.Now().UnixMilli())
					if err != nil {
						t.Error(err)
					}
				}
				write(t.Context())
				ctx, stop := context.WithCancel(t.Context())
				if beats {
					go func() {
						for ctx.Err() == nil {
							sleepWithContext(ctx, heartbeatInterval)
							write(context.WithoutCancel(ctx))
						}
					}()
				}
				began := time.Now()
				release, err := l.Hold(t.Context(), "o/web-1")
				took := time.Since(began)
				stop()
				var held *engine.HeldError
				switch {
				case beats && (!errors.As(err, &held) || took > leaseTerm):
					t.Errorf("it lives: %v after %v", err, took)
				case !beats && (err != nil || took < leaseTerm || took > leaseTerm+2*holderPollInterval):
					t.Errorf("it was silent for %v: %v", took, err)
				case !beats:
					release()
				}
				synctest.Wait()
			})
		})
	}
}

// TestLeaseBeats: a process sends heartbeats as long as it holds a lease.
func TestLeaseBeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewMemory(nil)
		defer l.Close()
		release, err := l.Hold(t.Context(), "o/web-1")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		have, err := l.LeaseTable().(leaseTable).readLease(t.Context(), "o/web-1")
		if age := time.Since(time.UnixMilli(have.BeatMS)); err != nil || age > heartbeatInterval {
			t.Errorf("the last heartbeat is %v old: %v", age, err)
		}
		release()
		if _, err := l.LeaseTable().(leaseTable).readLease(t.Context(), "o/web-1"); err == nil {
			t.Error("the lease is still there")
		}
	})
}
