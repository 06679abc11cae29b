package client

import (
	"context"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleet"
	"github.com/maaslxd/maaslxd/engine/operate"
	"github.com/maaslxd/maaslxd/engine/site"
)

// Backend is the engine, and those of its ports that the provider asks by
// itself: to find what is imported, whether there is a MAAS at all, and whether
// two texts name one subnet.
type Backend struct {
	VMs      engine.Kind[engine.VMSpec, engine.VM]
	Hosts    engine.Kind[engine.HostSpec, engine.Host]
	Metal    engine.Kind[engine.MachineSpec, engine.BareMetal]
	Machines engine.Machines
	Catalog  engine.Catalog
	Names    engine.Names
	Reports  engine.Reports
	// Inventory tells what there is, as who makes the VMs knows it.
	Inventory site.Inventory
	// Key is the client key pair of the fleet.
	Key *FleetKey
	// Fleet looks at all VM hosts and VMs. Looks at the same moment are one.
	Fleet func(context.Context) (fleet.Fleet, error)
	// ChosenComposer tells who makes the VMs.
	ChosenComposer func(context.Context) (site.Choice, error)

	ledger        *lazyLedger
	cutOffLookups cutOffLookups
	autoProbe     *autoProbe // nil unless probe is auto
	marks         engine.RegionMarks
	apiURL        string

	snapshotter      operate.Snapshotter // of no owner yet
	probesByMAASOnly bool                // MAAS alone reaches the LXDs: probe = "maas"
}

// newBackend wires the engine to a MAAS, without a call.
func newBackend(s Settings, files *Ledgers) (*Backend, error) {
	log := newLogger()
	rows := &lazyLedger{files: files, path: s.Ledger, access: s.LedgerAccess, region: site.RegionName(s.APIURL)}
	key := &FleetKey{settings: s.Key, ledger: rows, apiURL: s.APIURL}
	probe := newProbe(s)
	at, err := site.New(site.Config{
		URL: s.APIURL, APIKey: s.APIKey, CACert: s.CACert, UserAgent: s.UserAgent,
		Timeout: s.RequestTimeout, Interval: s.PollInterval, Ledger: rows, Log: log, Probe: probe,
		Composer: s.Composer, Credentials: key.credentials, InsecureKey: s.Key.AllowInsecure,
	})
	if err != nil {
		return nil, err
	}
	patient, _ := probe.(*autoProbe)
	rows.marks = at.RegionMarks
	return &Backend{
		VMs: at.VMs, Hosts: at.Hosts, Metal: at.Kinds.Machines, Machines: at.Machines, Catalog: at.Catalog, Names: at.Names, Reports: at.Reports, Inventory: at.Inventory,
		Key: key, Fleet: newSharedFleetReads(at.Inventory.Fleet).read, ChosenComposer: at.ChosenComposer,
		ledger: rows, autoProbe: patient, marks: at.RegionMarks, apiURL: s.APIURL, probesByMAASOnly: s.Probe == ProbeMAAS,
		snapshotter: operate.Snapshotter{Machines: at.Machines, Metal: at.Metal, Rows: rows, LXD: at.Snapshots, LXDOf: at.Inventory.LXDOf, Hosts: at.Inventory.Hosts, Now: time.Now},
	}, nil
}

// OpenLedger opens the ledger of this MAAS, and makes it if there is none.
func (b *Backend) OpenLedger(ctx context.Context) error {
	_, err := b.ledger.open(ctx)
	return b.ledger.withLedgerHint(err)
}

// HasNoLedgerFile tells whether there is no place beside the ledger for the key pair of
// the fleet: it ends with this process, or a service keeps it.
func (b *Backend) HasNoLedgerFile() bool { return !b.ledger.hasFile() }

// IsLXDUnprobed tells whether an LXD was never reached from here, so that MAAS's word
// was taken for it.
func (b *Backend) IsLXDUnprobed(address string) bool {
	return b.autoProbe != nil && b.autoProbe.isUnprobed(address)
}
