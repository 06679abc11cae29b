// Package remote is the client of a ledger service on another machine (engine/ledger/service).
// It implements engine.Ledger over HTTPS.
//
// If no answer comes, the client sends a call again with the same id, until the caller's time is
// over. The service does a call with one id once. If the service is a cluster, the client asks
// the next node. If no node can be reached, the call fails: the client never guesses a
// reservation.
package remote

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/lease"
	"github.com/maaslxd/maaslxd/engine/ledger/wire"
)

// Client is the connection to a service. It is safe for concurrent use.
type Client struct {
	nodes   *nodes
	version string
	conns   connections
	leases  *lease.Keeper
	outage  outage
}

// New makes a client. It sends nothing yet. An error is an *engine.SpecError.
func New(c Config) (*Client, error) {
	addresses, trust, err := c.parse()
	if err != nil {
		return nil, err
	}
	return &Client{
		nodes: newNodes(addresses), version: c.Version, leases: lease.NewKeeper(),
		conns: connections{config: c, http: newHTTPClient(trust, c.Dialer), filesReadAt: time.Now()},
	}, nil
}

// newHTTPClient makes the HTTP client that sends the requests.
func newHTTPClient(trust *tls.Config, dialer Dialer) *http.Client {
	if dialer == nil {
		dialer = &net.Dialer{}
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true) // so that an error can name a server that is no ledger
	protocols.SetHTTP2(true)
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           dialer.DialContext,
			TLSClientConfig:       trust,
			TLSHandshakeTimeout:   10 * time.Second,
			ResponseHeaderTimeout: callRetryTimeout,
			IdleConnTimeout:       time.Minute,
			Protocols:             &protocols,
			HTTP2:                 &http.HTTP2Config{SendPingTimeout: 10 * time.Second, PingTimeout: 5 * time.Second},
		},
	}
}

// Check asks the service who this client is. So a wrong address, certificate or version is an
// error at once.
func (c *Client) Check(ctx context.Context) (wire.Client, error) {
	answer, err := c.sendCall(ctx, wire.OpHello, wire.Call{})
	if err != nil {
		return wire.Client{}, err
	}
	if answer.Client == nil {
		return wire.Client{}, c.incompleteAnswerError(wire.OpHello)
	}
	return *answer.Client, nil
}

var _ ledger.Regions = (*Client)(nil)

// Region implements ledger.Regions.
func (c *Client) Region(name string) ledger.RegionLedger { return &Ledger{c, name} }

// Close closes the idle connections. Later calls open new ones.
func (c *Client) Close() error {
	c.conns.close()
	return nil
}

// Tag returns the tag of the ledger, which is the same for all regions.
func (c *Client) Tag(ctx context.Context) (engine.Tag, error) { return c.Region("").CurrentTag(ctx) }
