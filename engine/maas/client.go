// Package maas speaks MAAS's API 2.0. A Client implements the engine's
// Machines, Metal, Names, DNS and Catalog, and its Composer and Registrar for MAAS
// up to 3.8, which has VM hosts.
//
// Every request goes through a chain of small handlers (handler*.go): retry,
// deadline, log, sign, check, send. Reads of machines that come at the same
// moment become one request (coalesce.go); one poller looks at all machines
// that someone waits for (watch.go); the lists that seldom change are cached
// (cache.go). All of that is safe for concurrent use. What a Client returns
// may be shared between callers and must not be modified.
package maas

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"

	"github.com/maaslxd/maaslxd/engine"
)

var (
	_ engine.Machines = (*Client)(nil)
	_ engine.Composer = (*Client)(nil)
	_ engine.Names    = (*Client)(nil)
	_ engine.Catalog  = (*Client)(nil)

	_ engine.RegionMarks = (*Client)(nil)
	_ engine.Metal       = (*Client)(nil)
	_ engine.Registrar   = (*Client)(nil)
	_ engine.Reports     = (*Client)(nil)
)

const (
	defaultTimeout  = 60 * time.Second
	defaultInterval = 5 * time.Second
	defaultMaxConns = 14

	// slowTimeout is for requests in which MAAS waits for a rack controller,
	// which it does for up to 120 s (clusterrpc/pods.py, compose).
	slowTimeout = 150 * time.Second
	// retryBudget is the time after which no further try begins.
	retryBudget = 30 * time.Second
	// sharedSlack keeps the deadline of a shared call behind that of its tries.
	sharedSlack = 5 * time.Second
)

// Client is a client of one MAAS, for one user.
type Client struct {
	base      *url.URL
	timeout   time.Duration
	slow      time.Duration
	log       *slog.Logger
	transport http.RoundTripper
	handle    handler
	place     *place
	slowCalls *semaphore.Weighted
	tag       func(context.Context) (engine.Tag, error)

	wrote  atomic.Bool // a request that may change something was sent
	byID   *coalescer
	byName *coalescer
	looks  looks
	poller poller

	hosts    *cached[[]engine.VMHost]
	hostKeys hostKeys
	hostIDs  sync.Map // int, MAAS's number, to engine.VMHost
	zones    *cached[[]named]
	pools    *cached[[]named]
	domains  *cached[[]named]
	// tagComments are the comments of the tags that MAAS has, by name. Who misses a
	// tag makes it, so that an old list only costs a call.
	tagComments *cached[map[string]string]
	subnets     *cached[[]engine.Subnet]
	ranges      *subnetRanges
	images      *cached[[]engine.Image]
	series      *cached[string] // default_distro_series of MAAS, "noble"
	probe       *cached[engine.Capabilities]

	writtenDNS writtenDNS

	tagging singleflight.Group // by tag
	tags    sync.Map           // tags that MAAS had already
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
	at := new(place)
	client := &Client{
		base:      base,
		timeout:   c.Timeout,
		slow:      max(c.Timeout, slowTimeout),
		log:       c.Log,
		transport: c.Transport,
		handle:    newChain(c, base, key, at),
		place:     at,
		tag:       c.Tag,
		slowCalls: semaphore.NewWeighted(int64(max(1, c.MaxConns*3/4))),
	}
	client.poller = poller{client: client, pace: &pace{
		now: c.Now, interval: c.Interval, visits: map[string]*visit{}, stays: map[engine.Phase][]stay{},
	}}
	client.looks = looks{now: c.Now}
	client.writtenDNS = writtenDNS{now: c.Now, last: map[engine.DNSName]writtenName{}}
	client.byID = newCoalescer(patience+client.sharedLimit(), maxIDs, client.fetchByID, client.reading)
	client.byName = newCoalescer(patience+client.sharedLimit(), maxNames, client.fetchByName, client.reading)
	client.makeLists(c.Now)
	return client, nil
}

func (c Config) withDefaults() Config {
	c.UserAgent = cmp.Or(c.UserAgent, "maaslxd")
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	c.Interval = cmp.Or(c.Interval, defaultInterval)
	c.MaxConns = cmp.Or(c.MaxConns, defaultMaxConns)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Tag == nil {
		c.Tag = func(context.Context) (engine.Tag, error) { return engine.Tag{}, nil }
	}
	if c.Rand == nil {
		c.Rand = rand.Float64
	}
	if c.Backoff == nil {
		c.Backoff = Exponential(500*time.Millisecond, 5*time.Second, c.Rand)
	}
	return c
}

// Close gives idle connections back. Calls that are under way go on.
func (c *Client) Close() {
	if t, ok := c.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// sharedLimit bounds a call that is made for several callers: it lies behind
// the deadlines of its tries, so that those speak first.
func (c *Client) sharedLimit() time.Duration {
	return c.timeout + retryBudget + sharedSlack
}

// call sends r and reads its answer into the value that into points to; nil
// ignores it.
func (c *Client) call(ctx context.Context, r *request, into any) error {
	if r.err != nil {
		return r.err
	}
	r.timeout = c.timeout
	// Slow calls leave connections to the others: a host that hangs must not
	// stop the reads of all.
	if r.slow {
		r.timeout = c.slow
		if err := c.slowCalls.Acquire(ctx, 1); err != nil {
			return err
		}
		defer c.slowCalls.Release(1)
	}
	if r.begin != nil {
		if err := r.begin(ctx); err != nil {
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

// reading tells that this client has changed nothing so far: a refresh or a
// plan is likely under way.
func (c *Client) reading() bool { return !c.wrote.Load() }

// list calls one of MAAS's collections. MAAS has them all, so that a 404
// speaks of the address and not of the thing that the caller asks for.
func (c *Client) list(ctx context.Context, r *request, into any) error {
	err := c.call(ctx, r, into)
	if e, ok := asError(err); ok && e.Status == http.StatusNotFound {
		return c.place.foreign(r, e.Status)
	}
	return err
}

// write sends a request that changes a machine. What was seen of it before
// the answer came is not served any more.
func (c *Client) write(ctx context.Context, systemID string, r *request, into any) error {
	defer c.looks.spoil(systemID)
	return c.call(ctx, r, into)
}
