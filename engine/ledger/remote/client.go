// Package remote is a ledger that a service keeps on another machine
// (engine/ledger/service). It is the port of engine.Ledger over HTTPS.
//
// A call whose answer does not come is sent again, with the same id, until the caller's
// time is over: the service does it once. Where the service is a cluster, the next node is
// asked. Where no node can be reached, a call fails; nothing is placed on a guess.
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

// New makes a client, and asks nothing yet. An error is an *engine.SpecError.
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

// newHTTPClient makes what sends requests.
func newHTTPClient(trust *tls.Config, dialer Dialer) *http.Client {
	if dialer == nil {
		dialer = &net.Dialer{}
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true) // to tell what answers that is no ledger
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

// Check asks the service who this client is: an error says at once what is wrong with
// the address, the certificates or the versions.
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

// Close gives up the connections. Calls after it make new ones.
func (c *Client) Close() error {
	c.conns.close()
	return nil
}

// Tag is that of all regions.
func (c *Client) Tag(ctx context.Context) (engine.Tag, error) { return c.Region("").CurrentTag(ctx) }
