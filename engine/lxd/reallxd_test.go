package lxd

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/maaslxd/maaslxd/engine/fleetkey"
	"github.com/maaslxd/maaslxd/engine/lxd/lxdtest"
)

// realServer is a real LXD with two projects, one of them only for tests. It has two
// storage pools, and a bridge that nothing else uses. VMs are made on it and never started.
type realServer struct {
	*lxdtest.Server
	address, bridge string
}

// real is started by the first test that needs it, and ended by TestMain.
var (
	startedReal   *realServer
	startRealOnce = sync.OnceValues(startRealLXD)
)

func TestMain(m *testing.M) {
	code := m.Run()
	if startedReal != nil {
		startedReal.Close()
	}
	os.Exit(code)
}

const realPreseed = `
networks:
- {name: lxdbr0, type: bridge, config: {ipv4.address: none, ipv6.address: none}}
projects:
- {name: maas, config: {features.images: "true", features.profiles: "true", features.storage.volumes: "true"}}
- {name: other, config: {features.images: "true", features.profiles: "true", features.storage.volumes: "true"}}
`

func startRealLXD() (*realServer, error) {
	s, err := lxdtest.StartServer(lxdtest.Machine{StoragePools: []lxdtest.StoragePool{{Name: "local"}, {Name: "fast"}}})
	if err != nil {
		return nil, err
	}
	startedReal = &realServer{Server: s, bridge: "lxdbr0"}
	if _, err := s.Run(realPreseed, "lxd", "init", "--preseed"); err != nil {
		return nil, err
	}
	startedReal.address, err = s.Forward()
	return startedReal, err
}

// useRealLXD returns the real LXD, or skips the test.
func useRealLXD(t *testing.T) *realServer {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real LXD, which -short leaves out")
	}
	l, err := startRealOnce()
	if errors.Is(err, lxdtest.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// lxc runs a command of LXD's client. The test fails if that fails.
func (l *realServer) lxc(t *testing.T, arguments ...string) string {
	t.Helper()
	return l.LXC(t, arguments...)
}

// trustKey makes the LXD trust a key, for some projects or without restriction.
func (l *realServer) trustKey(t *testing.T, key fleetkey.Key, projects ...string) {
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
