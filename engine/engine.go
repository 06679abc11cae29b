// Package engine brings hosts, VMs and machines of a MAAS to a wanted state,
// one step at a time.
//
// A front end turns its object into a spec and calls Reconcile. One call is
// one step: it looks, does at most one thing that takes MAAS long, and says
// what it saw and when to call again. Terraform repeats steps with Wait;
// Cluster API requeues. Nothing is remembered between two steps but what MAAS
// shows and what the ledger holds, so any step may be the first of a new
// process.
//
// The engine knows neither Terraform nor Kubernetes. What it needs from
// outside it names as small interfaces (ports.go), which adapters implement.
package engine

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"
)

// now is the key that the object is to be known by.
func (r Ref) now() Key {
	if r.NewKey != "" {
		return r.NewKey
	}
	return r.Key
}

// Key is the caller's stable name for an object, which exists before the
// object does: "owner/name" for Terraform, the Machine's UID for Cluster API.
type Key string

// Ref names an object. Once SystemID is known it alone identifies; Key and
// Name only bridge the time between compose and bind.
type Ref struct {
	Key Key
	// NewKey is what the object is known by from now on; empty: Key stays. The mark
	// of a VM or host changes together with its name.
	NewKey   Key
	Name     string // hostname that the object was, or is to be, made with
	SystemID string
	// Finished: the caller knows that the object once reached what was wanted.
	// Then nothing is installed or commissioned, whatever state it is in.
	Finished bool
	// ServerFingerprint is that of the certificate which the LXD of a host was
	// seen with, as far as the caller remembers. It counts where the machine
	// does not say.
	ServerFingerprint string
	// Release is how Delete goes about a machine or host; VMs need none.
	Release Release
}

// Release says how a machine is given back. The zero value leaves the disks as
// they are, and refuses where VMs are left on a host.
type Release struct {
	// Erase is what MAAS does with the disks.
	Erase Erase
	// Force gives a host back although VMs are left on it, which are lost.
	Force bool
	// Credentials let a host's LXD be asked for instances that MAAS does not
	// know, where it can be reached. Without them what MAAS knows suffices.
	Credentials Credentials
}

// Erase is a way to erase the disks of a machine when it is released.
type Erase string

// The ways to erase. Quick overwrites the beginning and the end of the disks,
// secure uses the disks' own feature, full overwrites all, which takes hours.
const (
	EraseNone   Erase = ""
	EraseQuick  Erase = "quick"
	EraseSecure Erase = "secure"
	EraseFull   Erase = "full"
)

// Result is what one step saw and what comes next.
type Result[Object any] struct {
	Object  Object
	Done    bool          // the wanted state is reached
	After   time.Duration // when to step again, at the latest; only if not Done
	Reason  string        // one word, as of a condition: "Commissioning"
	Message string        // a sentence for people

	changed  <-chan struct{} // closed when stepping again earlier is worth it; may be nil
	systemID string          // of Object, where it was seen, also beside an error
	moved    bool            // the object that SystemID named was removed, to be made elsewhere
}

// Changed is closed once stepping again is worth it before After is over. Nil
// where nothing is watched. It is abandoned, never closed, when the ctx of the
// step ends.
func (r Result[Object]) Changed() <-chan struct{} { return r.changed }

// Moved tells that the object which Ref.SystemID named was removed, to be made
// elsewhere: the system id is of no use any more. It counts beside an error,
// too.
func (r Result[Object]) Moved() bool { return r.moved }

// Kind is a kind of object that the engine manages.
type Kind[Spec, Object any] struct {
	observe   func(context.Context, Ref) (Object, error)
	reconcile func(context.Context, Ref, Spec) (Result[Object], error)
	delete    func(context.Context, Ref) (Result[Object], error)
	check     func(context.Context, Ref, Spec) Obstacles
}

// Observe reads the object and changes nothing. ErrNotFound if there is none.
func (k Kind[Spec, Object]) Observe(ctx context.Context, ref Ref) (Object, error) {
	return k.observe(ctx, ref)
}

// Reconcile takes one step towards the spec. It never waits for a long MAAS
// operation, never releases, redeploys or removes what once ran, and may be
// repeated at any time, by any process. With a SystemID whose machine is gone
// it returns ErrNotFound: making a new one is the caller's decision, taken by
// calling without SystemID. So does a VM that failed before it was ever Ready,
// and was removed in order to be made on another host: its Result has the
// Reason "Moving" and no SystemID.
func (k Kind[Spec, Object]) Reconcile(ctx context.Context, ref Ref, want Spec) (Result[Object], error) {
	return k.reconcile(ctx, ref, want)
}

