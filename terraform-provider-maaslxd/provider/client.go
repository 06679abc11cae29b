package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/site"
)

// client is what all resources of one provider block share. Making it calls
// nothing.
type client struct {
	owner   string
	unknown bool     // the provider block is not known yet
	missing []string // what the provider block lacks
	backend *backend // nil if unknown or missing
	claimed sync.Map // keys that this run creates a VM for
}

// backend is the engine, and those of its ports that the provider asks by
// itself: to find what is imported, whether there is a MAAS at all, and whether
// two texts name one subnet.
type backend struct {
	vms       engine.Kind[engine.VMSpec, engine.VM]
	hosts     engine.Kind[engine.HostSpec, engine.Host]
	machines  engine.Machines
	composer  engine.Composer
	ledger    *lateLedger
	fleet     *fleetLooks
	catalog   engine.Catalog
	names     engine.Names
	registrar engine.Registrar
	key       *fleetKey
	chosen    func(context.Context) (site.Choice, error) // who makes the VMs
}

// errUnknownConfig: the provider block depends on what is not made yet.
var errUnknownConfig = errors.New("the provider's configuration is not known yet")

// errMissingConfig: the provider block and the environment lack something.
var errMissingConfig = errors.New("the provider is not configured")

// newClient makes the client. Malformed values are a *maas.ConfigError, or
// several that are joined; unknown and missing ones are an error only once
// MAAS is needed.
func newClient(s settings, files *ledgers) (*client, error) {
	c := &client{owner: s.owner, unknown: s.unknown, missing: s.missing()}
	if c.unknown || len(c.missing) > 0 {
		return c, nil
	}
	b, err := connect(s, files)
	c.backend = b
	return c, err
}

// connect wires the engine to a MAAS, without a call.
func connect(s settings, files *ledgers) (*backend, error) {
	log := newLog()
	rows := &lateLedger{files: files, path: s.ledger, region: site.Region(s.apiURL)}
	key := &fleetKey{settings: s.key, ledger: rows, apiURL: s.apiURL}
	at, err := site.Open(site.Config{
		URL: s.apiURL, APIKey: s.apiKey, CACert: s.caCert, UserAgent: s.userAgent,
		Timeout: s.requestTimeout, Interval: s.pollInterval, Ledger: rows, Log: log, Probe: newProbe(s),
		Composer: s.composer, Credentials: key.credentials, InsecureKey: s.key.insecure,
	})
	if err != nil {
		return nil, err
	}
	return &backend{
		vms: at.VMs, hosts: at.Hosts, machines: at.Machines, composer: at.Composer, ledger: rows, fleet: newFleetLooks(at.Fleet),
		catalog: at.Catalog, names: at.Names, registrar: at.Registrar, key: key, chosen: at.Chosen,
	}, nil
}

// use returns the backend, or why there is none.
func (c *client) use() (*backend, error) {
	switch {
	case c == nil || c.unknown:
		return nil, errUnknownConfig
	case len(c.missing) > 0:
		return nil, fmt.Errorf("%w: it lacks %s", errMissingConfig, strings.Join(c.missing, " and "))
	default:
		return c.backend, nil
	}
}

// key is the name of a VM that exists before the VM does.
func (c *client) key(name string) engine.Key { return engine.Key(c.owner + "/" + name) }

// hostKey is the name of a VM host that exists before the VM host does. No VM
// has such a key: names of VMs have no slash.
func (c *client) hostKey(name string) engine.Key { return engine.Key(c.owner + "/vm-hosts/" + name) }

// claim takes a key for one resource in this run. The engine goes on with a VM
// that an earlier run began, by its key; two resources of one configuration
// with the same name would so end up with the same VM.
func (c *client) claim(key engine.Key, name string) error {
	if _, taken := c.claimed.LoadOrStore(key, true); taken {
		return &engine.SpecError{
			Field: "name", Message: fmt.Sprintf("another resource of this configuration creates %s, too", name),
			Hint: "Names are unique in the whole MAAS: give one of them another name.", Err: engine.ErrConflict,
		}
	}
	return nil
}
