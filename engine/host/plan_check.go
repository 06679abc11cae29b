package host

import (
	"context"

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
		o.Add(h.Registrar.Locate(ctx, engine.Endpoint{Address: engine.Endpoint{Address: want.Address}.URL(), Project: want.Project}))
		return o
	case want.Machine.Deploy != nil:
		o.Add(h.CheckImage(ctx, want.Machine.Deploy))
	}
	if want.Machine.Machine != "" {
		h.NamedObstacles(ctx, &o, ref, want.Machine, h.preparation(want))
	} else if want.Machine.Deploy != nil && len(o.Lasting) == 0 {
		_, err := h.Choices(ctx, ref.Key, want.Machine, h.preparation(want))
		o.Add(err)
	}
	return o
}
