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

// vmLXD is a real LXD with two projects, one of which is for tests alone, two
// storage pools, and a bridge that nobody is on. VMs are made on it, and never
// started.
type vmLXD struct {
	*lxdtest.Server
	address, bridge string
}

// real is started by the first test that wants it, and ended by TestMain.
var (
	real    *vmLXD
	oneReal = sync.OnceValues(startReal)
)

func TestMain(m *testing.M) {
	code := m.Run()
	if real != nil {
		real.Close()
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

func startReal() (*vmLXD, error) {
	s, err := lxdtest.Launch(lxdtest.Machine{StoragePools: []lxdtest.StoragePool{{Name: "local"}, {Name: "fast"}}})
	if err != nil {
		return nil, err
	}
	real = &vmLXD{Server: s, bridge: "lxdbr0"}
	if _, err := s.Run(realPreseed, "lxd", "init", "--preseed"); err != nil {
		return nil, err
	}
	real.address, err = s.Forward()
	return real, err
}

// theReal is the real LXD, or the test is skipped.
func theReal(t *testing.T) *vmLXD {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real LXD, which -short leaves out")
	}
	l, err := oneReal()
	if errors.Is(err, lxdtest.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// lxc runs a command of LXD's client, which must succeed.
func (l *vmLXD) lxc(t *testing.T, arguments ...string) string {
	t.Helper()
	return l.LXC(t, arguments...)
}

// trust lets a key in, for some projects or without restriction.
func (l *vmLXD) trust(t *testing.T, key fleetkey.Key, projects ...string) {
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
