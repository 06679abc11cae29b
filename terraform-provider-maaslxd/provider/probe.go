package provider

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/lxd"
)

// How LXD hosts are seen to be ready: the values of the provider's probe
// attribute.
const (
	probeAuto   = "auto"
	probeDirect = "direct"
	probeMAAS   = "maas"
)

// directPatience is how long LXD is asked in vain before MAAS's word is taken.
// A first boot installs LXD within it, as a rule.
const directPatience = 5 * time.Minute

// newProbe returns what the engine asks LXDs with; nil: nothing.
func newProbe(s settings) engine.Probe {
	direct := lxd.NewProber(lxd.Config{UserAgent: s.userAgent})
	switch s.probe {
	case probeMAAS:
		return nil
	case probeDirect:
		return direct
	}
	return &patientProbe{probe: direct, patience: directPatience, silent: map[string]time.Time{}}
}

// patientProbe asks LXDs, and gives up those that it never reached, so that a
// host which only MAAS can reach is not waited for in vain.
type patientProbe struct {
	probe    engine.Probe
	patience time.Duration

	mu     sync.Mutex
	silent map[string]time.Time // since when an address is asked in vain; zero: it was reached once
}

// Server implements engine.Probe. An LXD that was asked in vain for too long
// shows itself as empty if nobody can have made VMs there, or if that does not
// matter; otherwise that is refused. One whose certificate is known is asked
// until it shows that.
func (p *patientProbe) Server(ctx context.Context, e engine.Endpoint, c engine.Credentials, pinned string) (engine.LXDServer, error) {
	server, err := p.probe.Server(ctx, e, c, pinned)
	if ctx.Err() != nil || pinned != "" || !p.gaveUp(e.Address, err) {
		return server, err
	}
	if mayBeUnseen(ctx) {
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

// withUnseen marks a run of steps for a host whose LXD need not be seen: it is
// made here, so nobody else has VMs on it, or existing ones are to be adopted.
func withUnseen(ctx context.Context) context.Context {
	return context.WithValue(ctx, unseenKey{}, true)
}

func mayBeUnseen(ctx context.Context) bool {
	unseen, _ := ctx.Value(unseenKey{}).(bool)
	return unseen
}
