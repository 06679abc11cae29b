// Package reallxd lends real LXDs to the simulator of a MAAS: an LXD as a
// distribution packages it for each simulated host, on a machine of the host's
// size. They are root's to start; nothing of them is left.
package reallxd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"sync"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
	"github.com/maaslxd/maaslxd/engine/lxd/lxdtest"
)

const (
	// serversAhead are started before they are wanted: as many as a test's world has
	// hosts, mostly.
	serversAhead = 2
	// maxServers run at once: six tests side by side, with some hosts each, at 60 MB.
	maxServers = 40
)

// Lender lends LXDs of a pool. It implements world.Lender.
type Lender struct {
	// StartsVMs lets VMs be started for real, where that can be: it takes a second
	// each, and of a processor as much as their firmware does. Else they are made,
	// and taken as started.
	StartsVMs bool

	pool *lxdtest.Pool
	// report is told once what is not as it is with real hosts.
	report     func(string)
	tryOnce    sync.Once
	vmStartErr error // why VMs are not started

	mu       sync.Mutex
	lastLent map[string]*lxdtest.Server
}

// LXDVersion is that of the LXDs, as "5.0.2".
func LXDVersion() (string, error) {
	out, err := exec.Command("lxd", "--version").Output()
	return strings.TrimSpace(string(out)), err
}

// NewLender is a lender whose LXDs end with this process. say is told in one sentence,
// once, what becomes of VMs.
func NewLender(say func(string)) *Lender {
	return &Lender{pool: lxdtest.NewPool(serversAhead, maxServers), report: say, lastLent: map[string]*lxdtest.Server{}}
}

// WithVMStart lends from the same pool, and lets VMs be started for real.
func (l *Lender) WithVMStart() *Lender {
	return &Lender{StartsVMs: true, pool: l.pool, report: l.report, lastLent: map[string]*lxdtest.Server{}}
}

// CheckAvailable says why no real LXD can be had here, nil if one can.
func CheckAvailable() error { return lxdtest.CheckAvailable() }

// Lend implements world.Lender. All storage pools have the driver dir, whatever the
// host has.
func (l *Lender) Lend(m world.LXDMachine) (world.RealLXD, error) {
	machine := lxdtest.Machine{Cores: m.Cores, MemoryMiB: m.MemoryMiB}
	for _, b := range m.Bridges {
		machine.Bridges = append(machine.Bridges, lxdtest.Bridge{Name: b.Name, MAC: b.MAC, Addresses: b.Addresses})
	}
	for _, p := range m.StoragePools {
		machine.StoragePools = append(machine.StoragePools, lxdtest.StoragePool{Name: p.Name, SizeBytes: p.SizeBytes})
	}
	server, giveBack, err := l.pool.Lease(machine)
	if err != nil {
		return nil, fmt.Errorf("cannot lend %s a real LXD: %w", m.Name, err)
	}
	l.tryOnce.Do(func() { l.vmStartErr = l.tryVMStart(server) })
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lastLent[m.Name] = server
	return &lentServer{Server: server, giveBack: giveBack, startsVMs: l.vmStartErr == nil}, nil
}

// errVMStartNotWanted is why a lender starts no VMs that was not asked to.
var errVMStartNotWanted = errors.New("it takes time, and is done for a few tests")

// tryVMStart says whether VMs are started: nil, or why not.
func (l *Lender) tryVMStart(s *lxdtest.Server) error {
	err := errVMStartNotWanted
	if l.StartsVMs {
		err = s.TryBoot()
	}
	if err != nil {
		l.report(fmt.Sprintf("VMs are made, not started, and taken as started: %v", err))
		return err
	}
	l.report("VMs are made and started")
	return nil
}

// VMStartError says why the VMs of what was lent are not started; nil where they are, or
// where nothing was lent yet.
func (l *Lender) VMStartError() error { return l.vmStartErr }

// LastServer is the LXD that was last lent to a host or machine of a name, nil for
// none.
func (l *Lender) LastServer(name string) *lxdtest.Server {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lastLent[name]
}

// lentServer is an LXD that was lent. It implements world.RealLXD.
type lentServer struct {
	*lxdtest.Server
	giveBack  func()
	startsVMs bool
}

// Dial implements world.RealLXD.
func (l *lentServer) Dial(ctx context.Context) (net.Conn, error) {
	return l.Server.Dial(ctx, "tcp", "127.0.0.1:8443")
}

// DialAdmin implements world.RealLXD.
func (l *lentServer) DialAdmin(ctx context.Context) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", l.Socket)
}

// CanBoot implements world.RealLXD.
func (l *lentServer) CanBoot() bool { return l.startsVMs }

// Return implements world.RealLXD.
func (l *lentServer) Return() { l.giveBack() }
