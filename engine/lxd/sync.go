package lxd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
)

// Sync implements engine.Composer: of the machines that this process has placed
// on the host or looked up there, those whose instances are gone leave MAAS. It
// fails where the LXD does not say what it has. Nothing is adopted, and nobody
// else's machine is touched.
func (c *Composer) Sync(ctx context.Context, host engine.VMHost) error {
	placed := map[string]place{}
	c.known.Range(func(id, value any) bool {
		if at := value.(place); at.server.MachineID == host.MachineID {
			placed[id.(string)] = at
		}
		return true
	})
	if len(placed) == 0 {
		return nil
	}
	c.fleet.expire(c.Now(), 0)
	all, err := c.inventory(ctx)
	if err != nil {
		return err
	}
	h, err := all.reached(host)
	if err != nil {
		return err
	}
	var failures []error
	for systemID, at := range placed {
		if !all.has(h, at) {
			failures = append(failures, c.dismissGone(ctx, systemID, at, h))
		}
	}
	return errors.Join(failures...)
}

// has tells that an instance is there: by its MACs wherever it is by now, or by
// its name where it was.
func (i *inventory) has(h seen, at place) bool {
	if _, found := i.place(at.macs); found {
		return true
	}
	return slices.ContainsFunc(h.instances, func(i instance) bool {
		return i.project == at.server.Project && i.name == at.instance
	})
}

// dismissGone takes a machine out of MAAS whose instance is gone.
func (c *Composer) dismissGone(ctx context.Context, systemID string, at place, h seen) error {
	if !slices.Contains(h.projects, at.server.Project) {
		return fmt.Errorf("cannot tell whether the instance %s is there: the certificate may not see project %s any more: %w",
			at.instance, at.server.Project, engine.ErrForbidden)
	}
	if err := c.Enlister.Dismiss(ctx, systemID); err != nil {
		return fmt.Errorf("the instance %s is gone, but MAAS keeps its machine: %w", at.instance, err)
	}
	c.known.Delete(systemID)
	c.Log.InfoContext(ctx, "removed the machine of an instance that is gone", "name", at.instance, "host", at.server.Name, "system_id", systemID)
	return nil
}
