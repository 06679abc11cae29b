package engine

import (
	"context"
	"errors"
)

// obstacles implements Kind.Check.
func (h *hosts) obstacles(ctx context.Context, ref Ref, want HostSpec) Obstacles {
	var o Obstacles
	if o.note(h.capable(ctx)); !o.none() {
		return o
	}
	o.note(h.checkHostNames(ctx, want))
	switch {
	case want.Address != "":
		o.note(h.Registrar.Locate(ctx, Endpoint{Address: canonical(want.Address), Project: want.Project}))
		return o
	case want.Machine.Deploy != nil:
		o.note(h.checkImage(ctx, want.Machine.Deploy))
	}
	if want.Machine.Machine != "" {
		h.machineObstacles(ctx, &o, ref, want)
	} else if want.Machine.Deploy != nil && len(o.Lasting) == 0 {
		_, err := h.choices(ctx, ref.Key, want.Machine, h.preparation(want))
		o.note(err)
	}
	return o
}

// machineObstacles looks at the machine that is named. One that has the host
// already is given back before it is deployed anew.
func (h *hosts) machineObstacles(ctx context.Context, o *Obstacles, ref Ref, want HostSpec) {
	m, err := h.named(ctx, want.Machine.Machine)
	if err != nil {
		o.note(err)
		return
	}
	if want.Machine.Adopt {
		return // it is looked at when it is registered
	}
	if m.SystemID != ref.SystemID {
		if err := h.allocatable(ctx, ref.Key, m); errors.Is(err, ErrBusy) {
			o.Passing = append(o.Passing, err)
		} else if bad, ok := errors.AsType[*SpecError](err); ok && bad.Field == "machine" {
			o.heldBy(m, err)
		} else if !ok {
			o.note(err)
		}
	}
	o.note(h.suits(ctx, m, want.Machine, h.preparation(want)))
}

// obstacles implements Kind.Check for bare metal.
func (b *metal) obstacles(ctx context.Context, ref Ref, want MachineSpec) Obstacles {
	var o Obstacles
	o.note(b.checkImage(ctx, want.Deploy))
	if _, err := b.choices(ctx, ref.Key, want, bare(want)); err != nil {
		o.note(err)
	}
	return o
}
