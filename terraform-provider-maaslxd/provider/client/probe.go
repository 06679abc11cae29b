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

// How LXD hosts are seen to be ready: the values of the provider's probe
// attribute.
const (
	ProbeAuto   = "auto"
	ProbeDirect = "direct"
	ProbeMAAS   = "maas"
)

// directPatience is how long LXD is asked in vain before MAAS's word is taken.
// A first boot installs LXD within it, as a rule.
const directPatience = 5 * time.Minute

// newProbe returns what the engine asks LXDs with; nil: nothing.
func newProbe(s Settings) engine.Probe {
	switch s.Probe {
	case ProbeMAAS:
		return nil
	case ProbeDirect:
		return lxd.NewProber(lxd.Config{UserAgent: s.UserAgent})
	}
	return newPatientProbe(lxd.NewProber(lxd.Config{UserAgent: s.UserAgent, Timeout: lookTimeout}))
}

// swallowedTries is how many connections in a row must get no answer at all for an
// LXD to count as one that only MAAS reaches. A machine that boots its LXD refuses
// them; a firewall on the way drops them, and will go on to.
const (
	swallowedTries = 3
	dialTimeout    = 3 * time.Second
	lookTimeout    = 5 * time.Second
)

func newPatientProbe(direct engine.Probe) *patientProbe {
	return &patientProbe{probe: direct, patience: directPatience, silent: map[string]time.Time{}, swallowed: map[string]int{}, unseen: map[string]bool{}, drops: drops}
}

// drops tells whether a connection to an LXD gets no answer, not even a refusal, or
// is swallowed by something on the way: no LXD lets a handshake wait.
func drops(ctx context.Context, address string) bool {
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
	// Whose certificate it is does not matter: nothing is sent to it.
	conn, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(ctx, "tcp", host) //nolint:gosec // see above
	if err == nil {
		conn.Close() //nolint:errcheck // nothing was sent
		return false
	}
	timeout, ok := errors.AsType[net.Error](err)
	noWay := errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.EHOSTUNREACH)
	return noWay || ok && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded)
}

// patientProbe asks LXDs, and gives up those that it never reached, so that a
// host which only MAAS can reach is not waited for in vain.
type patientProbe struct {
	probe    engine.Probe
	patience time.Duration

	mu     sync.Mutex
	silent map[string]time.Time // since when an address is asked in vain; zero: it was reached once

	drops     func(ctx context.Context, address string) bool
	swallowed map[string]int  // connections in a row that got no answer
	unseen    map[string]bool // addresses of which MAAS's word was taken
}

// tookMAASWord tells whether an LXD was never reached, so that MAAS's word was
// taken for it.
func (p *patientProbe) tookMAASWord(address string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.unseen[address]
}

// swallows counts connections that get no answer, and tells whether they are
// enough.
func (p *patientProbe) swallows(ctx context.Context, address string, err error) bool {
	if !errors.Is(err, engine.ErrUnavailable) || !p.drops(ctx, address) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.swallowed[address] = 0
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.swallowed[address]++
	since, asked := p.silent[address]
	return p.swallowed[address] >= swallowedTries && (!asked || !since.IsZero())
}

// Server implements engine.Probe. An LXD that was asked in vain for too long
// shows itself as empty if nobody can have made VMs there, or if that does not
// matter; otherwise that is refused. One whose certificate is known is asked
// until it shows that.
func (p *patientProbe) Server(ctx context.Context, e engine.Endpoint, c engine.Credentials, pinned string) (engine.LXDServer, error) {
	server, err := p.probe.Server(ctx, e, c, pinned)
	if ctx.Err() != nil || pinned != "" || !p.gaveUp(e.Address, err) && !p.swallows(ctx, e.Address, err) {
		return server, err
	}
	if mayBeUnseen(ctx) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.unseen[e.Address] = true
		return engine.LXDServer{}, nil
	}
	return engine.LXDServer{}, &engine.Refusal{
		Message: fmt.Sprintf("cannot see whether project %q of the LXD at %s holds VMs already, which MAAS would take over and power-cycle: %v", e.Project, e.Address, err),
		Hint:    "Let the LXD be reached from here, or set adopt_existing_vms if that is what you want.", Err: engine.ErrConflict,
	}
}

// gaveUp notes how an address answered, and tells whether it has been silent
// for too long.
func (p *patientProbe) gaveUp(address string, err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	since, asked := p.silent[address]
	switch {
	case !errors.Is(err, engine.ErrUnavailable):
		p.silent[address] = time.Time{}
	case !asked:
		p.silent[address] = time.Now()
	case !since.IsZero():
		return time.Since(since) > p.patience
	}
	return false
}

type unseenKey struct{}

// AllowUnseenLXD marks a run of steps for a host whose LXD need not be seen: it is
// made here, so nobody else has VMs on it, or existing ones are to be adopted.
func AllowUnseenLXD(ctx context.Context) context.Context {
	return context.WithValue(ctx, unseenKey{}, true)
}

func mayBeUnseen(ctx context.Context) bool {
	unseen, _ := ctx.Value(unseenKey{}).(bool)
	return unseen
}
