package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/lxd"
)

// These are the values of the provider's attribute probe: how it sees that an LXD host is
// ready.
const (
	ProbeAuto   = "auto"
	ProbeDirect = "direct"
	ProbeMAAS   = "maas"
)

// directProbeTimeout is how long the provider asks an LXD without success before it takes
// MAAS's word. As a rule, a first boot installs LXD in that time.
const directProbeTimeout = 5 * time.Minute

// newProbe returns the engine's probe of LXDs; nil: it probes none.
func newProbe(s Settings) engine.Probe {
	switch s.Probe {
	case ProbeMAAS:
		return nil
	case ProbeDirect:
		return lxd.NewProber(lxd.Config{UserAgent: s.UserAgent})
	}
	return newAutoProbe(lxd.NewProber(lxd.Config{UserAgent: s.UserAgent, Timeout: probeTimeout}))
}

// minDroppedConnections is how many connections in a row must get no answer for an LXD to
// count as one that only MAAS reaches. A booting machine refuses connections. A firewall drops
// them, and continues to do so.
const (
	minDroppedConnections = 3
	dialTimeout           = 3 * time.Second
	probeTimeout          = 5 * time.Second
)

func newAutoProbe(direct engine.Probe) *autoProbe {
	return &autoProbe{probe: direct, giveUpAfter: directProbeTimeout, silentSince: map[string]time.Time{}, droppedInARow: map[string]int{}, unprobed: map[string]bool{}, isDropped: isConnectionDropped}
}

// isConnectionDropped tells whether a connection to an LXD gets no answer, not even a refusal,
// or whether its handshake hangs. An LXD answers a handshake at once, so something on the way
// swallows it.
func isConnectionDropped(ctx context.Context, address string) bool {
	at, err := url.Parse(address)
	if err != nil || at.Host == "" {
		return false
	}
	host := at.Host
	if at.Port() == "" {
		host = net.JoinHostPort(at.Hostname(), strconv.Itoa(cloudinit.DefaultPort))
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	// The certificate does not matter: nothing is sent to it.
	conn, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(ctx, "tcp", host) //nolint:gosec // see above
	if err == nil {
		conn.Close() //nolint:errcheck // nothing was sent
		return false
	}
	timeout, ok := errors.AsType[net.Error](err)
	noWay := errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.EHOSTUNREACH)
	return noWay || ok && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded)
}

// autoProbe asks LXDs, and gives up those that it never reached. So nobody waits in vain for a
// host that only MAAS can reach.
type autoProbe struct {
	probe       engine.Probe
	giveUpAfter time.Duration

	mu          sync.Mutex
	silentSince map[string]time.Time // the first failure of each address; zero: it was reached once

	isDropped     func(ctx context.Context, address string) bool
	droppedInARow map[string]int  // connections in a row without an answer
	unprobed      map[string]bool // addresses for which MAAS's word was taken
}

// isUnprobed tells whether an LXD was never reached, and MAAS's word was taken for it.
func (p *autoProbe) isUnprobed(address string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.unprobed[address]
}

// noteDroppedConnection counts connections without an answer, and tells whether they are
// enough.
func (p *autoProbe) noteDroppedConnection(ctx context.Context, address string, err error) bool {
	if !errors.Is(err, engine.ErrUnavailable) || !p.isDropped(ctx, address) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.droppedInARow[address] = 0
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.droppedInARow[address]++
	since, asked := p.silentSince[address]
	return p.droppedInARow[address] >= minDroppedConnections && (!asked || !since.IsZero())
}

// Server implements engine.Probe. An LXD that is silent for too long counts as empty if nobody
// else can have made VMs there, or if that does not matter. Otherwise it is refused. An LXD
// whose certificate is known is asked until it shows that certificate.
func (p *autoProbe) Server(ctx context.Context, e engine.Endpoint, c engine.Credentials, pinned string) (engine.LXDServer, error) {
	server, err := p.probe.Server(ctx, e, c, pinned)
	if ctx.Err() != nil || pinned != "" || !p.noteAnswer(e.Address, err) && !p.noteDroppedConnection(ctx, e.Address, err) {
		return server, err
	}
	if allowsUnprobedLXD(ctx) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.unprobed[e.Address] = true
		return engine.LXDServer{}, nil
	}
	return engine.LXDServer{}, &engine.Refusal{
		Message: fmt.Sprintf("cannot see whether project %q of the LXD at %s holds VMs already, which MAAS would take over and power-cycle: %v", e.Project, e.Address, err),
		Hint:    "Make the LXD reachable from here, or set adopt_existing_vms if that is what you want.", Err: engine.ErrConflict,
	}
}

// noteAnswer records the answer of an address, and tells whether it has been silent for too
// long.
func (p *autoProbe) noteAnswer(address string, err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	since, asked := p.silentSince[address]
	switch {
	case !errors.Is(err, engine.ErrUnavailable):
		p.silentSince[address] = time.Time{}
	case !asked:
		p.silentSince[address] = time.Now()
	case !since.IsZero():
		return time.Since(since) > p.giveUpAfter
	}
	return false
}

type allowUnprobedLXDKey struct{}

// AllowUnprobedLXD marks a run of steps for a host whose LXD need not be reached. The run
// makes the host, so nobody else has VMs on it, or it may adopt existing VMs.
func AllowUnprobedLXD(ctx context.Context) context.Context {
	return context.WithValue(ctx, allowUnprobedLXDKey{}, true)
}

func allowsUnprobedLXD(ctx context.Context) bool {
	unseen, _ := ctx.Value(allowUnprobedLXDKey{}).(bool)
	return unseen
}
