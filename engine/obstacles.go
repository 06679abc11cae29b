package engine

import (
	"context"
	"errors"
)

// Obstacles are what a look at MAAS found in the way of a spec.
type Obstacles struct {
	// Lasting are wishes that cannot be met as they are written: of a host, an
	// image, a subnet that nobody knows, a size that is larger than the host.
	Lasting []error
	// Passing are addresses, names, machines and room that others of this program
	// have: they may give them up before the spec is brought about.
	Passing []error
	// Unseen is what could not be found out, because MAAS does not answer.
	Unseen []error
}

// IsEmpty tells that nothing is known to be in the way, and that all was seen.
func (o Obstacles) IsEmpty() bool { return len(o.Lasting)+len(o.Passing)+len(o.Unseen) == 0 }

// Add sorts an error, which may be several that are joined. Nil is nothing.
func (o *Obstacles) Add(err error) {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range several.Unwrap() {
			o.Add(one)
		}
		return
	}
	_, misspelled := errors.AsType[*SpecError](err)
	_, refused := errors.AsType[*Refusal](err)
	typed, ofLXD := errors.AsType[*Error](err)
	switch {
	case err == nil:
	case ofLXD && typed.Type == InsufficientResources && !IsTerminal(err):
		o.Passing = append(o.Passing, err)
	case misspelled, refused, ofLXD:
		o.Lasting = append(o.Lasting, err)
	default:
		o.Unseen = append(o.Unseen, err)
	}
}

// AddHeldBy sorts an error about what a machine has: those of this program may
// give it up, all others keep it.
func (o *Obstacles) AddHeldBy(m Machine, err error) {
	if m.MarkedBy() != "" {
		o.Passing = append(o.Passing, err)
		return
	}
	o.Lasting = append(o.Lasting, err)
}

// Check looks in MAAS for what the spec names, and changes nothing. What a
// front end does not know yet it leaves out of the spec, and that is not looked
// at. With a SystemID, what that object has itself is not in its own way: a VM
// that is to be made anew has its address and its room.
func (k Kind[Spec, Object]) Check(ctx context.Context, ref Ref, want Spec) Obstacles {
	return k.do.Check(ctx, ref, want)
}
