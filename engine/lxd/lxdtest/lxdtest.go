// Package lxdtest starts a real LXD for a test, if one is installed from a distribution's
// package. The LXD runs without systemd, in its own namespaces for processes, mounts and
// the network. So it leaves nothing on the machine.
//
// It also makes VMs. Whether they can be started depends on the kernel: see
// [Server.TryBoot].
package lxdtest

import (
	"bytes"
	_ "embed" // the scripts
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var (
	//go:embed start.sh
	startScript string
	//go:embed keep.sh
	keepScript string
	//go:embed exec.sh
	execScript string
)

// Server is an LXD that runs until Close.
type Server struct {
	Folder string // of its files; LXD's own files are in "lxd" below it
	Socket string

	pid     int // of the daemon
	keeper  *exec.Cmd
	ended   chan error
	endOnce sync.Once
	closers []io.Closer // listeners that lead to it
}

// ErrMissing says that no real LXD can run here; the error that wraps it says why.
var ErrMissing = errors.New("no real LXD here")

// firmware is the firmware of VMs. exec.sh finds it by a link beside itself.
const firmware = "/usr/share/ovmf/OVMF.fd"

// startTimeout is how long an LXD may take to start. It usually takes a second.
const startTimeout = time.Minute

// StartForTest runs an LXD until the end of the test. Its machine has bridges of these
// names and no other network. If no LXD can run here, it skips the test and says why.
func StartForTest(t testing.TB, bridges ...string) *Server {
	t.Helper()
	m := Machine{}
	for _, name := range bridges {
		m.Bridges = append(m.Bridges, Bridge{Name: name})
	}
	s, err := StartServer(m)
	if errors.Is(err, ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// StartServer runs an LXD on a machine until Close, or until the process ends.
func StartServer(m Machine) (*Server, error) {
	s, err := bootServer()
	if err != nil {
		return nil, err
	}
	if err := s.setUpMachine(m); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// bootServer starts an LXD on a machine without hardware, bridges and pools; see
// setUpMachine.
func bootServer() (*Server, error) {
	if err := CheckAvailable(); err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "lxd") // a socket's path must be short
	if err != nil {
		return nil, err
	}
	s := &Server{Folder: folder, Socket: filepath.Join(folder, "lxd", "unix.socket"), ended: make(chan error, 1)}
	if err := errors.Join(s.pretendModules(), s.writeHardware(Machine{Cores: 1})); err != nil {
		os.RemoveAll(folder) //nolint:errcheck // the first error counts
		return nil, err
	}
	if err := s.runDaemon(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// CheckAvailable returns ErrMissing, with what a real LXD lacks here, or nil.
func CheckAvailable() error {
	for _, program := range []string{"lxd", "lxc", "dnsmasq", "ip", "nft", "unshare", "nsenter", "mount", "qemu-system-x86_64"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("%w: %s is not installed (apt-get install lxd lxd-client dnsmasq-base iproute2 nftables util-linux qemu-system-x86 ovmf)", ErrMissing, program)
		}
	}
	if _, err := os.Stat(firmware); err != nil {
		return fmt.Errorf("%w: there is no firmware for VMs: %w (apt-get install ovmf)", ErrMissing, err)
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: it needs root", ErrMissing)
	}
	return nil
}

// pretendModules answers for a kernel module. LXD requires it for VMs, even if they are
// only made and never started.
func (s *Server) pretendModules() error {
	bin := filepath.Join(s.Folder, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(bin, "modprobe"), []byte("#!/bin/sh\nexit 0\n"), 0o755),
		os.WriteFile(filepath.Join(bin, "lxd-exec"), []byte(execScript), 0o755),
		os.Symlink(firmware, filepath.Join(bin, "firmware")),
	)
}

// runDaemon starts the daemon. The daemon ends with this process, however the process ends.
func (s *Server) runDaemon() error {
	var said bytes.Buffer
	s.keeper = exec.Command("sh", "-c", keepScript, "sh", s.Folder,
		"unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", startScript, "sh", s.Folder)
	s.keeper.Stdout, s.keeper.Stderr = &said, &said
	started := make(chan error)
	go s.runKeeper(started)
	if err := <-started; err != nil {
		s.keeper = nil
		return err
	}
	if err := s.awaitReady(&said); err != nil {
		return err
	}
	outer, err := childPID(s.keeper.Process.Pid)
	if err != nil {
		return err
	}
	s.pid, err = childPID(outer)
	return err
}

// awaitReady waits until the socket answers.
func (s *Server) awaitReady(said *bytes.Buffer) error {
	for end := time.Now().Add(startTimeout); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		select {
		case err := <-s.ended:
			s.ended <- err
			if strings.Contains(said.String(), "ermitted") {
				return fmt.Errorf("%w: this system does not let root make namespaces or mounts: %s", ErrMissing, said)
			}
			return fmt.Errorf("LXD did not start: %w\n%s", err, said)
		default:
		}
		if s.isReady() {
			return nil
		}
	}
	return fmt.Errorf("LXD was not ready within %s", startTimeout)
}

// isReady asks the daemon itself: it accepts connections before it is ready.
func (s *Server) isReady() bool {
	if _, err := os.Stat(s.Socket); err != nil {
		return false
	}
	c := exec.Command("lxd", "waitready", "--timeout=5")
	c.Env = append(os.Environ(), "LXD_DIR="+filepath.Dir(s.Socket))
	return c.Run() == nil
}

// childPID returns the only child of a process.
func childPID(parent int) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", parent, parent))
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("process %d has the children %q", parent, text)
	}
	return pid, nil
}

// Close ends the daemon with all its child processes, and removes its files.
func (s *Server) Close() {
	s.endOnce.Do(func() {
		for _, c := range s.closers {
			_ = c.Close() // no caller needs the error
		}
		if s.keeper == nil {
			return
		}
		_ = s.keeper.Process.Signal(syscall.SIGTERM) // it may have ended by itself
		err := <-s.ended
		s.ended <- err
	})
}
