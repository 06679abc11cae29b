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

// gate decides whether a node may serve.
type gate struct {
	mu                sync.Mutex
	closedError       error     // why the node may not serve; nil: it may
	comparedAt        time.Time // time of the last comparison, by this node's clock
	comparedMonotonic time.Time // the same moment, by the monotonic clock
}

// checkOpen implements service.Config.Available. If the clock was set since the
// last comparison, the gate closes until the next one.
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

// Pauses between two attempts to join a cluster, and between two checks of the
// nodes.
const (
	joinInterval      = time.Second
	nodeCheckInterval = 2 * time.Second
)

// errStarting closes the gate of a node that is not a member yet.
var errStarting = fmt.Errorf("the node is in no cluster yet: %w", engine.ErrUnavailable)

// joinCluster starts the node, and waits until it may serve. It waits as long
// as there is no cluster or no leader. If ctx ends meanwhile, that is no error: somebody
// stopped the service.
func (r *runningService) joinCluster(ctx context.Context) error {
	for said := ""; ; {
		err := r.tryToJoin(ctx)
		because := fmt.Sprint(err)
		waits := errors.Is(err, engine.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
		switch {
		case err == nil:
			return nil
		case !waits:
			return err
		case ctx.Err() != nil:
			r.log.Info("stopped while it waited for the cluster", "because", because)
			return nil
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

// tryToJoin takes the remaining steps to join.
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

// updateLeads notes whether this node leads.
func (r *runningService) updateLeads(ctx context.Context) {
	leads, err := r.cluster.IsLeader(ctx)
	r.leads.Store(leads && err == nil)
}

// watchNode checks the node until ctx ends.
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

// maxUncheckedTime is how long a node serves that cannot reach the others.
// Without a leader it writes nothing anyway.
const maxUncheckedTime = 20 * time.Second

// unfitError says why this node may not write, though the cluster works.
type unfitError struct{ error }

func (e *unfitError) Unwrap() error { return e.error }

// checkNode compares this node with the others.
func (r *runningService) checkNode(ctx context.Context) error {
	if err := rows.CheckSchema(ctx, r.rows); errors.Is(err, engine.ErrConflict) {
		// Another node may be new enough, so the client asks that one.
		return &unfitError{&engine.Refusal{Message: err.Error(), Hint: "Start this node with the version that the others have.", Err: engine.ErrUnavailable}}
	} else if err != nil {
		return err
	}
	ahead, certain, err := rows.CompareClocks(ctx, r.rows, r.node.address)
	switch {
	case err != nil:
		return err
	case !certain:
		return &unfitError{clockError(fmt.Sprintf("the clocks of two nodes differ by %s, and no third node shows which is right", ahead.Abs().Round(time.Second)))}
	case ahead.Abs() > rows.ClockTolerance:
		return &unfitError{clockError(fmt.Sprintf("the clock of this node differs by %s from those of the others", ahead.Round(time.Second)))}
	}
	return nil
}

func clockError(why string) error {
	return &engine.Refusal{
		Message: why + ", so this node writes nothing",
		Hint:    "Synchronize the clocks of all nodes by NTP.", Err: engine.ErrUnavailable,
	}
}

// checkSharedAuthority checks that a cluster node has the authority that all
// nodes share.
func (s *serveOptions) checkSharedAuthority() error {
	if s.serverCert != "" && s.clientCA != "" || access.HasAuthority(s.folder) {
		return nil
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("there is no %s in %s, and clients would not trust an authority of this node's own", access.AuthorityKeyFile, s.folder),
		Hint:    "Copy it from the first node, mode 0600.", Err: engine.ErrNotFound,
	}
}
