// Package engine brings hosts, VMs and machines of a MAAS to a wanted state, one step at a
// time.
//
// A front end turns its object into a spec and calls Reconcile. One call is one step. It looks,
// starts at most one long operation of MAAS, and says what it saw and when to call again.
// Terraform repeats steps with WaitUntilDone; Cluster API requeues. Between two steps the
// engine remembers only what MAAS shows and what the ledger holds. So any step may be the first
// one of a new process.
//
// The engine knows neither Terraform nor Kubernetes. It names the outside things that it needs
// as small interfaces (ports.go), which adapters implement.
package engine

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// CurrentKey is NewKey if there is one, else Key.
func (r Ref) CurrentKey() Key {
	if r.NewKey != "" {
		return r.NewKey
	}
	return r.Key
}

// ForNextStep is the ref for the step after one that saw the object as systemID. An empty
// systemID means that the step saw no object. With moved, the step removed it to make it
// elsewhere.
func (r Ref) ForNextStep(systemID string, moved bool) Ref {
	r.SystemID = cmp.Or(systemID, r.SystemID)
	if moved {
		r.SystemID = ""
	}
	return r
}

// Key is the caller's stable name for an object; it exists before the object does. Terraform
// uses "owner/name", Cluster API "management cluster/namespace/cluster/name". The part before
// the first slash is the owner.
type Key string

// Owner is the part before the first slash.
func (k Key) Owner() string {
	owner, _, _ := strings.Cut(string(k), "/")
	return owner
}

// Ref names an object. Once SystemID is known, it alone identifies the object. Key and Name
// only bridge the time between compose and bind.
type Ref struct {
	Key Key
	// NewKey is the key that the object gets now; empty means that Key stays. The mark of a VM
	// or host changes together with its name.
	NewKey   Key
	Name     string // hostname that the object was made with, or will be made with
	SystemID string
	// Guessed means that the caller does not know the key that the object was made by. Key is
	// then the one for a new object, and the object's mark tells the real one.
	Guessed bool
	// Finished means that the caller knows that the object once reached the wanted state. Then
	// the engine neither installs nor commissions it, whatever state it is in.
	Finished bool
	// ServerFingerprint is the fingerprint of the certificate that the host's LXD showed, as
	// the caller remembers it. It counts only where the machine itself notes none.
	ServerFingerprint string
	// Release says how Delete releases a machine or host. VMs do not use it.
	Release Release
}

// Release says how a machine is given back. The zero value leaves the disks as they are, and
// refuses to release a host that still has VMs.
type Release struct {
	// Erase says how MAAS erases the disks.
	Erase Erase
	// Force releases a host although VMs are left on it. Those VMs are lost.
	Force bool
	// Adopted says that somebody else installed the machine. If it has no mark, it stays deployed,
	// even if it was allocated for the same key once.
	Adopted bool
	// Credentials let the engine ask a host's LXD for instances that MAAS does not know, where
	// it can reach that LXD. Without them, the engine relies on what MAAS knows.
	Credentials Credentials
}

// Erase is a way to erase the disks of a machine at its release.
type Erase string

// The ways to erase. Quick overwrites the beginning and the end of the disks. Secure uses the
// disks' own feature. Full overwrites everything, which takes hours.
const (
	EraseNone   Erase = ""
	EraseQuick  Erase = "quick"
	EraseSecure Erase = "secure"
	EraseFull   Erase = "full"
)

// Result says what one step saw and what comes next.
type Result[Object any] struct {
	Object  Object
	Done    bool          // the wanted state is reached
	After   time.Duration // when to step again, at the latest; only if not Done
	Reason  string        // one word, as of a condition: "Commissioning"
	Message string        // a sentence for people

	// Changed is closed when a new step is worthwhile before After is over. It is nil where
	// nothing is watched. When the ctx of the step ends, the channel is abandoned, never
	// closed.
	Changed <-chan struct{}
	// SystemID is that of Object. It is also set beside an error, if the step saw the object.
	SystemID string
	// Moved means that the step removed the object named by Ref.SystemID, to make it elsewhere.
	// The old system id is then useless. Moved counts beside an error, too.
	Moved bool
	// GiveUp leaves the object in the best state that it can have when nobody steps again. For
	// example, it turns a VM on that was turned off for a change. WaitUntilDone calls it when
	// it ends before the object is done. Nil means that there is nothing to do.
	GiveUp func(context.Context) error
}

// Kind is a kind of object that the engine manages.
type Kind[Spec, Object any] struct{ verbs Verbs[Spec, Object] }

// Verbs are the operations of a kind. The methods of Kind with the same names document them.
type Verbs[Spec, Object any] struct {
	Observe   func(context.Context, Ref) (Object, error)
	Reconcile func(context.Context, Ref, Spec) (Result[Object], error)
	Delete    func(context.Context, Ref) (Result[Object], error)
	Check     func(context.Context, Ref, Spec) Obstacles
}

// WithoutSecrets returns verbs whose steps reveal no secret of a spec. Without it, messages of
// MAAS about a machine may repeat a line of its user-data.
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

// Observe reads the object and changes nothing. It returns ErrNotFound if there is none.
func (k Kind[Spec, Object]) Observe(ctx context.Context, ref Ref) (Object, error) {
	return k.verbs.Observe(ctx, ref)
}

// Reconcile takes one step towards the spec. Any process may repeat it at any time. It never
// waits for a long MAAS operation. It never releases, redeploys or removes an object that once
// ran, unless the spec names another installation.
//
// With a SystemID whose machine is gone, it returns ErrNotFound. To make a new object, the
// caller calls without SystemID: that is the caller's decision. A VM that failed before it was
// ever Ready may be removed and made on another host. Its Result then has the Reason "Moving"
// and no SystemID.
func (k Kind[Spec, Object]) Reconcile(ctx context.Context, ref Ref, want Spec) (Result[Object], error) {
	return k.verbs.Reconcile(ctx, ref, want)
}

// Steps is Reconcile as a step for WaitUntilDone. The steps keep the object's system id from
// the first step that saw it.
func (k Kind[Spec, Object]) Steps(ref Ref, want Spec) func(context.Context) (Result[Object], error) {
	return func(ctx context.Context) (Result[Object], error) {
		res, err := k.verbs.Reconcile(ctx, ref, want)
		ref = ref.ForNextStep(res.SystemID, res.Moved)
		return res, err
	}
}

// Delete takes one step of the removal. Done means that the object is gone; an absent object is
// done at once.
func (k Kind[Spec, Object]) Delete(ctx context.Context, ref Ref) (Result[Object], error) {
	return k.verbs.Delete(ctx, ref)
}

// Config holds what an Engine is made of. Probe and the fields after it are optional.
type Config struct {
	Machines  Machines
	Composer  Composer
	Names     Names
	Catalog   Catalog
	Ledger    Ledger
	Metal     Metal
	Registrar Registrar
	// Probe asks LXD servers directly. With nil, the engine relies on what MAAS knows of them.
	Probe Probe
	// Reports tells what failed in the first boots of hosts. With nil, the engine only sees
	// that their LXD does not answer.
	Reports Reports
	// CheckKeyTransport refuses to send the private key of a host's Credentials to MAAS. It is
	// called before anything is registered. Nil allows it.
	CheckKeyTransport func() error
	// ComposeWindow is how long a compose whose reply was lost may still make its VM. Zero
	// means 130 s.
	ComposeWindow time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Log gets a line for each change (Info) and each look (Debug). Nil discards them.
	Log *slog.Logger
}

// WithDefaults returns the configuration with defaults filled in, or an error that names a
// missing port.
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
