package ledger

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	rows "github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/access"
)

// gate says whether a node may serve.
type gate struct {
	mu     sync.Mutex
	closed error     // why it may not; nil: it may
	wall   time.Time // by this node's clock, when it was compared
	since  time.Time // by the clock that nobody sets, at the same moment
}

// check implements service.Config.Available. A clock that was set since it was compared
// closes the gate, until it is compared again.
func (g *gate) check() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed != nil || g.since.IsZero() {
		return g.closed
	}
	set := time.Now().Round(0).Sub(g.wall) - time.Since(g.since)
	if set.Abs() > rows.ClockTolerance {
		return clockError("the clock of this node was set")
	}
	return nil
}

// set opens or closes the gate.
func (g *gate) set(closed error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	g.closed, g.wall, g.since = closed, now.Round(0), now
}

// Pauses between two tries to join a cluster, and between two looks at the nodes.
const (
	joinEach = time.Second
	lookEach = 2 * time.Second
)

// errStarting closes the gate of a node that is no member as yet.
var errStarting = fmt.Errorf("the node is in no cluster yet: %w", engine.ErrUnavailable)

// joinCluster starts the node, and waits until it may serve. It waits for as long as there
// is no cluster, or no leader.
func (r *running) joinCluster(ctx context.Context) error {
	for said := ""; ; {
		err := r.tryToJoin(ctx)
		because := fmt.Sprint(err)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !errors.Is(err, engine.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded):
			return err
		case because != said:
			said = because
			r.log.Info("waiting for the cluster", "because", said)
		}
		select {
		case <-ctx.Done():
		case <-time.After(joinEach):
		}
	}
}

// tryToJoin does what is left to do.
func (r *running) tryToJoin(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if r.cluster == nil {
		if r.cluster, err = startNode(ctx, r.node); err != nil {
			r.cluster = nil
			return err
		}
	}
	if err := r.cluster.Ready(ctx); err != nil {
		return err
	}
	if r.rows == nil {
		if r.rows, err = r.cluster.Open(ctx, time.Now); err != nil {
			r.rows = nil
			return err
		}
	}
	err = r.look(ctx)
	r.gate.set(err)
	r.lookWhoLeads(ctx)
	return err
}

// lookWhoLeads notes whether this node does.
func (r *running) lookWhoLeads(ctx context.Context) {
	leads, err := r.cluster.Leads(ctx)
	r.leads.Store(leads && err == nil)
}

// watch looks at the nodes until ctx ends.
func (r *running) watch(ctx context.Context) {
	looked := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookEach):
		}
		within, cancel := context.WithTimeout(ctx, 2*lookEach)
		r.lookWhoLeads(within)
		closed := r.look(within)
		cancel()
		var judged *unfitError
		switch {
		case closed == nil, errors.As(closed, &judged):
			if was := r.gate.check(); (was == nil) != (closed == nil) {
				r.log.Warn("the node's fitness has changed", "error", fmt.Sprint(closed))
			}
			r.gate.set(closed)
			looked = time.Now()
		case time.Since(looked) > unseenFor:
			r.gate.set(closed)
		}
	}
}

// unseenFor is how long a node serves that cannot look at the others. Without a leader it
// writes nothing anyway.
const unseenFor = 20 * time.Second

// unfitError says why this node may not write, though the cluster works.
type unfitError struct{ error }

func (e *unfitError) Unwrap() error { return e.error }

// look compares this node with the others.
func (r *running) look(ctx context.Context) error {
	if err := rows.CheckSchema(ctx, r.rows); errors.Is(err, engine.ErrConflict) {
		// Another node may be new enough, so a client asks that one.
		return &unfitError{&engine.Refusal{Message: err.Error(), Hint: "Start this node with the version that the others have.", Err: engine.ErrUnavailable}}
	} else if err != nil {
		return err
	}
	ahead, certain, err := rows.CompareClocks(ctx, r.rows, r.node.address)
	switch {
	case err != nil:
		return err
	case !certain:
		return &unfitError{clockError(fmt.Sprintf("the clocks of two nodes differ by %s, and no third node tells which is right", ahead.Abs().Round(time.Second)))}
	case ahead.Abs() > rows.ClockTolerance:
		return &unfitError{clockError(fmt.Sprintf("the clock of this node differs by %s from those of the others", ahead.Round(time.Second)))}
	}
	return nil
}

func clockError(why string) error {
	return &engine.Refusal{
		Message: why + ", so nothing is written by it",
		Hint:    "Let all nodes set their clocks by NTP.", Err: engine.ErrUnavailable,
	}
}

// checkShared sees that a node of a cluster has the authority that all nodes share.
func (s *serving) checkShared() error {
	if s.serverCert != "" && s.clientCA != "" || access.HasAuthority(s.folder) {
		return nil
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("there is no %s in %s, and clients would not trust an authority of this node's own", access.AuthorityKeyFile, s.folder),
		Hint:    "Copy it from the first node, mode 0600.", Err: engine.ErrNotFound,
	}
}
