package provider

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/maaslxd/maaslxd/engine"
)

// fleetWindow is how long a look at the fleet waits for others to join it:
// Terraform starts the reads of a run's data sources within milliseconds.
const fleetWindow = 15 * time.Millisecond

// fleetLooks makes one look at the fleet of those that are asked for at the
// same moment, or while another is under way. Who asks only ever joins a look
// that has not begun, so that nobody misses what was made before.
type fleetLooks struct {
	look func(context.Context) (engine.Fleet, error)
	turn chan struct{} // held by the look that is under way

	mu   sync.Mutex
	open *fleetLook // not begun; nil if there is none
}

func newFleetLooks(look func(context.Context) (engine.Fleet, error)) *fleetLooks {
	return &fleetLooks{look: look, turn: make(chan struct{}, 1)}
}

type fleetLook struct {
	done  chan struct{}
	fleet engine.Fleet
	err   error
}

// read returns the fleet, which is shared and must not be changed.
func (l *fleetLooks) read(ctx context.Context) (engine.Fleet, error) {
	look := l.join(ctx)
	select {
	case <-look.done:
		return look.fleet, look.err
	case <-ctx.Done():
		return engine.Fleet{}, ctx.Err()
	}
}

func (l *fleetLooks) join(ctx context.Context) *fleetLook {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = &fleetLook{done: make(chan struct{})}
		go l.run(context.WithoutCancel(ctx), l.open) // the others stay when the first one leaves
	}
	return l.open
}

func (l *fleetLooks) run(ctx context.Context, look *fleetLook) {
	defer close(look.done)
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	time.Sleep(fleetWindow)
	l.mu.Lock()
	l.open = nil
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	look.fleet, look.err = l.look(ctx)
}

// fleetSource is what the data sources have in common.
type fleetSource struct {
	client *client
}

// Configure takes what the provider hands over.
func (s *fleetSource) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	s.client = clientOf(req.ProviderData, &resp.Diagnostics)
}

// fleet looks at MAAS. An error is in the diagnostics.
func (s *fleetSource) fleet(ctx context.Context, doing string, diags *diag.Diagnostics) engine.Fleet {
	b, err := s.client.use()
	if err != nil {
		report(diags, doing, err)
		return engine.Fleet{}
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	fleet, err := b.fleet.read(ctx)
	if err != nil {
		report(diags, doing, err)
	}
	if fleet.Unseen != nil {
		diags.AddWarning("VMs may be missing", explain(fleet.Unseen)+paragraph("Only its own LXD tells which VMs are on such a host"))
	}
	return fleet
}

// clientOf reads what Configure handed over: nothing while a configuration is
// validated, before the provider is configured.
func clientOf(data any, diags *diag.Diagnostics) *client {
	c, ok := data.(*client)
	if !ok && data != nil {
		diags.AddError("The provider is broken", fmt.Sprintf("It handed over a %T. Please report this.", data))
	}
	return c
}
