// Package api sends requests to MAAS's API 2.0 and reads its answers.
//
// Every request goes through a chain of small handlers (handler*.go): retry,
// deadline, log, sign, check, send. What MAAS refused is an *Error, of one of the
// engine's kinds, on one line, with nothing in it that is secret.
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
	// slowTimeout is for requests in which MAAS waits for a rack controller,
	// which it does for up to 120 s (clusterrpc/pods.py, compose).
	slowTimeout = 150 * time.Second
	// retryBudget is the time after which no further try begins.
	retryBudget = 30 * time.Second
	// sharedSlack keeps the deadline of a shared call behind that of its tries.
	sharedSlack = 5 * time.Second
)

// Client sends requests to one MAAS, for one user. It is safe for concurrent use.
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

// New makes a client. It calls nothing; each bad field of the Config yields a
// *ConfigError, and several of them are joined.
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

// Close gives idle connections back. Calls that are under way go on.
func (c *Client) Close() {
	if t, ok := c.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// SharedLimit bounds a call that is made for several callers: it lies behind
// the deadlines of its tries, so that those speak first.
func (c *Client) SharedLimit() time.Duration {
	return c.timeout + retryBudget + sharedSlack
}

// Call sends r and reads its answer into the value that into points to; nil
// ignores it.
func (c *Client) Call(ctx context.Context, r *Request, into any) error {
	if r.Err != nil {
		return r.Err
	}
	r.timeout = c.timeout
	// Slow calls leave connections to the others: a host that hangs must not
	// stop the reads of all.
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

// ForeignAnswerError is the error for an answer to r that no MAAS gives. It is
// terminal as long as no MAAS has answered this client.
func (c *Client) ForeignAnswerError(r *Request, status int) error {
	return c.endpoint.foreignAnswerError(r, status)
}

// HasOnlyRead tells that this client has changed nothing so far: a refresh or a
// plan is likely under way.
func (c *Client) HasOnlyRead() bool { return !c.wrote.Load() }

// List calls one of MAAS's collections. MAAS has them all, so that a 404
// speaks of the address and not of the thing that the caller asks for.
func (c *Client) List(ctx context.Context, r *Request, into any) error {
	err := c.Call(ctx, r, into)
	if e, ok := AsError(err); ok && e.Status == http.StatusNotFound {
		return c.endpoint.foreignAnswerError(r, e.Status)
	}
	return err
}
