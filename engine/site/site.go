// Package site puts the engine together for one MAAS: the client, the ledger, and
// who makes the VMs. It is what all front ends share besides the engine.
package site

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/lxd"
	"github.com/maaslxd/maaslxd/engine/maas"
)

// Choice says who makes the VMs.
type Choice string

// The choices. Auto is MAAS where it has VM hosts, else LXD: it takes one probe,
// when it first matters.
const (
	Auto Choice = "auto"
	MAAS Choice = "maas"
	LXD  Choice = "lxd"
)

// Config is what a Site is made of. Probe, the key, the clocks and Log are
// optional.
type Config struct {
	// URL, APIKey, CACert (PEM), UserAgent, Timeout of one call and Interval of
	// the poller are as in maas.Config.
	URL, APIKey string
	CACert      []byte
	UserAgent   string
	Timeout     time.Duration
	Interval    time.Duration
	// MaxConns and Called are as in maas.Config, too.
	MaxConns int
	Called   func(maas.Call)
	// Listed is told when the hosts were listed, whoever makes the VMs; nil: nobody
	// is.
	Listed func()

	Ledger engine.Ledger
	// Region is what the sites of one MAAS share in a process; nil: there is no
	// other.
	Region *engine.Region
	// Probe asks LXD servers whether they are ready; nil: who makes the VMs tells.
	Probe engine.Probe
	// Composer is who makes the VMs; empty: Auto.
	Composer Choice
	// Credentials is the fleet's key pair. It is called when an LXD is asked.
	Credentials func(context.Context) (engine.Credentials, error)
	// InsecureKey lets the private key travel to a MAAS on plain http.
	InsecureKey bool
	// Log gets a line for each change made (Info) and each look (Debug); nil
	// discards them.
	Log *slog.Logger
}

// Site is one MAAS with its LXD hosts, ready to use.
type Site struct {
	*engine.Engine
	// Machines, Catalog and Names are MAAS's; Refresh of Names drops what is
	// known of the hosts, too.
	Machines engine.Machines
	Catalog  engine.Catalog
	Names    engine.Names
	// Composer and Registrar are those of the choice.
	Composer  engine.Composer
	Registrar engine.Registrar
	// DNS and RegionMarks are MAAS's.
	DNS         engine.DNS
	RegionMarks engine.RegionMarks

	choice *choice
	client *maas.Client
}

// Open makes a Site. It calls nothing; malformed fields are a *maas.ConfigError,
// or several that are joined.
func Open(c Config) (*Site, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	client, err := maas.New(maas.Config{
		URL: c.URL, APIKey: c.APIKey, CACert: c.CACert, UserAgent: c.UserAgent,
		Timeout: c.Timeout, Interval: c.Interval, Tag: c.Ledger.Tag, Log: c.Log,
		MaxConns: c.MaxConns, Called: c.called(),
	})
	if err != nil {
		return nil, err
	}
	registry := lxd.NewRegistry(client, client, client)
	composer := lxd.NewComposer(lxd.ComposerConfig{
		Servers: c.listing(registry.Servers), Credentials: c.Credentials, Machines: client, Enlister: client,
		Learned: registry.Learned, Tag: c.Ledger.Tag, UserAgent: c.UserAgent, Log: c.Log,
	})
	chosen := &choice{
		wanted: c.Composer, mayTravel: func() error { return MayTravel(c.URL, c.InsecureKey) },
		relist: client.RelistHosts, machines: client,
		maas: maker{client, client}, lxd: maker{composer, composer.Registrar(registry)},
	}
	s := &Site{
		Machines: client, Catalog: client, Names: registry.Names(composer.Names(client)),
		Composer: lateComposer{chosen}, Registrar: lateRegistrar{chosen}, DNS: client, RegionMarks: client,
		choice: chosen, client: client,
	}
	s.Engine, err = engine.New(engine.Config{
		Machines: s.Machines, Composer: s.Composer, Names: s.Names, Catalog: s.Catalog, Metal: client, Registrar: s.Registrar, Reports: client,
		Ledger: c.Ledger, Region: c.Region, Log: c.Log, Probe: c.Probe,
		MayTravel: func() error { return chosen.mayTravel() },
	})
	return s, err
}

// called also tells of the list that MAAS has of its VM hosts.
func (c Config) called() func(maas.Call) {
	if c.Listed == nil {
		return c.Called
	}
	return func(call maas.Call) {
		if call.Route == "vm-hosts/" && call.Method == http.MethodGet && call.Status == http.StatusOK {
			c.Listed()
		}
		if c.Called != nil {
			c.Called(call)
		}
	}
}

// listing tells of the list of the LXD servers.
func (c Config) listing(servers func(context.Context) ([]lxd.Server, error)) func(context.Context) ([]lxd.Server, error) {
	if c.Listed == nil {
		return servers
	}
	return func(ctx context.Context) ([]lxd.Server, error) {
		found, err := servers(ctx)
		if err == nil {
			c.Listed()
		}
		return found, err
	}
}

// Close gives idle connections to MAAS back. Calls that are under way go on, and
// the ledger is its owner's to close.
func (s *Site) Close() { s.client.Close() }

// Chosen says who makes the VMs: MAAS or LXD. MAAS is asked at most once.
func (s *Site) Chosen(ctx context.Context) (Choice, error) {
	made, err := s.choice.made(ctx)
	if err != nil {
		return "", err
	}
	if made.composer == s.choice.lxd.composer {
		return LXD, nil
	}
	return MAAS, nil
}

// MayTravel refuses to send the private key to where anybody can read it on the
// way, unless that is asked for.
func MayTravel(maasURL string, insecure bool) error {
	u, err := url.Parse(strings.TrimSpace(maasURL))
	if err != nil || !strings.EqualFold(u.Scheme, "http") || insecure || isLoopback(u.Hostname()) {
		return nil
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("MAAS is reached over plain http at %s, and the private LXD client key goes there with each VM host that is registered, "+
			"or with each VM that is made in LXD itself: anybody on the way could read it", u.Host),
		Hint: "Use an https address of MAAS as api_url. Where the network between is trusted, set allow_insecure_key = true in the provider block, or start the bridge's manager with --allow-insecure-key.",
		Err:  engine.ErrInvalid,
	}
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}
