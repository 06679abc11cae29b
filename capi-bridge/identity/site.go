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

// openSite is an open connection to a MAAS, with one user's key and one key
// pair for LXD.
type openSite struct {
	*controller.Site
	engine     *open.Site
	keyRefused atomic.Bool // MAAS refused the key since it was last read
	lastUsed   time.Time   // when somebody last asked for the site; zero: never
}

// isKeyRefused reports whether MAAS refuses the key.
func (s *openSite) isKeyRefused() bool { return s.keyRefused.Load() }

// clearKeyRefused notes that the key was read again and is the same.
func (s *openSite) clearKeyRefused() { s.keyRefused.Store(false) }

// gatherDivisor is the part of the poller's interval for which a read waits
// until others join it. Of 5 s that is 200 ms. No machine is Ready much later
// for that, and 100 machines that are made at once share most reads.
const gatherDivisor = 25

// newSite makes a site, also without a key pair for LXD. It makes no call. The
// caller holds mu.
func (s *Sites) newSite(c Credentials, key lxdKeyPair) (*openSite, error) {
	name := open.RegionName(c.Endpoint)
	marked := &ledger.MarkedRegion{Regions: s.Ledger, Address: name}
	var rows engine.Ledger = marked
	if s.WrapLedger != nil {
		rows = s.WrapLedger(rows)
	}
	made, listed := &openSite{}, func() {}
	if s.OnHostsListed != nil {
		listed = s.OnHostsListed(c.Endpoint)
	}
	at, err := open.New(open.Config{
		URL: c.Endpoint, APIKey: c.APIKey, CACert: []byte(c.CABundle), UserAgent: s.UserAgent, Timeout: s.Timeout,
		Interval: s.Interval, Gather: s.Interval / gatherDivisor, MaxConns: s.MaxConns,
		Called: s.onRequest(made, c.Endpoint), Listed: listed, Ledger: rows, Region: s.sharedRegion(name),
		Probe: s.readinessProbe(), Composer: open.Choice(s.Composer), InsecureKey: s.AllowInsecureKey, Log: s.Log,
		Credentials: func(context.Context) (engine.Credentials, error) { return key.Credentials, key.missingError },
	})
	if err != nil {
		return nil, c.malformedError(err)
	}
	marked.Marks = at.RegionMarks
	made.engine = at
	made.Site = &controller.Site{
		Address: name, RegionMarks: at.RegionMarks, Hostnames: at.Machines, UnusedHosts: at.UnusedHosts,
		VMs: at.VMs, Machines: at.Kinds.Machines, Hosts: at.Hosts, RunningHosts: at.KindsWithProbe(s.newProber()).Hosts,
		Names: at.Names, Catalog: at.Catalog, DNS: at.DNS,
		Inventory: at.Inventory, Zones: &zoneRoom{hosts: at.Inventory.VMHosts, machines: at.ReadyMachines, now: s.Now}, Projects: at.Inventory, Marks: at, AllowTakeOver: c.AllowTakeOver, Limits: c.Limits,
		Credentials: key.Credentials, CredentialsErr: key.missingError, KeyRecheckAfter: s.CredentialsPeriod,
	}
	return made, nil
}

// readinessProbe asks LXD servers whether they are ready; nil: MAAS's inventory
// suffices.
func (s *Sites) readinessProbe() engine.Probe {
	if !s.ProbeLXD {
		return nil
	}
	return s.newProber()
}

func (s *Sites) newProber() engine.Probe { return lxd.NewProber(lxd.Config{UserAgent: s.UserAgent}) }

// onRequest passes each request to the request counter, and notes a key that
// MAAS refuses.
func (s *Sites) onRequest(of *openSite, address string) func(api.Call) {
	count := func(api.Call) {}
	if s.OnRequest != nil {
		count = s.OnRequest(address)
	}
	return func(c api.Call) {
		if c.Status == http.StatusUnauthorized {
			of.keyRefused.Store(true)
		}
		count(c)
	}
}

// malformedError names the object with the invalid value.
func (c Credentials) malformedError(err error) error {
	config, ok := errors.AsType[*api.ConfigError](err) // the first of several
	if !ok {
		return err
	}
	from := c.EndpointFrom
	if config.Field == "api_key" {
		from = c.KeyFrom
	}
	return unusableError(config.Hint, "the value in %s cannot be used: %s", from, config.Message)
}
