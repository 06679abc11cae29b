package lxd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// vmLXD is a real LXD of ours, which keeps everything in a folder and listens
// on the loopback. VMs are made on it, and never started.
type vmLXD struct {
	folder, address, bridge string
	daemon                  *exec.Cmd
}

// errNoLXD says what a real LXD lacks here.
var errNoLXD = errors.New("no real LXD can be started")

// real is started by the first test that wants it, and ended by TestMain.
var (
	real    *vmLXD
	oneReal = sync.OnceValues(func() (*vmLXD, error) {
		var err error
		real, err = startReal()
		return real, err
	})
)

// theReal is the real LXD, or the test is skipped.
func theReal(t *testing.T) *vmLXD {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real LXD, which -short leaves out")
	}
	l, err := oneReal()
	if errors.Is(err, errNoLXD) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func startReal() (*vmLXD, error) {
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("%w: it needs root", errNoLXD)
	}
	for _, program := range []string{"lxd", "lxc", "qemu-system-x86_64", "nft"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("%w: it needs %s (apt-get install lxd lxd-client qemu-system-x86 ovmf nftables)", errNoLXD, program)
		}
	}
	folder, err := os.MkdirTemp("", "lxd") // short: sockets lie in it
	if err != nil {
		return nil, err
	}
	l := &vmLXD{folder: folder, bridge: fmt.Sprintf("mlxd%d", os.Getpid())}
	if err := l.start(); err != nil {
		l.stop()
		return nil, err
	}
	return l, nil
}

// start runs the daemon. Of VMs only the kernel module vhost_vsock is pretended
// to be there: LXD asks modprobe for it.
func (l *vmLXD) start() error {
	if err := os.MkdirAll(l.folder+"/bin", 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(l.folder+"/bin/modprobe", []byte("#!/bin/sh\nexit 0\n"), 0o755); err != nil {
		return err
	}
	log, err := os.Create(l.folder + "/lxd.log")
	if err != nil {
		return err
	}
	defer log.Close()
	l.daemon = exec.Command("lxd", "--group", "root")
	l.daemon.Env, l.daemon.Stdout, l.daemon.Stderr = l.environ(), log, log
	l.daemon.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := l.daemon.Start(); err != nil {
		return err
	}
	if _, err := l.run("", "lxd", "waitready", "--timeout=60"); err != nil {
		return err
	}
	drivers, err := l.run("", "lxc", "query", "/1.0")
	if err != nil {
		return err
	}
	if !strings.Contains(drivers, "lxc | qemu") {
		return fmt.Errorf("%w: it cannot make VMs here, as its log says", errNoLXD)
	}
	if l.address, err = freePort(); err != nil {
		return err
	}
	_, err = l.run(l.preseed(), "lxd", "init", "--preseed")
	return err
}

// preseed has two projects, one of which is for tests alone, and a bridge that
// nobody is on.
func (l *vmLXD) preseed() string {
	return fmt.Sprintf(`
config: {core.https_address: %q}
storage_pools:
- {name: local, driver: dir}
- {name: fast, driver: dir}
networks:
- {name: %s, type: bridge, config: {ipv4.address: none, ipv6.address: none}}
projects:
- {name: maas, config: {features.images: "true", features.profiles: "true", features.storage.volumes: "true"}}
- {name: other, config: {features.images: "true", features.profiles: "true", features.storage.volumes: "true"}}
`, l.address, l.bridge)
}

func (l *vmLXD) environ() []string {
	return append(os.Environ(), "LXD_DIR="+l.folder, "LXD_CONF="+l.folder+"/conf", "LC_ALL=C.UTF-8", "PATH="+l.folder+"/bin:"+os.Getenv("PATH"))
}

// run runs a program that speaks with the daemon.
func (l *vmLXD) run(input, name string, arguments ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, arguments...)
	cmd.Env, cmd.Stdin, cmd.WaitDelay = l.environ(), strings.NewReader(input), 5*time.Second
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w\n%s", name, strings.Join(arguments, " "), err, problem.String())
	}
	return out.String(), nil
}

// lxc runs a command of LXD's client, which must succeed.
func (l *vmLXD) lxc(t *testing.T, arguments ...string) string {
	t.Helper()
	out, err := l.run("", "lxc", arguments...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// stop ends the daemon, and takes away what it mounted and made.
func (l *vmLXD) stop() {
	if l.daemon != nil && l.daemon.Process != nil {
		if l.address != "" {
			l.run("", "lxc", "network", "delete", l.bridge) //nolint:errcheck // ip does it below
		}
		l.daemon.Process.Signal(syscall.SIGTERM) //nolint:errcheck // it has ended by itself
		killed := time.AfterFunc(20*time.Second, func() { l.daemon.Process.Kill() })
		l.daemon.Wait() //nolint:errcheck // how it ended does not matter
		killed.Stop()
	}
	exec.Command("ip", "link", "delete", l.bridge).Run() //nolint:errcheck // it is gone already
	for _, mount := range []string{"shmounts", "devlxd"} {
		syscall.Unmount(filepath.Join(l.folder, mount), syscall.MNT_DETACH) //nolint:errcheck // it is not mounted
	}
	os.RemoveAll(l.folder) //nolint:errcheck // it is a temporary folder
}

// freePort is an address of the loopback that nobody listens at.
func freePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}

// trust lets a key in, for some projects or without restriction.
func (l *vmLXD) trust(t *testing.T, key Key, projects ...string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "client.crt")
	if err := os.WriteFile(file, []byte(key.Certificate), 0o600); err != nil {
		t.Fatal(err)
	}
	arguments := []string{"config", "trust", "add", file}
	if len(projects) > 0 {
		arguments = append(arguments, "--restricted", "--projects", strings.Join(projects, ","))
	}
	l.lxc(t, arguments...)
}
