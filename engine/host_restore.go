package engine

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// restoreEvery is how often MAAS is asked to look for the machine of a VM host.
const restoreEvery = time.Minute

// lostMachine reports whether MAAS deleted the record of the machine that the LXD
// runs on. It does so with any VM host of that LXD, for all of them: a compose on the
// others is then refused, until MAAS has looked at their LXD again.
func (h VMHost) lostMachine() bool { return h.ID != 0 && h.Version != "" && h.MachineID == "" }

// restore lets MAAS find the machine of a VM host again.
func (c Config) restore(ctx context.Context, locks *hostLocks, host VMHost) error {
	quiet, err := c.quiet(ctx, locks, host, "")
	if err != nil {
		return err
	}
	defer quiet.end()
	if err := quiet.sync(c.Composer, host, ""); err != nil {
		return fmt.Errorf("cannot refresh VM host %s, whose machine MAAS has lost: %w", host.Name, err)
	}
	c.Names.Refresh(ListHosts)
	c.Log.InfoContext(ctx, "refreshed a VM host whose machine MAAS had lost", "name", host.Name, "id", host.ID)
	return nil
}

// restoreNamed restores a VM host that a spec names and that lost its machine. Others
// are left alone: nothing tells whose they are, and MAAS adopts what it finds there.
func (v *vms) restoreNamed(ctx context.Context, host VMHost) (VMHost, error) {
	if !host.lostMachine() || !v.sweeps.due("machine of "+host.id(), restoreEvery, v.Now()) {
		return host, nil
	}
	if err := v.restore(ctx, v.hosts, host); err != nil {
		return host, err
	}
	return v.host(ctx, host.id())
}

// beside are the ids of the other VM hosts of a VM host's LXD, whose machine may go
// with it. Where the VM hosts cannot be listed there are none to be restored.
func (h *hosts) beside(ctx context.Context, host VMHost) []int {
	if host.ID == 0 || host.MachineID == "" {
		return nil
	}
	all, err := h.Composer.Hosts(ctx)
	if err != nil {
		return nil
	}
	var others []int
	for _, other := range all {
		if other.ID != host.ID && other.MachineID == host.MachineID {
			others = append(others, other.ID)
		}
	}
	return others
}

// restoreAll restores those of the VM hosts that have lost their machine. Only a new
// list tells that, and only one from before, by which they were found, that it was theirs.
func (h *hosts) restoreAll(ctx context.Context, ids []int) {
	if len(ids) == 0 {
		return
	}
	h.Names.Refresh(ListHosts)
	now, err := h.Composer.Hosts(ctx)
	if err != nil {
		h.Log.InfoContext(ctx, "cannot look whether other VM hosts lost their machine", slog.Any("error", err))
		return
	}
	for _, host := range now {
		if !slices.Contains(ids, host.ID) || !host.lostMachine() {
			continue
		}
		if err := h.restore(ctx, h.locks, host); err != nil {
			h.Log.InfoContext(ctx, "a VM host stays without its machine until MAAS looks at it again", "name", host.Name, slog.Any("error", err))
		}
	}
}
