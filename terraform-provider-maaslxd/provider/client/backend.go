package client

import (
	"context"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleet"
	"github.com/maaslxd/maaslxd/engine/operate"
	"github.com/maaslxd/maaslxd/engine/site"
)

// Backend is the engine with the ports that the provider calls itself. It calls them to find
// imported objects, to see whether there is a MAAS, and to compare the names of subnets.
type Backend struct {
	VMs      engine.Kind[engine.VMSpec, engine.VM]
	Hosts    engine.Kind[engine.HostSpec, engine.Host]
	Metal    engine.Kind[engine.MachineSpec, engine.BareMetal]
	Machines engine.Machines
	Catalog  engine.Catalog
	Names    engine.Names
	Reports  engine.Reports
	// Inventory lists VM hosts and VMs, as the maker of the VMs knows them.
	Inventory site.Inventory
	// Key is the client key pair of the fleet.
	Key *FleetKey
	// Fleet reads all VM hosts and VMs. Reads at the same moment share one answer.
	Fleet func(context.Context) (fleet.Fleet, error)
	// ChosenComposer tells whether MAAS or LXD makes the VMs.
	ChosenComposer func(context.Context) (site.Choice, error)

	announceRead  func(ctx context.Context, systemID string)
	ledger        *lazyLedger
	cutOffLookups cutOffLookups
	autoProbe     *autoProbe // nil unless probe is auto
	marks         engine.RegionMarks
	apiURL        string

	snapshotter      operate.Snapshotter // has no owner yet
	probesByMAASOnly bool                // only MAAS reaches the LXDs: probe = "maas"
}

// newBackend connects the engine to a MAAS, without a call.
func newBackend(s Settings, files *Ledgers) (*Backend, error) {
	log := newLogger()
	rows := &lazyLedger{files: files, path: s.Ledger, access: s.LedgerAccess, region: site.RegionName(s.APIURL)}
	key := &FleetKey{settings: s.Key, ledger: rows, apiURL: s.APIURL}
	probe := newProbe(s)
	at, err := site.New(site.Config{
		URL: s.APIURL, APIKey: s.APIKey, CACert: s.CACert, UserAgent: s.UserAgent,
		Timeout: s.RequestTimeout, Interval: s.PollInterval, Ledger: rows, Log: log, Probe: probe,
		Composer: s.Composer, Credentials: key.Credentials, InsecureKey: s.Key.AllowInsecure,
	})
	if err != nil {
		return nil, err
	}
	patient, _ := probe.(*autoProbe)
	rows.marks = at.RegionMarks
	return &Backend{
		VMs: at.VMs, Hosts: at.Hosts, Metal: at.Kinds.Machines, Machines: at.Machines, Catalog: at.Catalog, Names: at.Names, Reports: at.Reports, Inventory: at.Inventory,
		Key: key, Fleet: newSharedFleetReads(at.Inventory.Fleet).read, ChosenComposer: at.ChosenComposer,
		announceRead: at.AnnounceRead, ledger: rows, autoProbe: patient, marks: at.RegionMarks, apiURL: s.APIURL, probesByMAASOnly: s.Probe == ProbeMAAS,
		snapshotter: operate.Snapshotter{Machines: at.Machines, Metal: at.Metal, Rows: rows, LXD: at.Snapshots, LXDOf: at.Inventory.LXDOf, Hosts: at.Inventory.Hosts, Now: time.Now},
	}, nil
}

// OpenLedger opens the ledger of this MAAS, and creates it if there is none.
func (b *Backend) OpenLedger(ctx context.Context) error {
	_, err := b.ledger.open(ctx)
	return b.ledger.withLedgerHint(err)
}

// HasNoLedgerFile tells whether the ledger is no file: it is in memory, or a service has it.
// Then the fleet's key pair cannot be kept beside it.
func (b *Backend) HasNoLedgerFile() bool { return !b.ledger.hasFile() }

// IsLXDUnprobed tells whether the provider never reached an LXD, and took MAAS's word for it.
func (b *Backend) IsLXDUnprobed(address string) bool {
	return b.autoProbe != nil && b.autoProbe.isUnprobed(address)
}
