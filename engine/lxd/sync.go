package lxd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
)

// SyncHost implements engine.Composer: of the machines that this process has placed
// on the host or looked up there, those whose instances are gone leave MAAS. It
// fails where an LXD does not say what it has: an instance may have moved there;
// and where one has moved, as MAAS goes on asking the host that it has left.
// Nothing is adopted, and nobody else's machine is touched. A host that has just
// not answered is not asked again for a while: each VM on it would wait for it, one
// after the other.
func (c *Composer) SyncHost(ctx context.Context, host engine.VMHost, systemID string) error {
	placed := map[string]location{}
	c.knownLocations.Range(func(id, value any) bool {
		at, meant := value.(location), systemID == "" || systemID == id
		if meant && at.server.MachineID == host.MachineID {
			placed[id.(string)] = at
		}
		return true
	})
	if len(placed) == 0 {
		return nil
	}
	if err := c.cache.recentFailure(host, c.Now()); err != nil {
		return err
	}
	c.cache.expireAll(c.Now())
	all, err := c.currentInventory(ctx)
	if err != nil {
		return err
	}
	h, err := all.surveyOf(host)
	if err != nil {
		return err
	}
	var failures []error
	for systemID, at := range placed {
		failures = append(failures, c.syncInstance(ctx, systemID, at, h, all))
	}
	return errors.Join(failures...)
}

// syncInstance says what became of the instance of one machine.
func (c *Composer) syncInstance(ctx context.Context, systemID string, at location, h serverSurvey, all *inventory) error {
	places := all.findLocations(at.macs)
	switch {
	case slices.ContainsFunc(places, at.isSameInstance):
		return c.checkPowerLocation(ctx, systemID, at)
	case at.hasMovedTo(places):
		return c.checkPowerLocation(ctx, systemID, places[0])
	case len(places) > 0:
		return possibleCopiesError(at, places)
	case h.hasInstance(at):
		return nil
	}
	return c.dismissGoneMachine(ctx, systemID, at, h, all)
}

// hasInstance tells that an instance of that name is there.
func (h serverSurvey) hasInstance(at location) bool {
	return slices.ContainsFunc(h.instances, func(i instance) bool {
		return i.project == at.server.Project && i.name == at.instance
	})
}

// checkPowerLocation says that MAAS looks for an instance where it is not any more. MAAS
// cannot be told: it would take all VMs of the former host along.
func (c *Composer) checkPowerLocation(ctx context.Context, systemID string, at location) error {
	m, err := c.Machines.Machine(ctx, systemID)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return nil
	case err != nil:
		return err
	case m.PowerState != powerStateError:
		return nil
	}
	power, err := c.Enlister.PowerInstanceOf(ctx, systemID)
	if err != nil {
		return err
	}
	believed, err := c.locateByPower(ctx, m, power)
	if err != nil || believed.isSameInstance(at) {
		return err
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("the instance of %s was moved by hand: it is %s on host %s, and MAAS looks for %s on host %s",
			m.Hostname, at.instance, at.server.Name, believed.instance, believed.server.Name),
		Hint: "Move it back (lxc move). MAAS cannot be told where it is: it would look there for all VMs of the former host.", Err: engine.ErrConflict,
	}
}

// powerStateError is the state of a machine whose LXD had no answer for MAAS.
const powerStateError = "error"

// dismissGoneMachine takes a machine out of MAAS whose instance is gone.
func (c *Composer) dismissGoneMachine(ctx context.Context, systemID string, at location, h serverSurvey, all *inventory) error {
	if err := all.mayBeElsewhereError(at.instance); err != nil {
		return err
	}
	if !slices.Contains(h.projects, at.server.Project) {
		return fmt.Errorf("cannot tell whether the instance %s is there: the certificate may not see project %s any more: %w",
			at.instance, at.server.Project, engine.ErrForbidden)
	}
	if err := c.Enlister.DeleteMachineRecord(ctx, systemID); err != nil {
		return fmt.Errorf("the instance %s is gone, but MAAS keeps its machine: %w", at.instance, err)
	}
	c.knownLocations.Delete(systemID)
	c.Log.InfoContext(ctx, "removed the machine of an instance that is gone", "name", at.instance, "host", at.server.Name, "system_id", systemID)
	return nil
}
