package remote

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/bounded"
	"github.com/maaslxd/maaslxd/engine/internal/jitter"
	"github.com/maaslxd/maaslxd/engine/ledger/wire"
)

// The client sends a call again for callRetryTimeout while no answer comes. That is longer than
// a restart of the service takes. After attemptTimeout it gives up one attempt, because its
// connection may be dead.
const (
	callRetryTimeout = 30 * time.Second
	attemptTimeout   = 10 * time.Second
)

// nodeAnswerTimeout is how long one of several nodes may take to answer. Then the client asks
// the next node, so a node that hangs costs a call only seconds. The first node may still do the
// call. That is safe:
//
//   - A write that both nodes do counts once. Rows and leases keep the id of their call. Other
//     writes change nothing the second time.
//   - The first node gives up at the same time (HeaderTimeout). A node that hung begins no write
//     whose client has gone.
const nodeAnswerTimeout = 3 * time.Second

var errNodeAnswerTimeout = fmt.Errorf("no answer came within %s", nodeAnswerTimeout)

// The pause between two attempts doubles from minRetryPause to maxRetryPause, with jitter.
const (
	minRetryPause = 50 * time.Millisecond
	maxRetryPause = 2 * time.Second
)

// sendCall sends a call until it is answered. That is safe for all calls: reads change nothing,
// and writes have an id.
func (c *Client) sendCall(ctx context.Context, o wire.Operation, call wire.Call) (wire.Answer, error) {
	body, err := json.Marshal(call)
	if err != nil {
		return wire.Answer{}, fmt.Errorf("cannot write the call %s of the ledger: %w", o.Name, err)
	}
	probe, err := c.outage.admitCall()
	if err != nil {
		return wire.Answer{}, err
	}
	if probe {
		defer c.outage.endProbe()
	}
	if err := ctx.Err(); err != nil {
		return wire.Answer{}, err
	}
	began, sending := time.Now(), &outgoingCall{Operation: o, id: rand.Text(), body: body}
	var last error
	for pause := minRetryPause; ; pause = min(2*pause, maxRetryPause) {
		answer, err := c.sendRound(ctx, sending)
		if !isRetryable(err) {
			c.outage.noteAnswer()
			return answer, c.asLedgerError(err)
		}
		if last == nil || ctx.Err() == nil {
			last = err // a round that the deadline cut off says less than the one before
		}
		if err := c.giveUpIfDue(ctx, sending, began, probe, last); err != nil {
			return wire.Answer{}, err
		}
		sleepWithContext(ctx, pause/2+jitter.RandomPause(pause))
		if ctx.Err() != nil {
			return wire.Answer{}, c.giveUpIfDue(ctx, sending, began, probe, last)
		}
	}
}

// giveUpIfDue returns the error that ends a call without an answer. It returns nil if the call
// is to be sent again. A call that gives up makes later calls fail at once (outage). There are
// two exceptions: a heartbeat, which waits for less time than other calls, and a call that was
// not sent to each node.
func (c *Client) giveUpIfDue(ctx context.Context, call *outgoingCall, began time.Time, probe bool, last error) error {
	switch other := c.outage.giveUpErrorSince(began); {
	case ctx.Err() != nil:
		askedAll := call.sent >= len(c.nodes.all) && call.Operation != wire.OpBeatLeases
		if askedAll && time.Since(began) >= minTriedTime && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			c.outage.noteGiveUp(c.unreachableError(last))
		}
		return c.asLedgerError(c.unansweredError(ctx, last))
	case other != nil:
		return other
	case probe || time.Since(began) > callRetryTimeout:
		err := c.unreachableError(last)
		c.outage.noteGiveUp(err)
		return err
	}
	return nil
}

// retryableError says why a call has no answer yet.
type retryableError struct{ err error }

func (p *retryableError) Error() string { return p.err.Error() }

func (p *retryableError) Unwrap() error { return p.err }

