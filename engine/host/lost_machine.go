package host

import (
	"context"
	"log/slog"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
)

// restoreLostMachines restores those of the VM hosts that have lost their machine. Only a new
// list tells that, and only one from before, by which they were found, that it was theirs.
func (h *otherHostSteps) restoreLostMachines(ctx context.Context, ids []int) {
	if len(ids) == 0 {
		return
	}
	h.Names.Refresh(engine.ListHosts)
	now, err := h.Composer.Hosts(ctx)
	if err != nil {
		h.Log.InfoContext(ctx, "cannot look whether other VM hosts lost their machine", slog.Any("error", err))
		return
	}
	for _, host := range now {
		if !slices.Contains(ids, host.ID) || !host.HasLostMachine() {
			continue
		}
		if err := h.region.RestoreMachine(ctx, h.Config, host); err != nil {
			h.Log.InfoContext(ctx, "a VM host stays without its machine until MAAS looks at it again", "name", host.Name, slog.Any("error", err))
		}
	}
}
