package lxd

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// defaultChangeTimeout bounds an operation that makes or removes something. It ends before
// the engine considers a compose lost (130 s).
const defaultChangeTimeout = 100 * time.Second

// Server is an LXD server on which VMs can be made: what is known without asking it.
type Server struct {
	// MachineID is the system id of the machine that runs the LXD. The ledger and this
	// package know the server by it.
	MachineID string
	Name      string
	Zone      string
	Pool      string // resource pool
	Tags      []string
	// Architecture of the VMs, "amd64/generic"; empty: LXD's own.
	Architecture string
	engine.Endpoint
	// Fingerprint is that of the server certificate. If it is empty, the Composer pins the
	// first certificate that the server shows, for as long as the Composer lives.
	Fingerprint string
	// CPUOvercommit and MemoryOvercommit are ratios; zero: 1.
	CPUOvercommit    float64
	MemoryOvercommit float64
	// DefaultStoragePool takes the disks that name no pool. If it is empty, the pool is the
	// one called "default", else LXD's first.
	DefaultStoragePool string
	// Bridges are those that MAAS knows on the machine, in MAAS's order.
	Bridges []Bridge
}

// Bridge is a bridge of a host, with the subnets of its VLAN.
type Bridge struct {
	Name    string
	Subnets []engine.Subnet
}

// ComposerConfig is what NewComposer needs. The fields after Enlister are optional.
type ComposerConfig struct {
	// Servers lists the hosts. It is called for each inventory, so cache the list if it
	// takes calls.
	Servers func(context.Context) ([]Server, error)
	// Credentials is the fleet's key pair, which we and MAAS use. MAAS receives the private
	// key with each VM. So the caller must refuse a MAAS on plain http.
	Credentials func(context.Context) (engine.Credentials, error)
	Machines    Machines
	Enlister    engine.Enlister
	// Ledger gives each inventory its tag. Without a ledger (nil) nothing is placed.
	Ledger engine.InventoryTags
	// RecordFingerprint receives the certificate fingerprint of a server that was listed
	// without one. It is called at the first change there, so that other processes pin the
	// same certificate. If another fingerprint is known by now, it returns that one. nil:
	// nothing is recorded.
	RecordFingerprint func(ctx context.Context, machineID, fingerprint string) (known string, err error)
	// Timeout bounds one read of one LXD; 0: 10 s.
	Timeout time.Duration
	// ChangeTimeout bounds an operation that makes or removes something; 0: 100 s.
	ChangeTimeout time.Duration
	UserAgent     string
	Now           func() time.Time
	// Log receives a line for each change (Info) and each read (Debug); nil discards them.
	Log *slog.Logger
}

// Machines reads machines from MAAS.
type Machines interface {
	// Machine reads one machine. The error is ErrNotFound if there is none.
	Machine(ctx context.Context, systemID string) (engine.Machine, error)
}

// Composer makes VMs through LXD's own API and enlists them in MAAS, one by one. It works
// with any MAAS, and must reach the LXD servers itself.
//
// A VM is an instance with the marker of its key (user.maaslxd.*), and a machine in MAAS
// with the same MACs. The machine's power driver names the instance.
//
// The instance is made first and removed first. So if a run is cut off, what remains either
// carries a mark or is found through its machine.
type Composer struct {
	ComposerConfig
	*dialer
	cache          inventoryCache
	knownLocations sync.Map // system id to location, of VMs that were made or located
	fingerprints   fingerprintRecorder
	cleaner        cleaner
}

var _ engine.Composer = (*Composer)(nil)

// NewComposer returns a Composer. It makes no call.
func NewComposer(c ComposerConfig) *Composer {
	c.Timeout, c.ChangeTimeout = cmp.Or(c.Timeout, defaultTimeout), cmp.Or(c.ChangeTimeout, defaultChangeTimeout)
	if c.Ledger == nil {
		c.Ledger = engine.NoLedger{}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	made := &Composer{
		ComposerConfig: c,
		dialer:         &dialer{prober: NewProber(Config{Timeout: c.Timeout, UserAgent: c.UserAgent}), credentials: c.Credentials, now: c.Now},
		fingerprints:   fingerprintRecorder{recordFingerprint: c.RecordFingerprint, timeout: c.Timeout, log: c.Log},
	}
	made.cleaner = cleaner{dialer: made.dialer, enlister: c.Enlister, cache: &made.cache, timeout: c.Timeout, log: c.Log}
	return made
}

// CheckCanCompose implements engine.Composer. Any MAAS will do.
func (c *Composer) CheckCanCompose(context.Context) error { return nil }

// WrapNames makes Refresh also drop the list of hosts. The engine calls Refresh when
// something seems to be missing.
func (c *Composer) WrapNames(names engine.Names) engine.Names { return refreshingNames{names, c} }

type refreshingNames struct {
	engine.Names
	composer *Composer
}

// Refresh implements engine.Names.
func (r refreshingNames) Refresh(lists ...engine.List) {
	r.Names.Refresh(lists...)
	if engine.ListHosts.IsRefreshedBy(lists) {
		r.composer.cache.expire(r.composer.Now(), rereadAfter)
	}
}
