// Package maas speaks MAAS's API 2.0. The areas of a Client implement the engine's
// ports: its Composer and Registrar for MAAS up to 3.8, which has VM hosts, and all
// others for any MAAS.
//
// Package api sends the requests, and package share lets many callers share what is
// read. All of that is safe for concurrent use. What an area returns may be shared
// between callers and must not be modified.
package maas

import (
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
)

// Client is a client of one MAAS, for one user. Its areas know each other: what one
// changes, another reads anew.
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

// New makes a client. It calls nothing; each bad field of the Config yields an
// *api.ConfigError, and several of them are joined.
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

// Close gives idle connections back. Calls that are under way go on.
func (c *Client) Close() { c.api.Close() }

// How long a list serves. Hosts change with each VM that somebody makes.
const (
	hostsTTL = 10 * time.Second
	namesTTL = 5 * time.Minute
)

// listConfig is what cached lists are made with.
type listConfig struct {
	api *api.Client
	now func() time.Time
}

// limit bounds the reading of a list, which may be for several callers.
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
