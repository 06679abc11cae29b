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

// nodes holds the addresses of one ledger: one of a service, or several of the nodes of a
// cluster. Calls go to the leading node if it can be reached. Otherwise they go to one node as
// long as it answers.
type nodes struct {
	all []node

	mu        sync.Mutex
	preferred int // index of the node that is asked first
	search    leaderSearch
}

// leaderSearch looks for the leading node, because other nodes pass each write on to it. One
// call at a time asks another node first. The other calls stay with the preferred node.
type leaderSearch struct {
	offset int // from the preferred node to the one that is asked next; 0: no search
	asking bool
	began  time.Time
	pause  time.Duration // until the next search may begin
}

// The pause after a search that found no leader. If the leader cannot be reached from here, each
// search makes one call wait for it.
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

// isCluster reports whether there are several nodes.
func (n *nodes) isCluster() bool { return len(n.all) > 1 }

// preferNextNode sends the next calls to the node after this one. If another call has changed
// the preferred node already, it does nothing.
func (n *nodes) preferNextNode(index int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.preferred == index {
		n.preferred = n.indexAfter(index, 1)
	}
}

func (n *nodes) indexAfter(index, offset int) int { return (index + offset) % len(n.all) }

// chooseFirstNode returns the node that a call asks first. If searching is true, that node may
// be the leader, and the call must end with finishSearchStep.
func (n *nodes) chooseFirstNode() (first int, searching bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.search.offset == 0 || n.search.asking {
		return n.preferred, false
	}
	n.search.asking = true
	return n.indexAfter(n.preferred, n.search.offset), true
}

// finishSearchStep records whether the node that was asked leads. If it leads, it becomes the
// preferred node.
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

// startLeaderSearch records that a node does not lead. It starts a search unless one runs or the
// last one is too recent.
func (n *nodes) startLeaderSearch(index int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := &n.search
	if n.preferred == index && s.offset == 0 && time.Since(s.began) >= s.pause {
		s.offset, s.began, s.pause = 1, time.Now(), max(s.pause, minSearchPause)
	}
}

// addresses returns all addresses in the form of the attribute ledger.
func (n *nodes) addresses() string {
	var all []string
	for _, each := range n.all {
		all = append(all, each.base.String())
	}
	return strings.Join(all, ",")
}

// String names the nodes for messages.
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

// outgoingCall is a call that is being sent.
type outgoingCall struct {
	wire.Operation
	id   string
	body []byte
	sent int // how many times it was sent, to any node
	// byFollower is true if the node that answered last does not lead.
	byFollower bool
}

// sendRound sends a call to one node after the other until one answers it. If there is only one
// node, its error is returned unchanged. Several nodes may work on one call: see
// nodeAnswerTimeout.
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
			return wire.Answer{}, &retryableError{err} // the caller gave up: the node may be fine
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

// mayTryAnotherNode reports whether another node may do what this one did not. A node without a
// leader or with a wrong clock answers ErrUnavailable.
func mayTryAnotherNode(err error) bool {
	_, mismatch := errors.AsType[*protocolMismatchError](err)
	return mismatch || isRetryable(err) || errors.Is(err, engine.ErrUnavailable)
}

// sendTo sends a call to a node. answered is true if the node answered; err may then be the
// error in its answer.
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

// nodeError says why a node did not do a call.
type nodeError struct {
	node
	err error
}

// roundError says for each node why it did not do a call.
type roundError []nodeError

// roundOutcome returns the error of a round that no node answered. Another protocol ends the
// call, unless some node has our protocol and only cannot serve now. During a rolling upgrade, a
// cluster elects a leader several times.
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

// Error names each node, with its reason and its hint.
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
