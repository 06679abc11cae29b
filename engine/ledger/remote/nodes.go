package remote

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger/wire"
)

// node is one address of a ledger service.
type node struct{ base *url.URL }

// nodes are the addresses of one ledger: of a service, or of all nodes of a cluster. Calls
// go to one node while it answers, and to the one that leads where it can be reached.
type nodes struct {
	all []node

	mu        sync.Mutex
	preferred int // the index of the node that is asked first
	search    leaderSearch
}

// leaderSearch looks for the node that leads, as others pass on each write to it. One call at a
// time asks another node first; the others stay with the preferred one.
type leaderSearch struct {
	offset int // of the node that is asked next, from the preferred one; 0: nothing is searched
	asking bool
	began  time.Time
	pause  time.Duration // until the next search may begin
}

// How long a search rests after one that found no leader. Where the leader cannot be reached
// from here, each search costs a call the wait for it.
const (
	minSearchPause = 10 * time.Second
	maxSearchPause = 5 * time.Minute
)

func newNodes(addresses []*url.URL) *nodes {
	n := &nodes{}
	for _, base := range addresses {
		n.all = append(n.all, node{base})
	}
	return n
}

// isCluster tells whether there is another node to ask.
func (n *nodes) isCluster() bool { return len(n.all) > 1 }

// preferNextNode sends the next calls to the node after this one, unless another call has done so.
func (n *nodes) preferNextNode(index int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.preferred == index {
		n.preferred = n.indexAfter(index, 1)
	}
}

func (n *nodes) indexAfter(index, offset int) int { return (index + offset) % len(n.all) }

// chooseFirstNode returns the node that a call asks first. With searching, the
// node may be the leader, and the call ends with finishSearchStep.
func (n *nodes) chooseFirstNode() (first int, searching bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.search.offset == 0 || n.search.asking {
		return n.preferred, false
	}
	n.search.asking = true
	return n.indexAfter(n.preferred, n.search.offset), true
}

// finishSearchStep ends the question to one node. If it leads, calls go to it from now on.
func (n *nodes) finishSearchStep(index int, leads bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := &n.search
	s.asking = false
	switch s.offset++; {
	case leads:
		n.preferred, *s = index, leaderSearch{}
	case s.offset >= len(n.all):
		s.offset, s.pause = 0, min(2*s.pause, maxSearchPause)
	}
}

// startLeaderSearch notes that a node does not lead.
func (n *nodes) startLeaderSearch(index int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := &n.search
	if n.preferred == index && s.offset == 0 && time.Since(s.began) >= s.pause {
		s.offset, s.began, s.pause = 1, time.Now(), max(s.pause, minSearchPause)
	}
}

// addresses are all of them, as a configuration names them.
func (n *nodes) addresses() string {
	var all []string
	for _, each := range n.all {
		all = append(all, each.base.String())
	}
	return strings.Join(all, ",")
}

// String names them for people.
func (n *nodes) String() string {
	var hosts []string
	for _, each := range n.all {
		hosts = append(hosts, each.base.Host)
	}
	if !n.isCluster() {
		return "the ledger service " + hosts[0]
	}
	return "the ledger nodes " + strings.Join(hosts, ", ")
}

// outgoingCall is a call on its way.
type outgoingCall struct {
	wire.Operation
	id   string
	body []byte
	sent int // how many times, to whichever node
	// byFollower tells that the node which answered last does not lead.
	byFollower bool
}

// sendRound sends a call to each node until one answers it. A single node's error is
// returned as it is.
//
// Several nodes may so work on one call: see nodeAnswerTimeout.
func (c *Client) sendRound(ctx context.Context, call *outgoingCall) (wire.Answer, error) {
	if !c.nodes.isCluster() {
		answer, _, err := c.sendTo(ctx, c.nodes.all[0], call)
		return answer, err
	}
	first, searching := c.nodes.chooseFirstNode()
	leads := false
	if searching {
		defer func() { c.nodes.finishSearchStep(first, leads) }()
	}
	var failures roundError
	for n := range c.nodes.all {
		index := c.nodes.indexAfter(first, n)
		answer, answered, err := c.sendTo(ctx, c.nodes.all[index], call)
		switch {
		case answered && !mayTryAnotherNode(err):
			leads = n == 0 && !call.byFollower
			if call.byFollower {
				c.nodes.startLeaderSearch(index)
			}
			return answer, err
		case errors.Is(ctx.Err(), context.Canceled):
			return wire.Answer{}, &retryableError{err} // it says nothing of the node
		}
		c.nodes.preferNextNode(index)
		failures = append(failures, nodeError{c.nodes.all[index], err})
		switch {
		case !mayTryAnotherNode(err):
			return wire.Answer{}, err
		case ctx.Err() != nil:
			return wire.Answer{}, &retryableError{failures}
		}
	}
	return wire.Answer{}, failures.roundOutcome()
}

// mayTryAnotherNode tells whether another node may do what this one did not. ErrUnavailable is
// the answer of a node without a leader, or with a wrong clock.
func mayTryAnotherNode(err error) bool {
	_, mismatch := errors.AsType[*protocolMismatchError](err)
	return mismatch || isRetryable(err) || errors.Is(err, engine.ErrUnavailable)
}

// sendTo sends a call to a node, and tells whether the node answered it. The error may be
// that of the answer.
func (c *Client) sendTo(ctx context.Context, to node, call *outgoingCall) (answer wire.Answer, answered bool, err error) {
	call.sent++
	answer, err = c.sendOnce(ctx, to, call)
	if err != nil {
		return wire.Answer{}, false, err
	}
	return answer, true, answer.Error.Err()
}

// protocolMismatchError says that a node speaks another protocol.
type protocolMismatchError struct{ *engine.Refusal }

func (m *protocolMismatchError) Unwrap() error { return m.Refusal }

// nodeError is why a node did not do a call.
type nodeError struct {
	node
	err error
}

// roundError is why no node did a call.
type roundError []nodeError

// roundOutcome returns the error of a round without an answer. Another protocol
// is final, unless a node with this protocol exists that cannot serve for now.
// During a rolling upgrade, a cluster elects a leader several times.
func (r roundError) roundOutcome() error {
	var mismatch error
	serving := false
	for _, f := range r {
		_, lost := errors.AsType[*retryableError](f.err)
		if _, differs := errors.AsType[*protocolMismatchError](f.err); differs {
			mismatch = f.err
		} else if !lost {
			serving = true
		}
	}
	if mismatch != nil && !serving {
		return mismatch
	}
	return &retryableError{r}
}

// Error names each node, with the reason and the way out that it gave.
func (r roundError) Error() string {
	var all []string
	for _, f := range r {
		text := safeLine(f.err.Error())
		if refusal, ok := errors.AsType[*engine.Refusal](f.err); ok && refusal.Hint != "" {
			text += " (" + safeLine(refusal.Hint) + ")"
		}
		all = append(all, fmt.Sprintf("%s: %s", f.base.Host, text))
	}
	return strings.Join(all, "; ")
}