// Steps is Reconcile as a step for Wait. From the first step that saw the
// object on, the steps keep to its system id.
func (k Kind[Spec, Object]) Steps(ref Ref, want Spec) func(context.Context) (Result[Object], error) {
	return func(ctx context.Context) (Result[Object], error) {
		res, err := k.reconcile(ctx, ref, want)
		ref.SystemID = cmp.Or(res.systemID, ref.SystemID)
		if res.moved {
			ref.SystemID = ""
		}
		return res, err
	}
}

// Delete takes one step back. Done means that the object is gone; an absent
// one is done at once.
func (k Kind[Spec, Object]) Delete(ctx context.Context, ref Ref) (Result[Object], error) {
	return k.delete(ctx, ref)
}

// Config is what an Engine is made of. Probe and what follows it
// are optional.
type Config struct {
	Machines  Machines
	Composer  Composer
	Names     Names
	Catalog   Catalog
	Ledger    Ledger
	Metal     Metal
	Registrar Registrar
	// Probe asks LXD servers directly. Nil: what MAAS knows of them suffices.
	Probe Probe
	// Reports tells what failed in the first boots of hosts. Nil: only that
	// their LXD does not answer is known.
	Reports Reports
	// MayTravel refuses to have the private key of a host's Credentials sent to
	// MAAS, before there is anything to register. Nil: it may be.
	MayTravel func() error
	// Region is shared by the engines of one MAAS in a process. Nil: there is no
	// other.
	Region *Region
	// ComposeWindow is how long a compose whose reply was lost may still bear
	// fruit; zero means 130 s.
	ComposeWindow time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Log gets a line for each change made (Info) and each look (Debug); nil
	// discards them.
	Log *slog.Logger
}

// Engine holds the kinds.
type Engine struct {
	cfg Config
	vms *vms
	// VMs are LXD virtual machines that MAAS knows.
	VMs Kind[VMSpec, VM]
	// Machines are bare-metal machines of MAAS, allocated and deployed.
	Machines Kind[MachineSpec, BareMetal]
	// Hosts are VM hosts: machines that run LXD, or LXD servers that run
	// already.
	Hosts Kind[HostSpec, Host]
}

// New returns an engine. It makes no call.
func New(cfg Config) (*Engine, error) {
	for name, port := range map[string]any{
		"Machines": cfg.Machines, "Composer": cfg.Composer, "Names": cfg.Names,
		"Catalog": cfg.Catalog, "Ledger": cfg.Ledger, "Metal": cfg.Metal, "Registrar": cfg.Registrar,
	} {
		if port == nil {
			return nil, fmt.Errorf("cannot build an engine without %s", name)
		}
	}
	cfg.ComposeWindow = cmp.Or(cfg.ComposeWindow, composeWindow)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Region == nil {
		cfg.Region = NewRegion()
	}
	return assemble(cfg), nil
}

// Probing is an engine that asks LXD servers by p, whatever Config.Probe is, and
// shares all else with this one.
func (e *Engine) Probing(p Probe) *Engine {
	cfg := e.cfg
	cfg.Probe = p
	return assemble(cfg)
}

func assemble(cfg Config) *Engine {
	locks, claims := cfg.Region.locks, cfg.Region.claims
	v := &vms{Config: cfg, hosts: locks, networks: newHostNets(cfg.Now), projects: newHostProjects(), tries: newTries(), claims: claims, names: cfg.Region.names}
	b := &metal{Config: cfg, tries: newTries(), surplus: newTries(), claims: claims}
	h := &hosts{metal: b, locks: locks, names: cfg.Region.names, looks: newTries(), residents: newTries(), absences: newTries()}
	return &Engine{
		cfg:      cfg,
		vms:      v,
		VMs:      Kind[VMSpec, VM]{observe: v.observe, reconcile: v.reconcile, delete: v.delete, check: v.obstacles},
		Machines: Kind[MachineSpec, BareMetal]{observe: b.observe, reconcile: b.reconcile, delete: b.delete, check: b.obstacles},
		Hosts:    Kind[HostSpec, Host]{observe: h.observe, reconcile: h.reconcile, delete: h.delete, check: h.obstacles},
	}
}
