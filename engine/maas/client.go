// Package maas calls MAAS's API 2.0. The areas of a Client implement the engine's ports.
// Its Composer and Registrar are for MAAS up to 3.8, which has VM hosts; the other areas
// work with any MAAS.
//
// Package api sends the requests, and package share lets many callers share what is read.
// All types are safe for concurrent use. Results may be shared between callers: do not
// modify them.
package maas

import (
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
)

// Client is a client of one MAAS, as one user. Its areas are connected: after one area
// changes something, the others read it again.
type Client struct {
	Machines  *Machines
	Enlister  *Enlister
	Events    *Events
	Hosts     *Hosts
	Tags      *Tags
	Names     *Names
	Addresses *Addresses
	Catalog   *Catalog
	DNS       *DNS

	api *api.Client
}

// New returns a client without calling MAAS. Each invalid field of the Config yields an
// *api.ConfigError; several are joined.
func New(c Config) (*Client, error) {
	c = c.withDefaults()
	sender, err := api.New(c.apiConfig())
	if err != nil {
		return nil, err
	}
	l := listConfig{api: sender, now: c.Now}
	addresses, tags, catalog := newAddresses(l), newTags(l), newCatalog(l)
	machines := newMachines(c, sender)
	machines.tags, machines.addresses, machines.catalog = tags, addresses, catalog
	names := newNames(l, addresses)
	hosts := newHosts(l, c.Ledger)
	hosts.machines, hosts.names, hosts.tags, hosts.catalog = machines, names, tags, catalog
	catalog.hosts, names.hosts, names.catalog = hosts, hosts, catalog
	return &Client{
		Machines: machines, Enlister: &Enlister{api: sender, machines: machines, hosts: hosts}, Events: &Events{api: sender},
		Hosts: hosts, Tags: tags, Names: names, Addresses: addresses, Catalog: catalog, DNS: newDNS(c, sender, names),
		api: sender,
	}, nil
}

// Close closes idle connections. Active calls go on.
func (c *Client) Close() { c.api.Close() }

// How long lists are used. Hosts change with each VM that anyone makes.
const (
	hostsTTL = 10 * time.Second
	namesTTL = 5 * time.Minute
)

// listConfig is what the constructors of cached lists need.
type listConfig struct {
	api *api.Client
	now func() time.Time
}

// limit bounds the read of a list, which may be for several callers.
func (l listConfig) limit() time.Duration { return l.api.SharedLimit() }

var (
	_ engine.Machines    = (*Machines)(nil)
	_ engine.Metal       = (*Machines)(nil)
	_ engine.Enlister    = (*Enlister)(nil)
	_ engine.Reports     = (*Events)(nil)
	_ engine.Composer    = (*Hosts)(nil)
	_ engine.Registrar   = (*Hosts)(nil)
	_ engine.RegionMarks = (*Tags)(nil)
	_ engine.Names       = (*Names)(nil)
	_ engine.Addresses   = (*Addresses)(nil)
	_ engine.Catalog     = (*Catalog)(nil)
	_ engine.DNS         = (*DNS)(nil)
)
