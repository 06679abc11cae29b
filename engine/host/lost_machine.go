package host

import (
	"context"
	"log/slog"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
)

// restoreLostMachines restores those VM hosts that have lost their machine. A new list shows
// the loss; only the earlier list, by which they were found, shows that the machine was theirs.
func (h *otherHostSteps) restoreLostMachines(ctx context.Context, ids []int) {
	if len(ids) == 0 {
		return
	}
	h.Names.Refresh(engine.ListHosts)
	now, err := h.Composer.Hosts(ctx)
	if err != nil {
		h.Log.InfoContext(ctx, "cannot check whether other VM hosts lost their machine", slog.Any("error", err))
		return
	}
	for _, host := range now {
		if !slices.Contains(ids, host.ID) || !host.HasLostMachine() {
			continue
		}
		if err := h.region.RestoreMachine(ctx, h.Config, host); err != nil {
			h.Log.InfoContext(ctx, "a VM host lacks its machine until MAAS looks at it again", "name", host.Name, slog.Any("error", err))
		}
	}
}
