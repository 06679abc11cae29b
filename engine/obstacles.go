package engine

import (
	"context"
	"errors"
)

// Obstacles are what a look at MAAS found in the way of a spec.
type Obstacles struct {
	// Permanent are wishes that cannot be met as they are written: of a host, an
	// image, a subnet that nobody knows, a size that is larger than the host.
	Permanent []error
	// Temporary are addresses, names, machines and room that others of this program
	// have: they may give them up before the spec is brought about.
	Temporary []error
	// Unchecked is what could not be found out, because MAAS does not answer.
	Unchecked []error
}

// IsEmpty tells that nothing is known to be in the way, and that all was seen.
func (o Obstacles) IsEmpty() bool { return len(o.Permanent)+len(o.Temporary)+len(o.Unchecked) == 0 }

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
		o.Temporary = append(o.Temporary, err)
	case misspelled, refused, ofLXD:
		o.Permanent = append(o.Permanent, err)
	default:
		o.Unchecked = append(o.Unchecked, err)
	}
}

// AddHeldBy sorts an error about what a machine has: those of this program may
// give it up, all others keep it.
func (o *Obstacles) AddHeldBy(m Machine, err error) {
	if m.MarkedBy() != "" {
		o.Temporary = append(o.Temporary, err)
		return
	}
	o.Permanent = append(o.Permanent, err)
}

// Check looks in MAAS for what the spec names, and changes nothing. What a
// front end does not know yet it leaves out of the spec, and that is not looked
// at. With a SystemID, what that object has itself is not in its own way: a VM
// that is to be made anew has its address and its room.
func (k Kind[Spec, Object]) Check(ctx context.Context, ref Ref, want Spec) Obstacles {
	return k.verbs.Check(ctx, ref, want)
}
