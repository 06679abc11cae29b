package remote

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger/wire"
)

// node is one address of a ledger service.
type node struct{ base *url.URL }

// nodes are the addresses of one ledger: of a service, or of all nodes of a cluster. Calls
// go to one node while it answers.
type nodes struct {
	all       []node
	preferred atomic.Int64 // the index of the node that the next call asks first

	mu       sync.Mutex
	searched time.Time // when a search for the one that leads began
	left     int       // how many nodes it may still go on to
}

// searchEach is how often the node that leads is searched for. Where it cannot be reached
// from here, each search costs a call the wait for it.
const searchEach = 10 * time.Second

func newNodes(addresses []*url.URL) *nodes {
	n := &nodes{}
	for _, base := range addresses {
		n.all = append(n.all, node{base})
	}
	return n
}

// isCluster tells whether there is another node to ask.
func (n *nodes) isCluster() bool { return len(n.all) > 1 }

// leave sends the next calls to the node after this one, unless another call has done so.
func (n *nodes) leave(index int) {
	n.preferred.CompareAndSwap(int64(index), int64((index+1)%len(n.all)))
}

// search goes on to the next node, as this one does not lead: it would pass on each write
// to the one that does.
func (n *nodes) search(index int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if time.Since(n.searched) > searchEach {
		n.searched, n.left = time.Now(), len(n.all)-1
	}
	if n.left > 0 && n.preferred.CompareAndSwap(int64(index), int64((index+1)%len(n.all))) {
		n.left--
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

// outgoing is a call on its way.
type outgoing struct {
	wire.Operation
	id   string
	body []byte
	sent int // how many times, to whichever node
	// follows tells that the node which answered last does not lead.
	follows bool
}

// sendRound sends a call to each node until one answers it. A single node's error is
// returned as it is.
//
// Several nodes may so work on one call: see unansweredFor.
func (c *Client) sendRound(ctx context.Context, call *outgoing) (wire.Answer, error) {
	if !c.nodes.isCluster() {
		answer, _, err := c.sendTo(ctx, c.nodes.all[0], call)
		return answer, err
	}
	var failures roundError
	for n, first := 0, int(c.nodes.preferred.Load()); n < len(c.nodes.all); n++ {
		index := (first + n) % len(c.nodes.all)
		answer, answered, err := c.sendTo(ctx, c.nodes.all[index], call)
		switch {
		case answered && !mayAnotherNode(err):
			if call.follows {
				c.nodes.search(index)
			}
			return answer, err
		case errors.Is(ctx.Err(), context.Canceled):
			return wire.Answer{}, &passing{err} // it says nothing of the node
		}
		c.nodes.leave(index)
		failures = append(failures, nodeError{c.nodes.all[index], err})
		switch {
		case !mayAnotherNode(err):
			return wire.Answer{}, err
		case ctx.Err() != nil:
			return wire.Answer{}, &passing{failures}
		}
	}
	return wire.Answer{}, failures.outcome()
}

// mayAnotherNode tells whether another node may do what this one did not. ErrUnavailable is
// the answer of a node without a leader, or with a wrong clock.
func mayAnotherNode(err error) bool {
	_, mismatch := errors.AsType[*mismatchError](err)
	return mismatch || isPassing(err) || errors.Is(err, engine.ErrUnavailable)
}

// sendTo sends a call to a node, and tells whether the node answered it. The error may be
// that of the answer.
func (c *Client) sendTo(ctx context.Context, to node, call *outgoing) (answer wire.Answer, answered bool, err error) {
	call.sent++
	answer, err = c.sendOnce(ctx, to, call)
	if err != nil {
		return wire.Answer{}, false, err
	}
	return answer, true, answer.Error.Err()
}

// mismatchError says that a node speaks another protocol.
type mismatchError struct{ *engine.Refusal }

func (m *mismatchError) Unwrap() error { return m.Refusal }

// nodeError is why a node did not do a call.
type nodeError struct {
	node
	err error
}

// roundError is why no node did a call.
type roundError []nodeError

// outcome is what a round without an answer comes to. Another protocol is final, unless a
// node of this one is there that cannot serve for now: during a rolling upgrade, a cluster
// elects a leader several times.
func (r roundError) outcome() error {
	var mismatch error
	serving := false
	for _, f := range r {
		_, lost := errors.AsType[*passing](f.err)
		if _, differs := errors.AsType[*mismatchError](f.err); differs {
			mismatch = f.err
		} else if !lost {
			serving = true
		}
	}
	if mismatch != nil && !serving {
		return mismatch
	}
	return &passing{r}
}

// Error names each node, with the reason and the way out that it gave.
func (r roundError) Error() string {
	var all []string
	for _, f := range r {
		text := line(f.err.Error())
		if refusal, ok := errors.AsType[*engine.Refusal](f.err); ok && refusal.Hint != "" {
			text += " (" + line(refusal.Hint) + ")"
		}
		all = append(all, fmt.Sprintf("%s: %s", f.base.Host, text))
	}
	return strings.Join(all, "; ")
}
