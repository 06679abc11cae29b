package engine

import (
	"context"
	"errors"
)

// Obstacles are what a look at MAAS found in the way of a spec.
type Obstacles struct {
	// Permanent are parts of the spec that MAAS cannot meet as they are written: an unknown
	// host, image or subnet, or a size larger than the host.
	Permanent []error
	// Temporary are addresses, names, machines and room that other objects of this program
	// have. They may release them before the spec is applied.
	Temporary []error
	// Unchecked is what the look could not find out, because MAAS does not answer.
	Unchecked []error
}

// IsEmpty tells that no obstacle is known, and that everything was checked.
func (o Obstacles) IsEmpty() bool { return len(o.Permanent)+len(o.Temporary)+len(o.Unchecked) == 0 }

// Add sorts an error, or several joined ones. Nil adds nothing.
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

// HeldByMachineError is an obstacle that a machine holds, such as a hostname.
type HeldByMachineError struct {
	SystemID string // of the machine
	Err      error
}

func (e *HeldByMachineError) Error() string { return e.Err.Error() }

func (e *HeldByMachineError) Unwrap() error { return e.Err }

// AddHeldBy sorts an error about something that a machine has, as a *HeldByMachineError. A machine of
// this program may release it; any other keeps it.
func (o *Obstacles) AddHeldBy(m Machine, err error) {
	err = &HeldByMachineError{m.SystemID, err}
	if m.MarkedBy() != "" {
		o.Temporary = append(o.Temporary, err)
		return
	}
	o.Permanent = append(o.Permanent, err)
}

// Check looks in MAAS for what the spec names, and changes nothing. Leave out of the spec what
// is unknown yet: it is not checked. With a SystemID, that object's own address and room are no
// obstacles, as for a VM that is made anew.
func (k Kind[Spec, Object]) Check(ctx context.Context, ref Ref, want Spec) Obstacles {
	return k.verbs.Check(ctx, ref, want)
}
