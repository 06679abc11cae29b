package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/site"
)

// client is what all resources of one provider block share. Making it calls
// nothing.
type client struct {
	owner   owner
	unknown bool     // the provider block is not known yet
	missing []string // what the provider block lacks
	backend *backend // nil if unknown or missing
	claimed sync.Map // keys that this run creates a VM for
	run     planRun
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
	patient   *patientProbe // nil unless probe is auto
	marks     engine.RegionMarks
	apiURL    string
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
	c := &client{owner: owner{set: s.owner}, unknown: s.unknown, missing: s.missing()}
	if c.unknown || len(c.missing) > 0 {
		return c, nil
	}
	b, err := connect(s, files)
	c.backend = b
	if b != nil {
		c.owner.rows = b.ledger
	}
	return c, err
}

// connect wires the engine to a MAAS, without a call.
func connect(s settings, files *ledgers) (*backend, error) {
	log := newLog()
	rows := &lateLedger{files: files, path: s.ledger, region: site.Region(s.apiURL)}
	key := &fleetKey{settings: s.key, ledger: rows, apiURL: s.apiURL}
	probe := newProbe(s)
	at, err := site.Open(site.Config{
		URL: s.apiURL, APIKey: s.apiKey, CACert: s.caCert, UserAgent: s.userAgent,
		Timeout: s.requestTimeout, Interval: s.pollInterval, Ledger: rows, Log: log, Probe: probe,
		Composer: s.composer, Credentials: key.credentials, InsecureKey: s.key.insecure,
	})
	if err != nil {
		return nil, err
	}
	patient, _ := probe.(*patientProbe)
	rows.marks = at.RegionMarks
	return &backend{
		patient: patient,
		vms:     at.VMs, hosts: at.Hosts, machines: at.Machines, composer: at.Composer, ledger: rows, fleet: newFleetLooks(at.Fleet),
		catalog: at.Catalog, names: at.Names, registrar: at.Registrar, key: key, chosen: at.Chosen,
		marks: at.RegionMarks, apiURL: s.apiURL,
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
func (c *client) key(name string) engine.Key { return engine.Key(c.owner.name() + "/" + name) }

// hostKey is the name of a VM host that exists before the VM host does. No VM
// has such a key: names of VMs have no slash.
func (c *client) hostKey(name string) engine.Key {
	return engine.Key(c.owner.name() + "/" + hostKeyName(name))
}

func hostKeyName(name string) string { return "vm-hosts/" + name }

// planning tells whether the provider can look at MAAS for a plan.
func (c *client) planning() bool {
	_, err := c.use()
	return err == nil && c.run.checks()
}

// planned notes that an object is planned, as a change or as something new; again
// tells that the new one takes the place of what stands. An object that another
// resource of this run makes, too, is refused before either is made.
func (c *client) planned(kind string, name types.String, change bool, diags *diag.Diagnostics) (again bool) {
	if c == nil {
		return false
	}
	object := kind + name.ValueString()
	if !change && set(name) && c.run.createsAgain(object) {
		report(diags, "create "+object, twin(object))
	}
	return c.run.twice(object, change)
}

// claim takes a key for one resource in this run. The engine goes on with a VM
// that an earlier run began, by its key; two resources of one configuration
// with the same name would so end up with the same VM.
func (c *client) claim(key engine.Key, name string) error {
	if _, taken := c.claimed.LoadOrStore(key, true); taken {
		return twin(name)
	}
	return nil
}

// twin says that two resources of one configuration create an object, by its
// kind and name: "VM web".
func twin(object string) error {
	return &engine.SpecError{
		Field: "name", Message: fmt.Sprintf("another resource of this configuration creates %s, too", object),
		Hint: "Names are unique in the whole MAAS: give one of them another name.", Err: engine.ErrConflict,
	}
}
