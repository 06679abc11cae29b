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
	mu                sync.Mutex
	closedError       error     // why it may not; nil: it may
	comparedAt        time.Time // by this node's clock, when it was compared
	comparedMonotonic time.Time // by the clock that nobody sets, at the same moment
}

// checkOpen implements service.Config.Available. A clock that was set since it was compared
// closes the gate, until it is compared again.
func (g *gate) checkOpen() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closedError != nil || g.comparedMonotonic.IsZero() {
		return g.closedError
	}
	set := time.Now().Round(0).Sub(g.comparedAt) - time.Since(g.comparedMonotonic)
	if set.Abs() > rows.ClockTolerance {
		return clockError("the clock of this node was set")
	}
	return nil
}

// setClosed opens or closes the gate.
func (g *gate) setClosed(closed error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	g.closedError, g.comparedAt, g.comparedMonotonic = closed, now.Round(0), now
}

// Pauses between two tries to join a cluster, and between two looks at the nodes.
const (
	joinInterval      = time.Second
	nodeCheckInterval = 2 * time.Second
)

// errStarting closes the gate of a node that is no member as yet.
var errStarting = fmt.Errorf("the node is in no cluster yet: %w", engine.ErrUnavailable)

// joinCluster starts the node, and waits until it may serve. It waits for as long as there
// is no cluster, or no leader.
func (r *runningService) joinCluster(ctx context.Context) error {
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
		case <-time.After(joinInterval):
		}
	}
}

// tryToJoin does what is left to do.
func (r *runningService) tryToJoin(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if r.cluster == nil {
		if r.cluster, err = startNode(ctx, r.node); err != nil {
			r.cluster = nil
			return err
		}
	}
	if err := r.cluster.WaitUntilMember(ctx); err != nil {
		return err
	}
	if r.rows == nil {
		if r.rows, err = r.cluster.Open(ctx, time.Now); err != nil {
			r.rows = nil
			return err
		}
	}
	err = r.checkNode(ctx)
	r.gate.setClosed(err)
	r.updateLeads(ctx)
	return err
}

// updateLeads notes whether this node does.
func (r *runningService) updateLeads(ctx context.Context) {
	leads, err := r.cluster.IsLeader(ctx)
	r.leads.Store(leads && err == nil)
}

// watchNode looks at the nodes until ctx ends.
func (r *runningService) watchNode(ctx context.Context) {
	looked := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(nodeCheckInterval):
		}
		within, cancel := context.WithTimeout(ctx, 2*nodeCheckInterval)
		r.updateLeads(within)
		closed := r.checkNode(within)
		cancel()
		var judged *unfitError
		switch {
		case closed == nil, errors.As(closed, &judged):
			if was := r.gate.checkOpen(); (was == nil) != (closed == nil) {
				r.log.Warn("the node's fitness has changed", "error", fmt.Sprint(closed))
			}
			r.gate.setClosed(closed)
			looked = time.Now()
		case time.Since(looked) > maxUncheckedTime:
			r.gate.setClosed(closed)
		}
	}
}

// maxUncheckedTime is how long a node serves that cannot look at the others. Without a leader it
// writes nothing anyway.
const maxUncheckedTime = 20 * time.Second

// unfitError says why this node may not write, though the cluster works.
type unfitError struct{ error }

func (e *unfitError) Unwrap() error { return e.error }

// checkNode compares this node with the others.
func (r *runningService) checkNode(ctx context.Context) error {
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

// checkSharedAuthority sees that a node of a cluster has the authority that all nodes share.
func (s *serveOptions) checkSharedAuthority() error {
	if s.serverCert != "" && s.clientCA != "" || access.HasAuthority(s.folder) {
		return nil
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("there is no %s in %s, and clients would not trust an authority of this node's own", access.AuthorityKeyFile, s.folder),
		Hint:    "Copy it from the first node, mode 0600.", Err: engine.ErrNotFound,
	}
}
