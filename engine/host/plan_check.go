package host

import (
	"context"
	"errors"

	"github.com/maaslxd/maaslxd/engine"
)

// obstacles implements Kind.Check.
func (h *Kind) obstacles(ctx context.Context, ref engine.Ref, want engine.HostSpec) engine.Obstacles {
	var o engine.Obstacles
	if o.Add(h.CheckMayCompose(ctx)); !o.IsEmpty() {
		return o
	}
	o.Add(h.checkHostNames(ctx, want))
	switch {
	case want.Address != "":
		o.Add(h.Registrar.Locate(ctx, engine.Endpoint{Address: canonical(want.Address), Project: want.Project}))
		return o
	case want.Machine.Deploy != nil:
		o.Add(h.CheckImage(ctx, want.Machine.Deploy))
	}
	if want.Machine.Machine != "" {
		h.machineObstacles(ctx, &o, ref, want)
	} else if want.Machine.Deploy != nil && len(o.Lasting) == 0 {
		_, err := h.Choices(ctx, ref.Key, want.Machine, h.preparation(want))
		o.Add(err)
	}
	return o
}

// machineObstacles looks at the machine that is named. One that has the host
// already is given back before it is deployed anew.
func (h *Kind) machineObstacles(ctx context.Context, o *engine.Obstacles, ref engine.Ref, want engine.HostSpec) {
	m, err := h.FindNamed(ctx, want.Machine.Machine)
	if err != nil {
		o.Add(err)
		return
	}
	if want.Machine.Adopt {
		return // it is looked at when it is registered
	}
	if m.SystemID != ref.SystemID {
		if err := h.Allocatable(ctx, ref.Key, m); errors.Is(err, engine.ErrBusy) {
			o.Passing = append(o.Passing, err)
		} else if bad, ok := errors.AsType[*engine.SpecError](err); ok && bad.Field == "machine" {
			o.AddHeldBy(m, err)
		} else if !ok {
			o.Add(err)
		}
	}
	o.Add(h.CheckSuits(ctx, m, want.Machine, h.preparation(want)))
}
