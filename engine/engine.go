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

// CurrentKey is the key that the object is to be known by.
func (r Ref) CurrentKey() Key {
	if r.NewKey != "" {
		return r.NewKey
	}
	return r.Key
}

// ForNextStep is the ref for the step that follows one which saw the object as systemID, empty if
// it did not, or removed it to make it elsewhere.
func (r Ref) ForNextStep(systemID string, moved bool) Ref {
	r.SystemID = cmp.Or(systemID, r.SystemID)
	if moved {
		r.SystemID = ""
	}
	return r
}

// Key is the caller's stable name for an object, which exists before the
// object does: "owner/name" for Terraform, "management cluster/namespace/cluster/name"
// for Cluster API. Up to its first slash it says who owns the object.
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
	// Guessed: the caller does not know by what key the object was made, and Key is what
	// it would make one by. The mark of the object tells.
	Guessed bool
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

	// Changed is closed once stepping again is worth it before After is over. Nil
	// where nothing is watched. It is abandoned, never closed, when the ctx of the
	// step ends.
	Changed <-chan struct{}
	// SystemID is that of Object, where it was seen, also beside an error.
	SystemID string
	// Moved tells that the object which Ref.SystemID named was removed, to be made
	// elsewhere: the system id is of no use any more. It counts beside an error, too.
	Moved bool
	// GiveUp leaves the object as well as can be where nobody steps again: it turns a VM on that
	// was turned off for a change. Wait calls it, where it ends before the object is done. Nil
	// where there is nothing to do.
	GiveUp func(context.Context) error
}

// Kind is a kind of object that the engine manages.
type Kind[Spec, Object any] struct{ verbs Verbs[Spec, Object] }

// Verbs are what a kind can do. The methods of Kind of the same names say what each
// promises.
type Verbs[Spec, Object any] struct {
	Observe   func(context.Context, Ref) (Object, error)
	Reconcile func(context.Context, Ref, Spec) (Result[Object], error)
	Delete    func(context.Context, Ref) (Result[Object], error)
	Check     func(context.Context, Ref, Spec) Obstacles
}

// WithoutSecrets returns verbs whose steps tell nothing of a spec's secrets: MAAS's words of a
// machine may repeat a line of its user-data.
func (v Verbs[Spec, Object]) WithoutSecrets(reports Reports, of func(Spec) []string) Verbs[Spec, Object] {
	if reports == nil {
		return v
	}
	step := v.Reconcile
	v.Reconcile = func(ctx context.Context, ref Ref, want Spec) (Result[Object], error) {
		res, err := step(ctx, ref, want)
		if secrets := of(want); len(secrets) > 0 {
			res.Message = reports.Redact(res.Message, secrets...)
		}
		return res, err
	}
	return v
}

// NewKind returns a kind of these verbs.
func NewKind[Spec, Object any](v Verbs[Spec, Object]) Kind[Spec, Object] {
	return Kind[Spec, Object]{v}
}

// Observe reads the object and changes nothing. ErrNotFound if there is none.
func (k Kind[Spec, Object]) Observe(ctx context.Context, ref Ref) (Object, error) {
	return k.verbs.Observe(ctx, ref)
}

// Reconcile takes one step towards the spec. It never waits for a long MAAS
// operation, never releases, redeploys or removes what once ran unless the spec names
// another installation, and may be repeated at any time, by any process. With a SystemID whose machine is gone
// it returns ErrNotFound: making a new one is the caller's decision, taken by
// calling without SystemID. So does a VM that failed before it was ever Ready,
// and was removed in order to be made on another host: its Result has the
// Reason "Moving" and no SystemID.
func (k Kind[Spec, Object]) Reconcile(ctx context.Context, ref Ref, want Spec) (Result[Object], error) {
	return k.verbs.Reconcile(ctx, ref, want)
}

// Steps is Reconcile as a step for Wait. From the first step that saw the
// object on, the steps keep to its system id.
func (k Kind[Spec, Object]) Steps(ref Ref, want Spec) func(context.Context) (Result[Object], error) {
	return func(ctx context.Context) (Result[Object], error) {
		res, err := k.verbs.Reconcile(ctx, ref, want)
		ref = ref.ForNextStep(res.SystemID, res.Moved)
		return res, err
	}
}

// Delete takes one step back. Done means that the object is gone; an absent
// one is done at once.
func (k Kind[Spec, Object]) Delete(ctx context.Context, ref Ref) (Result[Object], error) {
	return k.verbs.Delete(ctx, ref)
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
	// CheckKeyTransport refuses to have the private key of a host's Credentials sent to
	// MAAS, before there is anything to register. Nil: it may be.
	CheckKeyTransport func() error
	// ComposeWindow is how long a compose whose reply was lost may still bear
	// fruit; zero means 130 s.
	ComposeWindow time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Log gets a line for each change made (Info) and each look (Debug); nil
	// discards them.
	Log *slog.Logger
}

// WithDefaults is the configuration with what it leaves open, or an error that names the
// port which it lacks.
func (c Config) WithDefaults() (Config, error) {
	for name, port := range map[string]any{
		"Machines": c.Machines, "Composer": c.Composer, "Names": c.Names,
		"Catalog": c.Catalog, "Ledger": c.Ledger, "Metal": c.Metal, "Registrar": c.Registrar,
	} {
		if port == nil {
			return c, fmt.Errorf("cannot build an engine without %s", name)
		}
	}
	c.ComposeWindow = cmp.Or(c.ComposeWindow, ComposeWindow)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c, nil
}
