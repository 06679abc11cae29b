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

// How long a call is sent again while no answer comes: longer than a service takes to
// start anew. One sending is given up after sendingFor, as its connection may be dead.
const (
	patience   = 30 * time.Second
	sendingFor = 10 * time.Second
)

// Pauses between two sendings, with jitter.
const (
	pauseFirst = 50 * time.Millisecond
	pauseMost  = 2 * time.Second
)

// ask sends a call until it is answered. All calls may be sent again: reads change
// nothing, and writes have an id.
func (c *Client) ask(ctx context.Context, o wire.Operation, call wire.Call) (wire.Answer, error) {
	body, err := json.Marshal(call)
	if err != nil {
		return wire.Answer{}, fmt.Errorf("cannot write the call %s of the ledger: %w", o.Name, err)
	}
	probe, err := c.away.begin()
	if err != nil {
		return wire.Answer{}, err
	}
	if probe {
		defer c.away.endProbe()
	}
	if err := ctx.Err(); err != nil {
		return wire.Answer{}, err
	}
	began, id := time.Now(), rand.Text()
	for pause := pauseFirst; ; pause = min(2*pause, pauseMost) {
		answer, err := c.sendOnce(ctx, o, id, body)
		if err == nil {
			err = answer.Error.Err()
		}
		if !isPassing(err) {
			c.away.answered()
			return answer, c.ofLedger(err)
		}
		if err := c.giveUp(ctx, o, began, probe, err); err != nil {
			return wire.Answer{}, err
		}
		sleep(ctx, pause/2+jitter.Of(pause))
		if ctx.Err() != nil {
			return wire.Answer{}, c.giveUp(ctx, o, began, probe, err)
		}
	}
}

// giveUp says why a call is not sent again that got no answer; nil: it is. A heartbeat
// waits for less than others, and so ends no other call.
func (c *Client) giveUp(ctx context.Context, o wire.Operation, began time.Time, probe bool, last error) error {
	switch other := c.away.gaveUpAfter(began); {
	case ctx.Err() != nil:
		if tried := time.Since(began); tried >= enough && o != wire.Beat && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			c.away.gaveUp(c.unreachable(last))
		}
		return c.ofLedger(fmt.Errorf("the ledger service %s did not answer: %w", c.base.Host, ctx.Err()))
	case other != nil:
		return other
	case probe || time.Since(began) > patience:
		err := c.unreachable(last)
		c.away.gaveUp(err)
		return err
	}
	return nil
}

// passing is why a call has no answer yet.
type passing struct{ err error }

func (p *passing) Error() string { return p.err.Error() }

func (p *passing) Unwrap() error { return p.err }

// isPassing tells whether sending the call again may help.
func isPassing(err error) bool {
	_, lost := errors.AsType[*passing](err)
	return lost || errors.Is(err, wire.ErrEnding) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// sendOnce sends a call, and reads the answer. The error is *passing where there is none.
func (c *Client) sendOnce(ctx context.Context, o wire.Operation, id string, body []byte) (wire.Answer, error) {
	whole := timeLeft(ctx)
	ctx, cancel := context.WithTimeout(ctx, min(sendingFor, whole))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base.String()+wire.Path+o.Name, bytes.NewReader(body))
	if err != nil {
		return wire.Answer{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "maaslxd/"+c.version)
	request.Header.Set(wire.HeaderProtocol, wire.Version())
	request.Header.Set(wire.HeaderTimeout, strconv.FormatInt(max(1, whole.Milliseconds()), 10))
	request.Header.Set(wire.HeaderCall, id)
	response, err := c.conns.client().Do(request)
	if err != nil {
		return wire.Answer{}, c.explain(err)
	}
	defer response.Body.Close()
	if err := c.checkPeer(response); err != nil {
		return wire.Answer{}, err
	}
	text, err := bounded.ReadAll(response.Body, wire.AnswerLimits)
	switch {
	case errors.Is(err, bounded.ErrTooLarge):
		return wire.Answer{}, fmt.Errorf("cannot read the answer of the ledger service %s: %w", c.base.Host, err)
	case err != nil:
		return wire.Answer{}, &passing{err}
	}
	var answer wire.Answer
	if err := json.Unmarshal(text, &answer); err != nil || answer.Error == nil && response.StatusCode != http.StatusOK {
		return wire.Answer{}, &passing{fmt.Errorf("its answer (%s) makes no sense", response.Status)}
	}
	return answer, nil
}

// timeLeft is how long the caller of a call waits.
func timeLeft(ctx context.Context) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		return time.Until(end)
	}
	return patience
}

// checkPeer sees that a ledger of the same protocol answers.
func (c *Client) checkPeer(response *http.Response) error {
	theirs := response.Header.Get(wire.HeaderProtocol)
	var message string
	switch wire.Compare(theirs) {
	case wire.Same:
		return nil
	case wire.Newer:
		message = "is newer than this program"
	case wire.Older:
		message = "is older than this program"
	case wire.Another:
		message = "is another build than this program"
	default:
		return c.noLedger(response)
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10))
	return &engine.Refusal{
		Message: fmt.Sprintf("the ledger service %s %s: they speak the protocols %s and %s", c.base.Host, message, bounded.Cut(bounded.OneLine(theirs), 40), wire.Version()),
		Hint:    "Take the same version for both.", Err: engine.ErrConflict,
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
