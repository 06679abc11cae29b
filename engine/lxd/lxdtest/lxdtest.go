// Package lxdtest starts a real LXD for a test, where one is installed: as a
// distribution packages it, without systemd, in namespaces of its own for
// processes, mounts and the network, so that nothing of it is left on the machine.
package lxdtest

import (
	"bytes"
	_ "embed" // the script
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

//go:embed start.sh
var script string

// Server is an LXD that runs until the end of its test.
type Server struct {
	Folder string // of its files; LXD's own are in "lxd" below it
	Socket string
	pid    int // of the daemon
}

// bootTime is how long an LXD may take to start; it takes a second.
const bootTime = time.Minute

// Start runs an LXD whose machine has bridges of these names and no network
// besides. Where that cannot be, the test is skipped and says why.
func Start(t testing.TB, bridges ...string) *Server {
	t.Helper()
	for _, program := range []string{"lxd", "ip", "unshare", "nsenter", "mount"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("no real LXD here: %s is not installed (apt-get install lxd iproute2 util-linux)", program)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("no real LXD here: it needs root")
	}
	folder, err := os.MkdirTemp("", "lxd") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	s := &Server{Folder: folder, Socket: filepath.Join(folder, "lxd", "unix.socket")}
	s.run(t, bridges)
	return s
}

// run starts the daemon, and ends all of it with the test.
func (s *Server) run(t testing.TB, bridges []string) {
	t.Helper()
	var said bytes.Buffer
	c := exec.Command("unshare", append([]string{"--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script, "sh", s.Folder}, bridges...)...)
	c.Stdout, c.Stderr = &said, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = c.Process.Kill() // and with it the daemon, and all that it has started
		<-ended
	})
	s.await(t, ended, &said)
	s.pid = child(t, c.Process.Pid)
}

// await waits until the socket answers.
func (s *Server) await(t testing.TB, ended chan error, said *bytes.Buffer) {
	t.Helper()
	for end := time.Now().Add(bootTime); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		select {
		case err := <-ended:
			if strings.Contains(said.String(), "ermitted") {
				t.Skipf("no real LXD here: this system does not let root make namespaces or mounts: %s", said)
			}
			t.Fatalf("LXD did not start: %v\n%s", err, said)
		default:
		}
		if s.ready() {
			return
		}
	}
	t.Fatalf("LXD was not ready within %s", bootTime)
}

// ready asks the daemon itself, which accepts connections before it is.
func (s *Server) ready() bool {
	c := exec.Command("lxd", "waitready", "--timeout=5")
	c.Env = append(os.Environ(), "LXD_DIR="+filepath.Dir(s.Socket))
	return c.Run() == nil
}

// child is the process that another one waits for: the daemon, which is the
// first of its own namespace.
func child(t testing.TB, parent int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", parent, parent))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatalf("unshare has the children %q", text)
	}
	return pid
}

// Enter makes a command that runs in the LXD's network, which nothing else
// reaches.
func (s *Server) Enter(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	return exec.CommandContext(t.Context(), "nsenter", append([]string{"--target", strconv.Itoa(s.pid), "--net", "--", name}, args...)...)
}

// LXC runs LXD's own client, as an operator on the host would, and returns what
// it says.
func (s *Server) LXC(t testing.TB, args ...string) string {
	t.Helper()
	return s.tool(t, "", "lxc", args...)
}

// Preseed gives the LXD a preseed, as a first boot does.
func (s *Server) Preseed(t testing.TB, preseed string) {
	t.Helper()
	s.tool(t, preseed, "lxd", "init", "--preseed")
}

func (s *Server) tool(t testing.TB, input, name string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Env = append(os.Environ(), "LXD_DIR="+filepath.Dir(s.Socket), "LXD_CONF="+s.Folder)
	c.Stdin = strings.NewReader(input)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}
