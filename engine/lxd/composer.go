package lxd

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// defaultChangeTimeout bounds an operation that makes or removes something. It ends
// before the engine takes a compose for lost (130 s).
const defaultChangeTimeout = 100 * time.Second

// Server is an LXD on which VMs can be made, as far as it is known without
// asking it.
type Server struct {
	// MachineID is the system id of the machine that it runs on: what the
	// ledger, and this package, call it by.
	MachineID string
	Name      string
	Zone      string
	Pool      string // resource pool
	Tags      []string
	// Architecture of the VMs, "amd64/generic"; empty: LXD's own.
	Architecture string
	engine.Endpoint
	// Fingerprint of the certificate that it must show. Empty: the one that it
	// shows first is held to for as long as the Composer lives.
	Fingerprint string
	// CPUOvercommit and MemoryOvercommit are ratios; zero: 1.
	CPUOvercommit    float64
	MemoryOvercommit float64
	// DefaultStoragePool is where disks go that name no pool; empty: the one
	// called "default", else LXD's first.
	DefaultStoragePool string
	// Bridges that MAAS knows on the machine, in MAAS's order.
	Bridges []Bridge
}

// Bridge is a bridge of a host, with the subnets of its VLAN.
type Bridge struct {
	Name    string
	Subnets []engine.Subnet
}

// ComposerConfig is what a Composer is made of. What follows Enlister is
// optional.
type ComposerConfig struct {
	// Servers lists the hosts. It is called for each look at an inventory, so a
	// list that takes calls is for the caller to keep.
	Servers func(context.Context) ([]Server, error)
	// Credentials is the fleet's key pair: ours, and MAAS's. MAAS is given the
	// private key with each VM, so a MAAS on plain http is for the caller to
	// refuse.
	Credentials func(context.Context) (engine.Credentials, error)
	Machines    Machines
	Enlister    engine.Enlister
	// Ledger gives each inventory its tag; nil: there is none, and nothing is placed.
	Ledger engine.InventoryTags
	// RecordFingerprint is told which certificate a server showed that came without a
	// fingerprint, when something is made or changed there for the first time, so
	// that it is held to by others, too. Where another one is known by now, it
	// returns that. nil: nobody is told.
	RecordFingerprint func(ctx context.Context, machineID, fingerprint string) (known string, err error)
	// Timeout of a look at one LXD; 0: 10 s.
	Timeout time.Duration
	// ChangeTimeout bounds what makes or removes something; 0: 100 s.
	ChangeTimeout time.Duration
	UserAgent     string
	Now           func() time.Time
	// Log gets a line for each change made (Info) and each look (Debug); nil
	// discards them.
	Log *slog.Logger
}

// Machines reads machines of MAAS.
type Machines interface {
	// Machine reads one machine, ErrNotFound if there is none.
	Machine(ctx context.Context, systemID string) (engine.Machine, error)
}

// Composer makes VMs over LXD's own API and enlists them in MAAS, one by one.
// It works with any MAAS, and needs to reach the LXD servers itself.
//
// A VM is an instance that carries the marker of its key (user.maaslxd.*), and
// a machine in MAAS with the same MACs, whose power driver is that instance.
// The instance comes first and goes first: whatever breaks in between, what is
// left either carries a mark or is found by its machine.
type Composer struct {
	ComposerConfig
	*dialer
	cache          inventoryCache
	knownLocations sync.Map // system id to place: where VMs are that were made or looked for
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

// CheckCanCompose implements engine.Composer: any MAAS will do.
func (c *Composer) CheckCanCompose(context.Context) error { return nil }

// WrapNames adds the hosts to what Refresh drops: the engine asks for that where
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
