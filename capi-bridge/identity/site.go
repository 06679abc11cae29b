package identity

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/maaslxd/maaslxd/capi-bridge/controller"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/lxd"
	"github.com/maaslxd/maaslxd/engine/maas/api"
	open "github.com/maaslxd/maaslxd/engine/site"
)

// site is an open connection to a MAAS, by one user's key and with one key pair
// for LXD.
type site struct {
	*controller.Site
	engine *open.Site
	denied atomic.Bool // MAAS refused the key since it was last read
	used   time.Time   // when somebody asked for it; zero: nobody has
}

// isRefused tells that MAAS does not take the key.
func (s *site) isRefused() bool { return s.denied.Load() }

// forgetRefusal says that the key was read again, and is the same.
func (s *site) forgetRefusal() { s.denied.Store(false) }

// gatherPart says which part of the poller's interval a read waits for others to join
// it. Of 5 s that is 200 ms: no machine is Ready much later, and 100 machines that are
// made at once share most of their reads.
const gatherPart = 25

// connect makes a site, also without a key pair for LXD. It calls nothing. The caller
// holds mu.
func (s *Sites) connect(c Credentials, key pair) (*site, error) {
	name := open.Region(c.Endpoint)
	marked := &ledger.Marked{All: s.Ledger, Address: name}
	var rows engine.Ledger = marked
	if s.Placing != nil {
		rows = s.Placing(rows)
	}
	made, listed := &site{}, func() {}
	if s.Listed != nil {
		listed = s.Listed(c.Endpoint)
	}
	at, err := open.Open(open.Config{
		URL: c.Endpoint, APIKey: c.APIKey, CACert: []byte(c.CABundle), UserAgent: s.UserAgent, Timeout: s.Timeout,
		Interval: s.Interval, Gather: s.Interval / gatherPart, MaxConns: s.MaxConns,
		Called: s.watchCalls(made, c.Endpoint), Listed: listed, Ledger: rows, Region: s.region(name),
		Probe: s.probe(), Composer: open.Choice(s.Composer), InsecureKey: s.AllowInsecureKey, Log: s.Log,
		Credentials: func(context.Context) (engine.Credentials, error) { return key.Credentials, key.missing },
	})
	if err != nil {
		return nil, c.malformedError(err)
	}
	marked.Marks = at.RegionMarks
	made.engine = at
	made.Site = &controller.Site{
		MAAS: name, RegionMarks: at.RegionMarks, Hostnames: at.Machines, UnusedHosts: at.UnusedHosts,
		VMs: at.VMs, Machines: at.Kinds.Machines, Hosts: at.Hosts, RunningHosts: at.Probing(s.prober()).Hosts,
		Names: at.Names, Catalog: at.Catalog, DNS: at.DNS,
		Inventory: at.Inventory, Zones: &room{hosts: at.Inventory.VMHosts, machines: at.ReadyMachines, now: s.Now}, Projects: at.Inventory, Marks: at, AllowTakeOver: c.AllowTakeOver, Limits: c.Limits,
		Credentials: key.Credentials, NoCredentials: key.missing, Anew: s.Period,
	}
	return made, nil
}

// probe is what LXD servers are asked with; nil: what MAAS knows suffices.
func (s *Sites) probe() engine.Probe {
	if !s.ProbeLXD {
		return nil
	}
	return s.prober()
}

func (s *Sites) prober() engine.Probe { return lxd.NewProber(lxd.Config{UserAgent: s.UserAgent}) }

// watchCalls passes each request on to who counts them, and notes a key that MAAS
// refuses.
func (s *Sites) watchCalls(of *site, address string) func(api.Call) {
	count := func(api.Call) {}
	if s.Called != nil {
		count = s.Called(address)
	}
	return func(c api.Call) {
		if c.Status == http.StatusUnauthorized {
			of.denied.Store(true)
		}
		count(c)
	}
}

// malformedError says which object holds what cannot be used.
func (c Credentials) malformedError(err error) error {
	config, ok := errors.AsType[*api.ConfigError](err) // the first of several
	if !ok {
		return err
	}
	from := c.EndpointFrom
	if config.Field == "api_key" {
		from = c.KeyFrom
	}
	return unusableError(config.Hint, "what %s holds cannot be used: %s", from, config.Message)
}
