// Package site assembles the engine for one MAAS: the client, the ledger, and the maker of the
// VMs. All front ends share it.
package site

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/assembly"
	"github.com/maaslxd/maaslxd/engine/lxd"
	"github.com/maaslxd/maaslxd/engine/maas"
	"github.com/maaslxd/maaslxd/engine/maas/api"
	"github.com/maaslxd/maaslxd/engine/region"
)

// Choice says who makes the VMs.
type Choice string

// The choices. Auto is MAAS if it has VM hosts, else LXD. It takes one call, when the answer is
// first needed.
const (
	Auto Choice = "auto"
	MAAS Choice = "maas"
	LXD  Choice = "lxd"
)

// Config holds what a Site is made of. Probe, the key, the clocks and Log are optional.
type Config struct {
	// URL, APIKey, CACert (PEM), UserAgent, Timeout of one call and Interval of the poller are
	// as in maas.Config.
	URL, APIKey string
	CACert      []byte
	UserAgent   string
	Timeout     time.Duration
	Interval    time.Duration
	// Gather, MaxConns and Called are as in maas.Config, too.
	Gather   time.Duration
	MaxConns int
	Called   func(api.Call)
	// Listed is called when the hosts were listed, whoever makes the VMs. Nil: nothing is
	// called.
	Listed func()

	Ledger engine.Ledger
	// Region is what the sites of one MAAS share in a process; nil: there is no other.
	Region *region.Region
	// Probe asks LXD servers whether they are ready; nil: the maker of the VMs tells.
	Probe engine.Probe
	// Composer says who makes the VMs; empty: Auto.
	Composer Choice
	// Credentials returns the fleet's key pair. It is called when an LXD is asked.
	Credentials func(context.Context) (engine.Credentials, error)
	// InsecureKey allows sending the private key to a MAAS over plain http.
	InsecureKey bool
	// Log gets a line for each change (Info) and each look (Debug). Nil discards them.
	Log *slog.Logger
}

// Site is one MAAS with its LXD hosts, ready to use.
type Site struct {
	Kinds
	// Inventory reads hosts and VMs.
	Inventory Inventory
	// Machines, Catalog and Names are MAAS's. Refresh of Names also drops cached lists of
	// hosts.
	Machines engine.Machines
	Catalog  engine.Catalog
	Names    engine.Names
	// DNS and RegionMarks are MAAS's.
	DNS         engine.DNS
	RegionMarks engine.RegionMarks
	// Reports reads MAAS's records of what machines did and reported.
	Reports engine.Reports
	// Metal is MAAS's. Snapshots reaches the VMs in the LXDs of all hosts.
	Metal     engine.Metal
	Snapshots engine.Snapshots

	choice *makerChoice
	client *maas.Client
}

// New makes a Site. It makes no call. Malformed fields are an *api.ConfigError, or several
// joined ones.
func New(c Config) (*Site, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	client, err := maas.New(maas.Config{
		URL: c.URL, APIKey: c.APIKey, CACert: c.CACert, UserAgent: c.UserAgent,
		Timeout: c.Timeout, Interval: c.Interval, Gather: c.Gather, Ledger: c.Ledger, Log: c.Log,
		MaxConns: c.MaxConns, OnCall: c.observeCalls(),
	})
	if err != nil {
		return nil, err
	}
	registry := lxd.NewRegistry(client.Machines, client.Machines, client.Names)
	composer := lxd.NewComposer(lxd.ComposerConfig{
		Servers: c.observeListing(registry.Servers), Credentials: c.Credentials, Machines: client.Machines, Enlister: client.Enlister,
		RecordFingerprint: registry.RecordFingerprint, Ledger: c.Ledger, UserAgent: c.UserAgent, Log: c.Log,
	})
	s := &Site{
		Machines: client.Machines, Catalog: client.Catalog, Names: registry.WrapNames(composer.WrapNames(client.Names)),
		DNS: client.DNS, RegionMarks: client.Tags, Reports: client.Events, client: client,
		Metal: client.Machines, Snapshots: lxd.NewSnapshots(composer),
		choice: &makerChoice{
			wanted: c.Composer, checkKeyTransport: func() error { return CheckKeyTransport(c.URL, c.InsecureKey) },
			log: c.Log, listHosts: client.Hosts.Hosts, relistHosts: client.Hosts.RelistHosts,
		},
	}
	s.Inventory = Inventory{s.choice, client.Machines}
	if err := s.assembleMakers(c, composer, composer.WrapRegistrar(registry)); err != nil {
		return nil, err
	}
	s.Kinds = s.choice.newChosenKinds(func(w *maker) *assembly.Engine { return w.engine })
	return s, nil
}

