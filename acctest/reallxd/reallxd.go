// Package reallxd lends real LXDs to a simulated MAAS. Each simulated host gets
// an LXD as a distribution packages it, on a machine of the host's size. Only
// root can start them. They leave nothing behind.
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
	// serversAhead is how many LXDs are started before they are needed. Most
	// tests have that many hosts.
	serversAhead = 2
	// maxServers is how many LXDs may run at once: six tests in parallel, with
	// some hosts each, at 60 MB.
	maxServers = 40
)

// Lender lends LXDs of a pool. It implements world.Lender.
type Lender struct {
	// StartsVMs starts VMs for real, where the system can. Each start takes a
	// second and the CPU time of the firmware. Without it VMs are made, and
	// count as started.
	StartsVMs bool

	pool *lxdtest.Pool
	// report is called once, with what differs from real hosts.
	report     func(string)
	tryOnce    sync.Once
	vmStartErr error // why VMs are not started; nil: they are

	mu       sync.Mutex
	lastLent map[string]*lxdtest.Server
}

// LXDVersion is the version of the LXDs, for example "5.0.2".
func LXDVersion() (string, error) {
	out, err := exec.Command("lxd", "--version").Output()
	return strings.TrimSpace(string(out)), err
}

// NewLender makes a lender whose LXDs end with this process. say gets one
// sentence, once: whether VMs are started.
func NewLender(say func(string)) *Lender {
	return &Lender{pool: lxdtest.NewPool(serversAhead, maxServers), report: say, lastLent: map[string]*lxdtest.Server{}}
}

// WithVMStart lends from the same pool, and starts VMs for real.
func (l *Lender) WithVMStart() *Lender {
	return &Lender{StartsVMs: true, pool: l.pool, report: l.report, lastLent: map[string]*lxdtest.Server{}}
}

// CheckAvailable returns an error that says why no real LXD can run here, or
// nil.
func CheckAvailable() error { return lxdtest.CheckAvailable() }

// Lend implements world.Lender. All storage pools have the driver dir, whatever
// the host's are.
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

// errVMStartNotWanted is the reason of a lender without StartsVMs.
var errVMStartNotWanted = errors.New("starting VMs takes time, so only a few tests do it")

// tryVMStart returns why VMs are not started, or nil.
func (l *Lender) tryVMStart(s *lxdtest.Server) error {
	err := errVMStartNotWanted
	if l.StartsVMs {
		err = s.TryBoot()
	}
	if err != nil {
		l.report(fmt.Sprintf("VMs are made but not started, and count as started: %v", err))
		return err
	}
	l.report("VMs are made and started")
	return nil
}

// VMStartError says why the VMs of the lent LXDs are not started. It is nil
// where they are, and before anything was lent.
func (l *Lender) VMStartError() error { return l.vmStartErr }

// LastServer is the LXD that was lent last to a host or machine of that name,
// or nil.
func (l *Lender) LastServer(name string) *lxdtest.Server {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lastLent[name]
}

// lentServer is a lent LXD. It implements world.RealLXD.
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