// isRetryable reports whether sending the call again may help.
func isRetryable(err error) bool {
	_, lost := errors.AsType[*retryableError](err)
	return lost || errors.Is(err, wire.ErrShuttingDown) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// sendOnce sends a call to a node, and reads the answer. If no answer comes, the error is a
// *retryableError.
func (c *Client) sendOnce(ctx context.Context, to node, call *outgoingCall) (wire.Answer, error) {
	whole := timeLeft(ctx)
	ctx, cancel := context.WithTimeout(ctx, min(attemptTimeout, whole))
	defer cancel()
	if c.nodes.isCluster() {
		whole = min(whole, nodeAnswerTimeout)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.base.String()+wire.PathPrefix+call.Name, bytes.NewReader(call.body))
	if err != nil {
		return wire.Answer{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "maaslxd/"+c.version)
	request.Header.Set(wire.HeaderProtocol, wire.ProtocolVersion())
	request.Header.Set(wire.HeaderTimeout, strconv.FormatInt(max(1, whole.Milliseconds()), 10))
	request.Header.Set(wire.HeaderCall, call.id)
	response, err := c.doRequest(request)
	if err != nil {
		return wire.Answer{}, to.noAnswerError(err)
	}
	defer response.Body.Close()
	if err := to.checkProtocol(response); err != nil {
		return wire.Answer{}, err
	}
	call.byFollower = response.Header.Get(wire.HeaderLeads) == "false"
	return to.readAnswer(response)
}

// doRequest sends a request. In a cluster a node must begin its answer within nodeAnswerTimeout.
// Reading the answer may take longer.
func (c *Client) doRequest(request *http.Request) (*http.Response, error) {
	if !c.nodes.isCluster() {
		return c.conns.httpClient().Do(request)
	}
	ctx, cancel := context.WithCancelCause(request.Context())
	timer := time.AfterFunc(nodeAnswerTimeout, func() { cancel(errNodeAnswerTimeout) })
	defer timer.Stop()
	response, err := c.conns.httpClient().Do(request.WithContext(ctx))
	if err != nil && errors.Is(context.Cause(ctx), errNodeAnswerTimeout) {
		return nil, errNodeAnswerTimeout
	}
	return response, err
}

// readAnswer reads the answer of a node. If the connection breaks meanwhile, the error is a
// *retryableError.
func (n node) readAnswer(response *http.Response) (wire.Answer, error) {
	text, err := bounded.ReadAll(response.Body, wire.AnswerLimits)
	switch {
	case errors.Is(err, bounded.ErrTooLarge):
		return wire.Answer{}, fmt.Errorf("cannot read the answer of the ledger service %s: %w", n.base.Host, err)
	case err != nil:
		return wire.Answer{}, &retryableError{err}
	}
	var answer wire.Answer
	if err := json.Unmarshal(text, &answer); err != nil || answer.Error == nil && response.StatusCode != http.StatusOK {
		return wire.Answer{}, &retryableError{fmt.Errorf("its answer (%s) makes no sense", response.Status)}
	}
	return answer, nil
}

// timeLeft returns how long the caller of a call still waits.
func timeLeft(ctx context.Context) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		return time.Until(end)
	}
	return callRetryTimeout
}

// checkProtocol refuses an answer of a server that is no ledger, or has another protocol.
func (n node) checkProtocol(response *http.Response) error {
	theirs := response.Header.Get(wire.HeaderProtocol)
	var message string
	switch wire.CompareProtocol(theirs) {
	case wire.SameProtocol:
		return nil
	case wire.NewerProtocol:
		message = "is newer than this program"
	case wire.OlderProtocol:
		message = "is older than this program"
	case wire.OtherFields:
		message = "is another build than this program"
	default:
		return n.notLedgerError(response)
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10))
	return &protocolMismatchError{&engine.Refusal{
		Message: fmt.Sprintf("the ledger service %s %s: they speak the protocols %s and %s", n.base.Host, message, bounded.TruncateText(bounded.OneLine(theirs), 40), wire.ProtocolVersion()),
		Hint:    "Take the same version for both.", Err: engine.ErrConflict,
	}}
}

func sleepWithContext(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
