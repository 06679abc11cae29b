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
	// ahead are started before they are wanted: as many as a test's world has
	// hosts, mostly.
	ahead = 2
	// most run at once: six tests side by side, with some hosts each, at 60 MB.
	most = 40
)

// Lender lends LXDs of a pool. It implements world.Lender.
type Lender struct {
	// Starts lets VMs be started for real, where that can be: it takes a second
	// each, and of a processor as much as their firmware does. Else they are made,
	// and taken as started.
	Starts bool

	pool *lxdtest.Pool
	// say is told once what is not as it is with real hosts.
	say   func(string)
	tried sync.Once
	boots error // why VMs are not started

	mu   sync.Mutex
	last map[string]*lxdtest.Server
}

// Version is that of the LXDs, as "5.0.2".
func Version() (string, error) {
	out, err := exec.Command("lxd", "--version").Output()
	return strings.TrimSpace(string(out)), err
}

// New is a lender whose LXDs end with this process. say is told in one sentence,
// once, what becomes of VMs.
func New(say func(string)) *Lender {
	return &Lender{pool: lxdtest.NewPool(ahead, most), say: say, last: map[string]*lxdtest.Server{}}
}

// Starting lends from the same pool, and lets VMs be started for real.
func (l *Lender) Starting() *Lender {
	return &Lender{Starts: true, pool: l.pool, say: l.say, last: map[string]*lxdtest.Server{}}
}

// Possible says why no real LXD can be had here, nil if one can.
func Possible() error { return lxdtest.Possible() }

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
	l.tried.Do(func() { l.boots = l.try(server) })
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last[m.Name] = server
	return &lent{Server: server, giveBack: giveBack, boots: l.boots == nil}, nil
}

// errTaken is why a lender starts no VMs that was not asked to.
var errTaken = errors.New("it takes time, and is done for a few tests")

// try says whether VMs are started: nil, or why not.
func (l *Lender) try(s *lxdtest.Server) error {
	err := errTaken
	if l.Starts {
		err = s.Boots()
	}
	if err != nil {
		l.say(fmt.Sprintf("VMs are made, not started, and taken as started: %v", err))
		return err
	}
	l.say("VMs are made and started")
	return nil
}

// Boots says why the VMs of what was lent are not started; nil where they are, or
// where nothing was lent yet.
func (l *Lender) Boots() error { return l.boots }

// Server is the LXD that was last lent to a host or machine of a name, nil for
// none.
func (l *Lender) Server(name string) *lxdtest.Server {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last[name]
}

// lent is an LXD that was lent. It implements world.RealLXD.
type lent struct {
	*lxdtest.Server
	giveBack func()
	boots    bool
}

// Dial implements world.RealLXD.
func (l *lent) Dial(ctx context.Context) (net.Conn, error) {
	return l.Server.Dial(ctx, "tcp", "127.0.0.1:8443")
}

// Administer implements world.RealLXD.
func (l *lent) Administer(ctx context.Context) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", l.Socket)
}

// Boots implements world.RealLXD.
func (l *lent) Boots() bool { return l.boots }

// Return implements world.RealLXD.
func (l *lent) Return() { l.giveBack() }
