// Package api sends requests to MAAS's API 2.0 and reads its answers.
//
// Every request goes through a chain of small handlers (handler*.go): retry, deadline, log,
// sign, check, send. A refusal of MAAS is an *Error of one of the engine's kinds. Its text
// is one line without secrets.
package api

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	defaultTimeout  = 60 * time.Second
	defaultMaxConns = 14
	// slowTimeout is for requests in which MAAS waits for a rack controller: up to 120 s
	// (clusterrpc/pods.py, compose).
	slowTimeout = 150 * time.Second
	// retryBudget is the time after which no further attempt begins.
	retryBudget = 30 * time.Second
	// sharedSlack makes the deadline of a shared call later than those of its attempts.
	sharedSlack = 5 * time.Second
)

// Client sends requests to one MAAS, as one user. It is safe for concurrent use.
type Client struct {
	timeout   time.Duration
	slow      time.Duration
	transport http.RoundTripper
	handle    handler
	endpoint  *apiEndpoint
	redact    redactor
	slowCalls *semaphore.Weighted
	wrote     atomic.Bool // a request that may change something was sent
}

// New returns a client without calling MAAS. Each invalid field of the Config yields a
// *ConfigError; several are joined.
func New(c Config) (*Client, error) {
	base, key, pool, err := c.parse()
	if err != nil {
		return nil, err
	}
	c = c.withDefaults()
	if c.Transport == nil {
		c.Transport = newTransport(c.MaxConns, pool)
	}
	at := new(apiEndpoint)
	return &Client{
		timeout:   c.Timeout,
		slow:      max(c.Timeout, slowTimeout),
		transport: c.Transport,
		handle:    newChain(c, base, key, at),
		endpoint:  at,
		redact:    redactor{key: key},
		slowCalls: semaphore.NewWeighted(int64(max(1, c.MaxConns*3/4))),
	}, nil
}

func (c Config) withDefaults() Config {
	c.UserAgent = cmp.Or(c.UserAgent, "maaslxd")
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	c.MaxConns = cmp.Or(c.MaxConns, defaultMaxConns)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Rand == nil {
		c.Rand = rand.Float64
	}
	if c.Backoff == nil {
		c.Backoff = ExponentialBackoff(500*time.Millisecond, 5*time.Second, c.Rand)
	}
	return c
}

// Close closes idle connections. Active calls go on.
func (c *Client) Close() {
	if t, ok := c.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// SharedLimit bounds a call for several callers. It is longer than the deadlines of the
// call's attempts, so that their errors are reported.
func (c *Client) SharedLimit() time.Duration {
	return c.timeout + retryBudget + sharedSlack
}

// Call sends r and decodes its answer into the value that into points to. If into is nil,
// it ignores the answer.
func (c *Client) Call(ctx context.Context, r *Request, into any) error {
	if r.Err != nil {
		return r.Err
	}
	r.timeout = c.timeout
	// Slow calls leave some connections to other calls: a host that hangs must not stop all
	// reads.
	if r.Slow {
		r.timeout = c.slow
		if err := c.slowCalls.Acquire(ctx, 1); err != nil {
			return err
		}
		defer c.slowCalls.Release(1)
	}
	if r.Begin != nil {
		if err := r.Begin(ctx); err != nil {
			return err
		}
	}
	if r.method != http.MethodGet {
		c.wrote.Store(true)
	}
	answer, err := c.handle(ctx, r)
	if err != nil {
		return err
	}
	if into == nil {
		return nil
	}
	return answer.decode(r, into)
}

// ForeignAnswerError is the error for an answer to r that does not come from a MAAS. It is
// terminal until a MAAS has answered this client.
func (c *Client) ForeignAnswerError(r *Request, status int) error {
	return c.endpoint.foreignAnswerError(r, status)
}

// HasOnlyRead reports that this client has changed nothing so far. Then it probably runs a
// refresh or a plan.
func (c *Client) HasOnlyRead() bool { return !c.wrote.Load() }

// List calls a collection of MAAS. Every MAAS has the collections, so a 404 means a wrong
// address and not a missing object.
func (c *Client) List(ctx context.Context, r *Request, into any) error {
	err := c.Call(ctx, r, into)
	if e, ok := AsError(err); ok && e.Status == http.StatusNotFound {
		return c.endpoint.foreignAnswerError(r, e.Status)
	}
	return err
}
