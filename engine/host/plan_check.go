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
	o.Add(h.checkZoneAndPool(ctx, want))
	o.Add(h.checkFormerCertificate(ctx, ref, want))
	switch {
	case want.Address != "":
		o.Add(h.Registrar.CheckMachineExists(ctx, engine.Endpoint{Address: engine.Endpoint{Address: want.Address}.URL(), Project: want.Project}))
		return o
	case want.Machine.Deploy != nil:
		o.Add(h.CheckImage(ctx, want.Machine.Deploy))
	}
	switch {
	case want.Machine.Machine != "":
		h.NamedMachineObstacles(ctx, &o, ref, want.Machine, h.machinePreparation(want))
	case h.FinishedObstacle(ctx, &o, ref): // the name is taken: no machine is chosen
	case want.Machine.Deploy != nil && len(o.Permanent) == 0:
		_, err := h.FindCandidates(ctx, ref.Key, want.Machine, h.machinePreparation(want))
		o.Add(err)
	}
	return o
}