// assembleMakers sets the two makers: MAAS, and LXD with byLXD and registrar.
func (s *Site) assembleMakers(c Config, byLXD engine.Composer, registrar engine.Registrar) (err error) {
	chosen, hosts := s.choice, s.client.Hosts
	mayTravel := func() error { return chosen.checkKeyTransport() }
	byMAAS := engine.Composer(hosts)
	if c.Composer != MAAS {
		byMAAS = maasUntilUpgrade{hosts, chosen, s.Machines}
	}
	chosen.maas = &maker{composer: byMAAS, registrar: keyGuardedRegistrar{hosts, mayTravel}}
	chosen.lxd = &maker{composer: lxdBesideMAAS{byLXD, mayTravel, hosts, s.Machines}, registrar: keyGuardedRegistrar{registrarBesideMAAS{registrar, hosts, hosts.Hosts, s.Machines}, mayTravel}}
	in := cmp.Or(c.Region, region.New())
	for _, w := range []*maker{chosen.maas, chosen.lxd} {
		w.engine, err = assembly.NewIn(in, engine.Config{
			Machines: s.Machines, Composer: w.composer, Names: s.Names, Catalog: s.Catalog, Metal: s.client.Machines, Registrar: w.registrar,
			Reports: s.client.Events, Ledger: c.Ledger, Log: c.Log, Probe: c.Probe, CheckKeyTransport: mayTravel,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// KindsWithProbe are the kinds that ask LXD servers by p, whatever Config.Probe is.
func (s *Site) KindsWithProbe(p engine.Probe) Kinds {
	probing := map[*maker]*assembly.Engine{s.choice.maas: s.choice.maas.engine.WithProbe(p), s.choice.lxd: s.choice.lxd.engine.WithProbe(p)}
	return s.choice.newChosenKinds(func(w *maker) *assembly.Engine { return probing[w] })
}

// ReadyMachines lists the Ready machines, VMs among them, by one call.
func (s *Site) ReadyMachines(ctx context.Context) ([]engine.Machine, error) {
	return s.choice.lxd.engine.ReadyMachines(ctx)
}

// SubnetOf finds MAAS's subnet of an address, as in assembly.Engine.
func (s *Site) SubnetOf(ctx context.Context, ip netip.Addr) (engine.Subnet, error) {
	return s.choice.lxd.engine.SubnetOf(ctx, ip)
}

// ChangeMark changes the mark of a Deployed machine, as in engine.Config.
func (s *Site) ChangeMark(ctx context.Context, systemID string, from, to engine.Key) error {
	return s.choice.lxd.engine.ChangeMark(ctx, systemID, from, to)
}

// observeCalls also reports when MAAS's VM hosts were listed.
func (c Config) observeCalls() func(api.Call) {
	if c.Listed == nil {
		return c.Called
	}
	return func(call api.Call) {
		if call.Route == "vm-hosts/" && call.Method == http.MethodGet && call.Status == http.StatusOK {
			c.Listed()
		}
		if c.Called != nil {
			c.Called(call)
		}
	}
}

// observeListing reports when the LXD servers were listed.
func (c Config) observeListing(servers func(context.Context) ([]lxd.Server, error)) func(context.Context) ([]lxd.Server, error) {
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

// AnnounceRead notes that the VM, VM host or machine with this system id is read soon. A
// refresh of many objects takes less time then.
func (s *Site) AnnounceRead(ctx context.Context, systemID string) {
	s.client.Machines.AnnounceRead(ctx, systemID)
}

// Close closes idle connections to MAAS. Running calls continue. The ledger is not closed: its
// owner does that.
func (s *Site) Close() { s.client.Close() }

// ChosenComposer says who makes the VMs: MAAS or LXD. It asks MAAS at most once.
func (s *Site) ChosenComposer(ctx context.Context) (Choice, error) {
	made, err := s.choice.chooseMaker(ctx)
	if err != nil {
		return "", err
	}
	if made == s.choice.lxd {
		return LXD, nil
	}
	return MAAS, nil
}

// CheckKeyTransport refuses to send the private key where others can read it on the way, unless
// insecure allows it.
func CheckKeyTransport(maasURL string, insecure bool) error {
	u, err := url.Parse(strings.TrimSpace(maasURL))
	if err != nil || !strings.EqualFold(u.Scheme, "http") || insecure || isLoopback(u.Hostname()) {
		return nil
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("MAAS is reached over plain http at %s, so others on the way could read the private LXD client key. "+
			"The key goes there with each VM host that is registered, and with each VM that is made in LXD itself", u.Host),
		Hint: "Use an https address of MAAS.", Ways: []engine.Way{engine.WayInsecureKey},
		Err: engine.ErrInvalid,
	}
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}
